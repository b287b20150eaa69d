"""Slurm's compact node lists, `nid[005002-005003,005007]`, spelled out as node names; and one name for each node."""

import itertools
import re

# As many nodes as a job record may name; LUMI has about 5000.
NODES_MAX = 20_000
# A host name has at most 64 characters here (jobs.records.NodeName) and, as in Slurm, few numbered dimensions.
NAME_LENGTH_MAX = 64
BRACKETS_MAX = 4

PART = re.compile(r"\[(?P<ranges>[0-9,-]+)\]|(?P<text>[A-Za-z0-9.-]+)|(?P<comma>,)")
RANGE = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?")


class HostlistError(ValueError):
    """A node list that is malformed or names more than `NODES_MAX` nodes."""


def node_names(hostlist: str) -> tuple[str, ...]:
    """Every node of a list, in its order; leading zeros are kept, several bracket groups multiply.

    Costs at most `NODES_MAX` names, whatever the text is. Raises HostlistError.

    >>> node_names("nid[005002-005003,005007],login1")
    ('nid005002', 'nid005003', 'nid005007', 'login1')
    >>> node_names("x[1-2]n[0,3]")
    ('x1n0', 'x1n3', 'x2n0', 'x2n3')
    """
    names: list[str] = []
    for element in _elements(hostlist):
        names += _expanded(element, NODES_MAX - len(names))
    return tuple(names)


def short_name(node: str) -> str:
    """The name without its domain: Slurm may know a node as `nid005002` and its own kernel as `nid005002.lumi.csc.fi`.

    An IP address stays unchanged, or all nodes of a network would get the same name.

    >>> short_name("nid005002.lumi.csc.fi"), short_name("nid005002"), short_name("10.0.5.2")
    ('nid005002', 'nid005002', '10.0.5.2')
    """
    name = node.partition(".")[0]
    return node if name.isdigit() else name


def _elements(hostlist: str) -> list[list[re.Match[str]]]:
    """The parts of each element between the commas that stand outside brackets."""
    elements: list[list[re.Match[str]]] = [[]]
    position = 0
    for part in PART.finditer(hostlist):
        if part.start() != position:
            break
        position = part.end()
        if part["comma"]:
            elements.append([])
        else:
            elements[-1].append(part)
    if position != len(hostlist) or not all(elements):
        raise HostlistError("is not a list of nodes")
    return elements


def _expanded(element: list[re.Match[str]], room: int) -> list[str]:
    """The names of one element, counted before any is made."""
    if sum(part["ranges"] is not None for part in element) > BRACKETS_MAX:
        raise HostlistError(f"has more than {BRACKETS_MAX} bracket groups in one name")
    if sum(len(part["text"] or "") for part in element) > NAME_LENGTH_MAX:
        raise HostlistError(f"has a name of more than {NAME_LENGTH_MAX} characters")
    choices = []
    for part in element:
        choices.append(_numbers(part["ranges"], room) if part["ranges"] else [part["text"]])
        room //= len(choices[-1])
        if room < 1:
            raise HostlistError(f"names more than {NODES_MAX} nodes")
    return ["".join(parts) for parts in itertools.product(*choices)]


def _numbers(ranges: str, room: int) -> list[str]:
    """The numbers of one bracket group, each as wide as the first of its range."""
    numbers: list[str] = []
    for written in ranges.split(","):
        bounds = RANGE.fullmatch(written)
        if bounds is None:
            raise HostlistError("has a range that is not a number or two")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if last < first:
            raise HostlistError("has a range in descending order")
        if len(numbers) + last - first >= room:
            raise HostlistError(f"names more than {NODES_MAX} nodes")
        numbers += [f"{number:0{len(bounds[1])}d}" for number in range(first, last + 1)]
    return numbers
