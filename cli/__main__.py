"""`kaiku`: one command, its exit status, and nothing of Python's own on the terminal.

To add a command: a module `cli/commands/<name>.py` (`_` for `-`) and one line in `COMMANDS`. The module has

- a docstring: its help, printed by `kaiku <name> --help`; its first line is `kaiku <name> …`, how it is called,
- `OPTIONS`: the kind of each option of its own, as `cli.options` reads them,
- `VALUES`, if completion is to offer values of an option (by its name), and `WORDS` for those of its first word,
- `WORDS_MAX`: how many words it takes; `STOPS_AT_WORD = True` if everything after its first word is not ours,
- `ordered(arguments, known)`, if options of another program may stand among ours: the command line with ours first,
- `run(session) -> int`: what it does, printed through `session.terminal`; its exit status. It raises `errors.CliError`.

Only the module of the command that runs is imported. An option with a short or other name is not offered: completion
is made from the same tables.
"""

from __future__ import annotations

import os
import sys

from cli.errors import CliError, NoAnswer, SignInNeeded, Usage
from cli.options import FLAG, TEXT, Options
from cli.session import SECONDS, Session
from cli.terminal import harmless, own_environ, standard_output, write_error
from wire.payloads import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from cli.terminal import Terminal

COMMANDS = {
    "last": "Your latest job in twelve lines; also without a command",
    "job": "The report of one job",
    "watch": "Your running jobs, and what is wrong with them, until they end",
    "history": "Your jobs with their use",
    "insights": "Your biggest savings, what repeats, and what advice saved",
    "compare": "Jobs side by side",
    "scale": "How the runs of one work scale with the number of GPUs",
    "export": "Your runs as a file for analysis: CSV, JSON lines, Parquet, learning documents",
    "check": "What a job script would cost, and what your earlier runs suggest",
    "trial": "Write short runs of a job script at several sizes",
    "elsewhere": "The same job on other partitions and platforms",
    "run-log": "Log an experiment's run from a shell script or a pipe",
    "login": "Sign in: shows a code to approve on the portal",
    "logout": "Revoke this machine's token and delete stored answers",
    "whoami": "Whose token this is, and until when it is valid",
    "completion": "Completion of commands for bash, zsh or fish",
    "hints": "What sbatch shows after a submission, where the site has installed it",
}
"""Every command and what it does, in the order of the help."""
DEFAULT = "last"
"""The command of a bare `kaiku`."""
COMMON = {
    "help": FLAG,
    "version": FLAG,
    "url": TEXT,
    "token-file": TEXT,
    "timeout": SECONDS,
    "offline": FLAG,
}
"""The options of every command."""
HELP = """\
usage: kaiku [COMMAND] [options]; kaiku COMMAND --help

Your own jobs on the GPUs, and what to request next, as the Kaiku portal reports them.

{commands}

for every command:
  --url ADDRESS        the portal (KAIKU_URL)
  --token-file FILE    a file with a token, mode 600 (KAIKU_TOKEN: the token itself)
  --timeout SECONDS    how long to wait for the portal, 5 if not set (KAIKU_TIMEOUT)
  --offline            only what was stored before
  --help, --version

exit status: 0; 1 not found; 2 usage; 3 no sign-in; 4 no answer; 5 Slurm refuses it"""
INTERRUPTED, PIPE_CLOSED = 130, 141
"""As a shell reports the signals SIGINT and SIGPIPE."""
WITHOUT_HINTS = ("logout", "hints")
"""After every other command that asks the portal, hints for sbatch that are old are refreshed in the background."""


def main() -> None:
    """Run what the command line says, and exit."""
    _open_standard_files()
    try:
        environ = own_environ()
        status = run(sys.argv[1:], environ, standard_output(environ))
    except BrokenPipeError:
        status = PIPE_CLOSED
    except KeyboardInterrupt:
        status = INTERRUPTED
    except OSError as error:
        write_error(f"kaiku: {harmless(error.strerror or error)}\n".encode("ascii", "replace"))
        status = CliError.status
    # Nothing that an interpreter does at its end is needed, and a thread may still be looking up a name.
    os._exit(status)


def _open_standard_files() -> None:
    """Whatever the shell closed (`2>&-`): otherwise a connection, or a file, would get its number and our messages."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def run(arguments: Sequence[str], environ: Mapping[str, str], terminal: Terminal) -> int:
    """The exit status of one command line; what is wrong is on standard error, in one line."""
    try:
        status = _run(arguments, environ, terminal)
        terminal.flush()
        return status
    except CliError as error:
        terminal.flush()
        terminal.error(f"kaiku: {harmless(error)}")
        return error.status
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # Members that are missing or of another kind, in an answer that is JSON all the same.
        if environ.get("KAIKU_DEBUG"):
            raise
        terminal.flush()
        terminal.error(
            f"kaiku: the portal's answer cannot be understood ({type(error).__name__}); KAIKU_DEBUG=1 shows more"
        )
        return NoAnswer.status


def _run(arguments: Sequence[str], environ: Mapping[str, str], terminal: Terminal) -> int:
    before = Options().read(arguments, COMMON, stops_at_word=True)
    name, *rest = before.words or [DEFAULT]
    if before.flag("version"):
        terminal.line(f"kaiku {VERSION}")
        return 0
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    elif before.flag("help") or not name or name == "help":
        _show_help(HELP.format(commands="\n".join(f"  {name:<12} {does}" for name, does in COMMANDS.items())), terminal)
        return 0
    if name[:1] == "-":
        raise Usage(f"unknown option {name[:60]!r}: kaiku --help lists them")
    if name not in COMMANDS:
        raise Usage(f"unknown command {name[:60]!r}: kaiku --help lists them")
    command = loaded(name)
    known = {**COMMON, **command.OPTIONS}
    if hasattr(command, "ordered"):
        rest = command.ordered(rest, known)
    options = before.read(rest, known, stops_at_word=getattr(command, "STOPS_AT_WORD", False))
    if options.flag("help"):
        _show_help(command.__doc__ or "", terminal)
        return 0
    if len(options.words) > command.WORDS_MAX:
        raise Usage(f"unexpected {options.words[command.WORDS_MAX][:60]!r}: kaiku {name} --help")
    session = Session(options, environ, terminal)
    try:
        status: int = command.run(session)
    except SignInNeeded as error:
        raise session.explained(error) from error
    is_reading = not session.logs_runs and (name == "login" or session.has_portal)
    if status == 0 and is_reading and name not in WITHOUT_HINTS:
        __import__("cli.hints", fromlist=["hints"]).start_if_due(session)
    return status


def _show_help(written: str, terminal: Terminal) -> None:
    help_lines = __import__("cli.help_text", fromlist=["help_lines"]).help_lines
    terminal.page(help_lines(written, terminal.columns))


def loaded(name: str) -> Any:
    """The module of a command."""
    return __import__(f"cli.commands.{name.replace('-', '_')}", fromlist=["run"])


if __name__ == "__main__":
    main()
