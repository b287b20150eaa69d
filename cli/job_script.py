"""The job script that a command is about, with the sbatch arguments beside it, read as Slurm reads them.

    kaiku check [options of kaiku or sbatch] job.sbatch [the same] [arguments of the script]

sbatch itself takes its options before the script; everything behind belongs to the script. People also write them
behind it for `kaiku`, so both places count, up to the first word there that is an option of neither.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys

from cli.errors import Usage
from cli.options import FLAG, SHORT
from wire.sbatch.header import BYTES_MAX
from wire.sbatch.reading import read_script
from wire.sbatch.table import BY_LETTER, OPTIONS, VERSIONS, candidates, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cli.session import Session
    from wire.sbatch.script import Script

SBATCH_TIMEOUT_S = 2.0
STANDARD_INPUT = "-"
PIPED_NAME, PIPED_FILE, PIPED_MODE = "sbatch", "job.sbatch", 0o644
"""What sbatch calls a job whose script it reads from standard input (observed on Slurm 22.05.8)."""
LATEST = VERSIONS[-1]


class Words:
    """A command line taken apart: `own` of kaiku with their values, the `script` ("" without one), sbatch's `before`
    and `behind` it, and how many words `belong` to the script.
    """

    def __init__(self, arguments: Sequence[str], own: Mapping[str, object]) -> None:
        self.own: list[str] = []
        self.before: list[str] = []
        self.script = ""
        self.behind: list[str] = []
        self.belong: list[str] = []
        self._known = own
        rest = list(arguments)
        while rest:
            self._take(rest)

    @property
    def sbatch(self) -> list[str]:
        """The arguments of sbatch, in the order in which they count."""
        return self.before + self.behind

    @property
    def ordered(self) -> list[str]:
        """The same words with kaiku's own first, as `cli.options` reads them."""
        script = ["--", self.script] if self.script else []
        belong = ["--", *self.belong] if self.belong else []
        return [*self.own, "--", *self.before, *script, *self.behind, *belong]

    def _take(self, rest: list[str]) -> None:
        """Move the next word, with the value that it takes, to where it belongs."""
        word = rest.pop(0)
        into = self.behind if self.script else self.before
        name, equals, _ = word[2:].partition("=")
        if word == "--":
            if not self.script and rest:
                self.script = rest.pop(0)
            elif self.script:
                self.belong += rest
                rest.clear()
        elif word in SHORT or (word.startswith("--") and name in self._known):
            is_alone = word in SHORT or equals or self._known[name] == FLAG
            self.own += [word, *([] if is_alone else rest[:1])]
            del rest[: 0 if is_alone else 1]
        elif word == ":" and not self.script:
            into.append(word)
        elif (takes_next := _takes_next(word, is_exact=bool(self.script))) is not None:
            into += [word, *(rest[:1] if takes_next else [])]
            del rest[: int(takes_next)]
        elif not self.script:
            self.script = word
        else:
            self.belong += [word, *rest]
            rest.clear()


def as_written(words: Sequence[str]) -> list[str]:
    """These words of `Words.ordered` without the "--" before the script that nobody needs to write.

    >>> as_written(["--mem=1G", "--", "job.sbatch", "--time=5"]), as_written(["--", "-x.sbatch"])
    (['--mem=1G', 'job.sbatch', '--time=5'], ['--', '-x.sbatch'])
    """
    before, dashes, rest = list(words), list(words).index("--") if "--" in words else -1, list[str]()
    if dashes >= 0:
        before, rest = before[:dashes], before[dashes + 1 :]
    is_needed = bool(rest) and ((rest[0].startswith("-") and rest[0] != STANDARD_INPUT) or rest[0] == ":")
    return [*before, *(["--"] if is_needed else []), *rest]


def _takes_next(word: str, *, is_exact: bool) -> bool | None:
    """Whether an option of sbatch takes the next word as its value; None for what is no option.

    `is_exact`: behind the script only whole names and known letters count, since what is there may be the script's own.
    """
    if word.startswith("--"):
        name, equals, _ = word[2:].partition("=")
        found = [name] if is_exact and name in OPTIONS else [] if is_exact else candidates(name, LATEST)
        if not found:
            if is_exact:
                return None
            raise Usage(f"unknown option --{name[:60]}: neither kaiku nor sbatch has it")
        return OPTIONS[found[0]].argument == "required" and not equals
    if not word.startswith("-") or len(word) < 2:
        return None
    for at, letter in enumerate(word[1:], 2):
        option = BY_LETTER.get(letter)
        if option is None:
            if is_exact:
                return None
            raise Usage(f"unknown option -{letter}: neither kaiku nor sbatch has it")
        if option.argument != "none":
            return option.argument == "required" and at == len(word)
    return False


class JobScript:
    """A script as read with environment and arguments. `name` is the last part of its path; `words` as above.

    Of standard input, the path "-", it is the name that sbatch gives the job.
    """

    def __init__(self, path: str, script: Script, words: Words, content: bytes) -> None:
        self.path, self.script, self.words, self.content = path, script, words, content
        self.name = PIPED_NAME if self.is_piped else os.path.basename(path)

    @property
    def is_piped(self) -> bool:
        """Whether the script comes from standard input."""
        return self.path == STANDARD_INPUT

    @property
    def file_name(self) -> str:
        """The last part of its path, or what stands for it where it has none."""
        return PIPED_FILE if self.is_piped else self.name

    @property
    def job_name(self) -> str:
        """The name of the first component: as set, else the script's own, as sbatch names a job."""
        return self.script.components[0].options.get("job-name") or self.name

    @property
    def mode(self) -> int:
        return PIPED_MODE if self.is_piped else stat.S_IMODE(os.stat(self.path).st_mode)


def job_script(session: Session) -> JobScript:
    """The script that the command line names. Raises Usage."""
    words = Words(session.options.words, {})
    if not words.script:
        raise Usage("which script? --help shows how the command is called")
    is_piped = words.script == STANDARD_INPUT
    if is_piped and sys.stdin is None:
        raise Usage("standard input is closed")
    content = sys.stdin.buffer.read(BYTES_MAX + 1) if is_piped else script_bytes(words.script)
    script = read_script(content, session.environ, words.sbatch, slurm_version(session.environ))
    return JobScript(words.script, script, words, content)


def script_bytes(path: str) -> bytes:
    """The content of a regular file, up to one byte more than sbatch accepts. Raises Usage."""
    try:
        # Without waiting: nobody may ever write to a named pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise Usage(f"cannot read {path[:200]!r}: {getattr(error, 'strerror', None) or 'no such file'}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Usage(f"cannot read {path[:200]!r}: not a file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(BYTES_MAX + 1)


def slurm_version(environ: Mapping[str, str]) -> str:
    """The version of this machine's sbatch, as the parser knows it; the oldest known one without sbatch."""
    program = shutil.which("sbatch", path=environ.get("PATH", os.defpath))
    if program is None:
        return VERSIONS[0]
    try:
        printed = subprocess.run(
            [program, "--version"], capture_output=True, timeout=SBATCH_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return VERSIONS[0]
    return version_of(printed[:200].decode("utf-8", "replace"))
