"""The hints for `sbatch`, as `deploy/slurm/cli_filter.lua` reads them: one small text file of this person alone.

    kaiku-hints/1 MADE DUE IS_ON        seconds since 1970; from DUE on it may be refreshed; 1, or 0 for "show nothing";
                                        MADE is 0 where the portal was asked and has never answered
    off<tab>TEXT                        why nothing is shown
    account<tab>CLUSTER<tab>PROJECT     the account that Slurm takes where none is given
    work<tab>CLUSTER<tab>PROJECT        the next lines belong to this work of the person
    name<tab>NAME                       its normalised name, then job names as they were written
    line<tab>TEXT                       at most three, printable ASCII
    gpus<tab>NUMBER                     the lines after it are only for who requests more GPUs than these
    end                                 a file without it was cut and counts as none

The file exists only while its person is signed in; without one nothing runs in the background.
"""

from __future__ import annotations

import os
import time

from cli.errors import CliError, NoAnswer, NoSignIn, NotFound, Usage
from cli.private_files import PrivateFolder, Unsafe, base_folder
from cli.shapes import hint_list
from cli.terminal import PLAIN, harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cli.session import Session

FOLDER = FILE = "hints"
MARK = "kaiku-hints/1"
END = "end\n"
BYTES_MAX = 1 << 16
REFRESH_S, REFRESH_OFF_S = 3600, 86400
"""How long it stays as it is; a day where hints are off or the portal has none."""
CUT = " ..."
NAMES_MAX, LINES_MAX, TEXT_LENGTH_MAX = 20, 3, 120
GPUS_BEYOND = 10**6
BACKGROUND_S_MAX = 60
DESCRIPTORS_MAX = 4096
OFF = ("off", "0", "no", "false")


class Stored:
    """What the file states: when it was made, when it is due, whether hints are on, and everything after that."""

    def __init__(self, made_s: int, due_s: int, body: str, *, is_on: bool) -> None:
        self.made_s, self.due_s, self.body, self.is_on = made_s, due_s, body, is_on

    @property
    def was_read(self) -> bool:
        """Whether the portal ever answered: the file may only keep the next try from coming at once."""
        return self.made_s > 0

    def written(self) -> bytes:
        return f"{MARK} {self.made_s} {self.due_s} {int(self.is_on)}\n{self.body}{END}".encode("utf-8", "replace")

    def off_reason(self) -> str:
        """Why nothing is shown, as the portal states it; empty if it does not."""
        kind, _, rest = self.body.partition("\n")[0].partition("\t")
        return rest if kind == "off" else ""

    def works(self) -> list[tuple[str, list[str]]]:
        """Each work's name, as a job of it was called and commands take it, and its lines."""
        found: list[tuple[str, list[str]]] = []
        before = ""
        for record in self.body.split("\n"):
            kind, _, rest = record.partition("\t")
            if kind == "name" and before == "work":
                found.append((rest, []))
            elif kind == "name" and before == "work name" and found:
                # The first one is the normalised one.
                found[-1] = (rest, [])
            elif kind == "line" and found:
                found[-1][1].append(rest)
            before = f"{before} {kind}" if before == "work" else kind
        return found


def folder(environ: Mapping[str, str]) -> PrivateFolder:
    """Where the file is."""
    return PrivateFolder(base_folder(environ, "XDG_CACHE_HOME", ".cache"), FOLDER)


def stored(environ: Mapping[str, str]) -> Stored | None:
    """The file; None if there is none that can be read."""
    try:
        text = folder(environ).read(FILE, BYTES_MAX).decode("utf-8", "replace")
    except (OSError, Unsafe):
        return None
    head, _, rest = text.partition("\n")
    parts = head.split(" ")
    numbers = [part for part in parts[1:] if part.isascii() and part.isdecimal() and len(part) <= 12]
    if len(parts) != 4 or parts[0] != MARK or len(numbers) != 3 or f"\n{rest}"[-len(END) - 1 :] != f"\n{END}":
        return None
    return Stored(int(numbers[0]), int(numbers[1]), rest[: -len(END)], is_on=numbers[2] == "1")


def forget(environ: Mapping[str, str]) -> None:
    """Delete the file: nobody is signed in."""
    try:
        folder(environ).remove(FILE)
    except (OSError, Unsafe):
        return


