"""The suggested request as lines that go and lines that come, the same on a page, in a mail and in the PDF."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ARROW, NOT_SET, LEFT_OUT = " -> ", "(not set)", "(leave out)"


@dataclass(frozen=True)
class DiffLine:
    """One line of a batch script: `sign` is "-" for one to remove, "+" for one to add."""

    sign: str
    text: str

    @property
    def css_class(self) -> str:
        """The style of the line; the sign says the same without colour."""
        return "gone" if self.sign == "-" else "new"


def diff_lines(changes: Iterable[str]) -> tuple[DiffLine, ...]:
    """What the changes of a recommendation (`jobs.sbatch.OptionChange` as text) mean for the lines of a script.

    >>> [f"{line.sign} {line.text}" for line in diff_lines(["--gpus=8 -> --gpus=2", "--exclusive -> (leave out)"])]
    ['- #SBATCH --gpus=8', '+ #SBATCH --gpus=2', '- #SBATCH --exclusive']
    >>> diff_lines(["(not set) -> --mem=120G"])
    (DiffLine(sign='+', text='#SBATCH --mem=120G'),)
    """
    lines: list[DiffLine] = []
    for change in changes:
        before, _, after = change.partition(ARROW)
        if before != NOT_SET:
            lines.append(DiffLine("-", f"#SBATCH {before}"))
        if after and after != LEFT_OUT:
            lines.append(DiffLine("+", f"#SBATCH {after}"))
    return tuple(dict.fromkeys(lines))


def added_lines(options: Iterable[str]) -> tuple[DiffLine, ...]:
    """A whole block of options, where the reader's own are not known.

    >>> added_lines(["--nodes=1"])
    (DiffLine(sign='+', text='#SBATCH --nodes=1'),)
    """
    return tuple(DiffLine("+", f"#SBATCH {option}") for option in options)


def copied(lines: Iterable[DiffLine]) -> str:
    """The lines to paste into a script: those that come.

    >>> copied(diff_lines(["--gpus=8 -> --gpus=2", "--mem=480G -> --mem=120G"]))
    '#SBATCH --gpus=2\\n#SBATCH --mem=120G'
    """
    return "\n".join(line.text for line in lines if line.sign == "+")
