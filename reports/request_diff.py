"""The suggested request as lines that go and lines that come, the same on a page, in a mail and in the PDF."""

from collections.abc import Iterable
from dataclasses import dataclass

ARROW, NOT_SET, LEFT_OUT = " -> ", "(not set)", "(leave out)"
REPLACE = "Replace your #SBATCH lines with:"
"""What stands before a complete request."""


@dataclass(frozen=True)
class DiffLine:
    """One line of a batch script: `sign` is "-" for one to remove, "+" for one to add.

    It is empty for a line of a complete request, which replaces all lines that the reader has.
    """

    sign: str
    text: str

    @property
    def css_class(self) -> str:
        """The style of the line; the sign says the same without colour."""
        return {"-": "gone", "+": "new"}.get(self.sign, "of-whole")

    @property
    def marked(self) -> str:
        """The line after its sign, where it has one.

        >>> DiffLine("+", "#SBATCH --gpus=2").marked, DiffLine("", "#SBATCH --gpus=2").marked
        ('+ #SBATCH --gpus=2', '#SBATCH --gpus=2')
        """
        return f"{self.sign} {self.text}" if self.sign else self.text


def diff_lines(changes: Iterable[str]) -> tuple[DiffLine, ...]:
    """What the changes of a recommendation (`jobs.sbatch.OptionChange` as text) mean for the lines of a script.

    >>> [f"{line.sign} {line.text}" for line in diff_lines(["--gpus=8 -> --gpus=2", "--exclusive -> (leave out)"])]
    ['- #SBATCH --gpus=8', '+ #SBATCH --gpus=2', '- #SBATCH --exclusive']
    >>> diff_lines(["(not set) -> --mem=120G", "--time=01:00:00 -> --time=01:00:00"])
    (DiffLine(sign='+', text='#SBATCH --mem=120G'),)
    """
    lines: list[DiffLine] = []
    for change in changes:
        before, _, after = change.partition(ARROW)
        if before == after:
            continue
        if before != NOT_SET:
            lines.append(DiffLine("-", f"#SBATCH {before}"))
        if after and after != LEFT_OUT:
            lines.append(DiffLine("+", f"#SBATCH {after}"))
    return tuple(dict.fromkeys(lines))


def added_lines(options: Iterable[str]) -> tuple[DiffLine, ...]:
    """A whole block of options, where the reader's own are not known; a time limit alone is one line to add.

    >>> added_lines(["--nodes=1", "--time=01:00:00"])[0], added_lines(["--time=01:00:00"])
    (DiffLine(sign='', text='#SBATCH --nodes=1'), (DiffLine(sign='+', text='#SBATCH --time=01:00:00'),))
    """
    written = list(options)
    sign = "+" if all(option.startswith("--time=") for option in written) else ""
    return tuple(DiffLine(sign, f"#SBATCH {option}") for option in written)


def is_whole(lines: Iterable[DiffLine]) -> bool:
    """Whether these lines are a complete request.

    >>> is_whole(added_lines(["--nodes=1"])), is_whole(diff_lines(["--gpus=8 -> --gpus=2"])), is_whole([])
    (True, False, False)
    """
    signs = {line.sign for line in lines}
    return signs == {""}


def copied(lines: Iterable[DiffLine]) -> str:
    """The lines to paste into a script: those that come.

    >>> copied(diff_lines(["--gpus=8 -> --gpus=2", "--mem=480G -> --mem=120G"]))
    '#SBATCH --gpus=2\\n#SBATCH --mem=120G'
    """
    return "\n".join(line.text for line in lines if line.sign != "-")