def refresh(session: Session) -> Stored:
    """Read the hints from the portal and store them, with the person's default accounts by cluster.

    Raises CliError; without a portal or a valid token the file goes. A file that cannot be written goes too: otherwise
    every submission would start another refresh.
    """
    now_s, environ = int(time.time()), session.environ
    before = stored(environ) or Stored(0, 0, "", is_on=False)
    # First of all: whatever happens now, the next one waits an hour.
    _store(environ, Stored(before.made_s, now_s + REFRESH_S, before.body, is_on=before.is_on))
    try:
        answer = session.portal.call("GET", "/api/v1/hints/", timeout_s=session.timeout_s).checked().json()
    except (NoSignIn, Usage):
        forget(environ)
        raise
    except NotFound:
        answer = {"is_on": False, "hints": []}
    hint_list(answer)
    is_on = answer.get("is_on") is True
    reason = "" if is_on else "".join(map(_ascii, _texts([answer.get("off_reason")])))
    accounts = __import__("cli.default_accounts", fromlist=["default_accounts"]).default_accounts()
    body = f"off\t{reason}\n" if reason else ""
    body += "".join(f"account\t{_field(cluster)}\t{_field(name).lower()}\n" for cluster, name in accounts.items())
    hints = answer.get("hints")
    for part in _works(hints if isinstance(hints, list) and is_on else []):
        if len((body + part).encode("utf-8", "replace")) > BYTES_MAX - 100:
            break
        body += part
    made = Stored(now_s, now_s + (REFRESH_S if is_on else REFRESH_OFF_S), body, is_on=is_on)
    _store(environ, made)
    return made


def start_if_due(session: Session) -> None:
    """Refresh the file in a process of its own, which nothing waits for, if it is time; never raises CliError."""
    if session.environ.get("KAIKU_HINTS", "").lower() in OFF or not _is_due(stored(session.environ)):
        return
    if session.options.flag("offline") or session.options.text("token-file"):
        return
    session.terminal.flush()
    ours, theirs = os.pipe()
    if os.fork():
        os.close(theirs)
        # Until the other process has let go of everything, such as a lock of whoever runs this.
        os.read(ours, 1)
        return
    try:
        # A connection of its own: that of the command before belongs to another process.
        session.forget_portal()
        detach(theirs)
        refresh_quietly(session)
    finally:
        os._exit(0)


def refresh_if_due(session: Session) -> None:
    """As the filter starts it: one of several that begin at once goes on. Never raises CliError."""
    if _is_due(stored(session.environ)):
        refresh_quietly(session)


def refresh_quietly(session: Session) -> None:
    """Refresh; a failure shows in the age of the file."""
    try:
        refresh(session)
    except (CliError, OSError):
        return


def detach(last: int = 2) -> None:
    """Let go of terminal, session and every open file of the process that started this, and end within a minute.

    `last` is the file that is closed after all others.
    """
    if os.getpid() != os.getpgid(0):  # the first process of a group already has one of its own
        os.setsid()
    signal = __import__("signal")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(BACKGROUND_S_MAX)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    for descriptor in sorted(_opened(), key=lambda each: each == last):
        if descriptor > 2:
            os.closerange(descriptor, descriptor + 1)


def _opened() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return list(range(DESCRIPTORS_MAX))


def _is_due(found: Stored | None) -> bool:
    # Much later than an hour from now: the clock was set back since.
    return found is None or not time.time() <= found.due_s <= time.time() + REFRESH_OFF_S + REFRESH_S


def _store(environ: Mapping[str, str], said: Stored) -> None:
    try:
        folder(environ).write(FILE, said.written())
    except (OSError, Unsafe) as error:
        forget(environ)
        raise NoAnswer(f"the hints cannot be stored: {error}") from error


def _works(hints: list[object]) -> Iterator[str]:
    """The records of each hint that has everything, the most worth first as the portal sends them."""
    for hint in hints:
        if not isinstance(hint, dict):
            continue
        names = _texts(hint.get("work_names"))[:NAMES_MAX]
        # The first is the normalised one: a work without it cannot be recognised by a name.
        names = [name for name in names if name and _field(name) == name] if names and _field(names[0]) else []
        lines = [_ascii(line) for line in _texts(hint.get("lines"))[:LINES_MAX] if line]
        cluster, project = _field(hint.get("cluster")), _field(hint.get("project")).lower()
        if names and lines and cluster and project:
            records = [f"work\t{cluster}\t{project}", *(f"name\t{name}" for name in names)]
            shown = [f"line\t{line}" for line in lines]
            if (gpus := _count(hint.get("gpus"))) is not None:
                # An answer that does not state which lines these are is about nothing else.
                shown.insert(
                    len(shown) - min(_count(hint.get("gpus_lines")) or len(shown), len(shown)), f"gpus\t{gpus}"
                )
            yield "".join(f"{record}\n" for record in [*records, *shown])


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _count(value: object) -> int | None:
    """A number of GPUs or lines; None if it cannot be one."""
    return value if type(value) is int and 0 <= value < GPUS_BEYOND else None


def _field(value: object) -> str:
    """A text that is one field of a record; empty if it cannot be one."""
    text = value if isinstance(value, str) else ""
    return text if len(text) <= 256 and text.isprintable() else ""


def _ascii(text: str) -> str:
    """One line of printable ASCII."""
    plain = harmless(text).translate(PLAIN).encode("ascii", "replace").decode("ascii")
    if len(plain) <= TEXT_LENGTH_MAX:
        return plain
    # Never in the middle of a word: what is left would read as another one, or as another number.
    whole = plain[: TEXT_LENGTH_MAX - len(CUT) + 1].rpartition(" ")[0] or plain[: TEXT_LENGTH_MAX - len(CUT)]
    return f"{whole.rstrip()}{CUT}"
