"""Lines for PBS and LSF, which sbatch reads too, and which win over `#SBATCH`.

Observed on Slurm 22.05.8: only one kind is read, LSF before PBS; anywhere in the file, until more than a hundred lines
do not begin with "#"; `--ignore-pbs` and SBATCH_IGNORE_PBS turn both off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wire.sbatch.getopt import set_value
from wire.sbatch.header import lines_of
from wire.sbatch.script import Script, Setting
from wire.sbatch.words import Word, words_of

COMMANDS_MAX = 100
WORDS_MAX = 5_000
"""The rest is not read, so that a hostile script takes no time."""
KINDS = (("LSF", "#BSUB"), ("PBS", "#PBS"))
LETTERS = {"LSF": "c:e:J:m:M:n:o:q:W:x", "PBS": "a:A:c:C:e:hIj:J:k:l:m:M:N:o:p:q:r:S:t:u:v:VW:z"}
DIRECT = {
    "LSF": {"c": "chdir", "e": "error", "J": "job-name", "o": "output", "q": "partition", "W": "time"},
    "PBS": {
        **{"a": "begin", "A": "account", "e": "error", "J": "array", "M": "mail-user", "N": "job-name"},
        **{"o": "output", "p": "nice", "q": "partition", "t": "array", "v": "export"},
    },
}
RESOURCE = re.compile(
    r"(?P<key>accelerator|arch|cput|file|host|mem|mpiprocs|naccelerators|ncpus|nice|nodes|opsys|other|pcput|pmem|proc"
    r"|pvmem|select|software|vmem|walltime)="
)
UP_TO_COLON = frozenset({"mpiprocs", "ncpus", "select"})
PBS_MAIL = {"b": "BEGIN", "e": "END", "a": "FAIL"}


def foreign_settings(script: Script) -> list[Setting]:
    """What the PBS or LSF lines set."""
    for kind, magic in KINDS:
        words = list(_words(script, magic)) if magic in script.text else []
        if words:
            return list(_settings(script, kind, [word for word in words if word.text]))
    return []


def _words(script: Script, magic: str) -> Iterator[Word]:
    """The words of all lines of a kind; an empty one for a line without any, which counts as well."""
    text, commands, left = script.text, 0, WORDS_MAX
    for line in lines_of(text, len(text)):
        if text.startswith(magic, line.start, line.end):
            yield Word("", line=line.number)
            words, cut = words_of(text, line.start + len(magic), line.end, line.number, script.version)
            if cut is not None and cut.reason in ("quote", "colon"):
                script.refuse("open_quote", line.number, f"Line {line.number}: a quote or a colon is misplaced.")
            left -= len(words) + 1
            if left < 0:
                script.warn_not_read(line.number, WORDS_MAX)
                return
            yield from words
        elif not text.startswith("#", line.start, line.end):
            commands += 1
            if commands > COMMANDS_MAX:
                return


def _settings(script: Script, kind: str, words: list[Word]) -> Iterator[Setting]:
    for letter, value, word in _letters(script, kind, words):
        option = DIRECT[kind].get(letter)
        if option in ("error", "output") and value.lower() == "none":
            value = "/dev/null"
        pairs = [(option, value)] if option else list(_translated(kind, letter, value))
        for name, text in pairs:
            normal = set_value(script, name, text, word.line, "", 0)
            yield Setting(name, normal, kind, word.line, f"-{letter}", word)


def _letters(script: Script, kind: str, words: list[Word]) -> Iterator[tuple[str, str, Word]]:
    """Letter, value and word of each option."""
    known, at = LETTERS[kind], 0
    while at < len(words):
        word = words[at]
        at += 1
        text = "-c" if kind == "LSF" and word.text == "-cwd" else word.text
        if text == "--":
            continue
        place = known.find(text[1:2]) if text[:1] == "-" and text[1:2] not in ("", ":", "-") else -1
        if place < 0:
            script.refuse("unknown", word.line, f"Line {word.line}: {text[:40]} is no {kind} option that sbatch knows.")
        elif known[place + 1 : place + 2] != ":":
            yield text[1], "", word
        elif len(text) > 2:
            yield text[1], text[2:], word
        elif at < len(words):
            at += 1
            yield text[1], words[at - 1].text, word
        else:
            script.refuse("missing_value", word.line, f"Line {word.line}: {text} needs a value.")


def _translated(kind: str, letter: str, value: str) -> Iterator[tuple[str, str | None]]:
    if kind == "LSF":
        yield from _translated_lsf(letter, value)
    elif letter == "l":
        yield from _resources(value)
    elif letter == "h":
        yield "hold", None
    elif letter == "m":
        chosen = [name for mark, name in PBS_MAIL.items() if mark in value.lower()]
        yield "mail-type", "NONE" if "n" in value.lower() else ",".join(chosen)
    elif letter == "W" and value.lower().startswith("depend="):
        yield "dependency", value[7:]


def _translated_lsf(letter: str, value: str) -> Iterator[tuple[str, str | None]]:
    if letter == "m":
        yield "nodelist", value.replace(" ", ",")
    elif letter == "M":
        yield "mem-per-cpu", f"{value}K"
    elif letter == "n":
        yield "ntasks", value.rpartition(",")[2]
    elif letter == "x":
        yield "exclusive", ""


def _resources(text: str) -> Iterator[tuple[str, str | None]]:
    """A PBS resource list, read as sbatch does: from one known name to the next."""
    found, at = {}, 0
    while (match := RESOURCE.search(text, at)) is not None:
        end = text.find(":" if match["key"] in UP_TO_COLON else ",", match.end())
        end = len(text) if end < 0 else end
        key, value, at = match["key"], text[match.end() : end], end + 1
        found[key] = value
        if key == "nodes":
            yield from _nodes(value)
        elif key in ("mem", "file"):
            yield ("mem" if key == "mem" else "tmp"), value
        elif key in ("walltime", "cput", "pcput"):
            yield "time", value
        elif key in SIMPLE_RESOURCES:
            yield SIMPLE_RESOURCES[key], value
        elif key == "accelerator" and value.lower().startswith("true"):
            yield "gres", "gpu:1"
        elif key == "naccelerators":
            yield "gres", f"gpu:{value}"
    yield from _cpus_of_tasks(found)


SIMPLE_RESOURCES = {
    "mpiprocs": "ntasks-per-node",
    "ncpus": "mincpus",
    "nice": "nice",
    "proc": "constraint",
    "select": "nodes",
}


def _cpus_of_tasks(found: dict[str, str]) -> Iterator[tuple[str, str | None]]:
    cpus, tasks = found.get("ncpus", ""), found.get("mpiprocs", "")
    if "select" in found and cpus.isdecimal() and tasks.isdecimal() and int(cpus) > int(tasks) > 0:
        yield "cpus-per-task", str(int(cpus) // int(tasks))


def _nodes(text: str) -> Iterator[tuple[str, str | None]]:
    """`2:ppn=4:gpus=1`: nodes, tasks and GPUs of each."""
    nodes = tasks = 0
    hosts = []
    for part in re.split(r"[+:]", text):
        name, equals, number = part.partition("=")
        if part[:1].isdigit():
            nodes += _leading(part)
        elif equals and name == "ppn":
            tasks += _leading(number)
        elif equals and name == "gpus":
            yield "gpus-per-node", number
        elif part[:1].isalpha():
            hosts.append(part)
    if nodes:
        yield "nodes", str(nodes)
    if tasks:
        yield "ntasks", str(tasks * max(nodes, 1))
    if hosts:
        yield "nodelist", ",".join(hosts)


def _leading(text: str) -> int:
    found = re.match(r"\d{1,9}", text, re.ASCII)
    return int(found[0]) if found else 0
