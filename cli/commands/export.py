"""kaiku export [[CLUSTER/]JOBID] [--format FORMAT] [--since DAY] [--until DAY] [-o FILE] [--force]

Your own runs that have ended, for analysis: one job, or all of them. A row for each run, with units in the names of
the columns; what is not known is empty.

  --format FORMAT  csv, jsonl, parquet, learning (JSON documents for advisors and models) or slurm-comment; as the name
                   of FILE ends if not set, otherwise csv
  --since DAY      runs that ended on this day or later, such as 2026-11-01 (UTC), or at a time: 2026-11-01T12:00:00Z
  --until DAY      runs that ended before this day or time
  --output FILE    write a file instead of standard output, also -o FILE; it appears once it is whole
  --force          replace a file of this name
"""

from __future__ import annotations

from os.path import splitext

from cli.errors import NoAnswer, Usage
from cli.job_names import found
from cli.new_files import fill_new
from cli.options import FLAG, TEXT, one_of
from cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.session import Session

ENDINGS = {"csv": "csv", "jsonl": "jsonl", "parquet": "parquet", "learning": "json", "slurm-comment": "txt"}
"""How the portal's address of each format ends, and a file's name."""
FORMAT_DEFAULT, NOT_FOR_TERMINALS = "csv", "parquet"
OPTIONS = {
    "format": one_of(*ENDINGS),
    "since": TEXT,
    "until": TEXT,
    "output": TEXT,
    "force": FLAG,
}
VALUES = {"format": tuple(ENDINGS)}
WORDS_MAX = 1

TIMEOUT_S = 600
"""How long all runs may take, unless a time-out is set."""
MODE = 0o644


def run(session: Session) -> int:
    """One call whose answer is passed on as it comes."""
    options = session.options
    name = options.text("output")
    if options.flag("output") and not name:
        raise Usage("-o needs the name of a file")
    if options.flag("offline"):
        raise Usage("an export is not stored: it needs the portal")
    form = options.text("format") or _format_of(name)
    if form == NOT_FOR_TERMINALS and not name and session.terminal.is_tty:
        raise Usage("Parquet is not for a terminal: -o FILE")
    path = _path(session, ENDINGS[form])
    if not name:
        _call(session, path, session.terminal.raw)
        return 0
    fill_new(name, lambda file: _call(session, path, file.write), mode=MODE, is_forced=options.flag("force"))
    session.terminal.line(f"Written: {harmless(name)}")
    return 0


def _format_of(name: str) -> str:
    """The format that the end of a file's name states; CSV for a name without one.

    >>> _format_of("runs.parquet"), _format_of("./runs"), _format_of("a.json")
    ('parquet', 'csv', 'learning')
    """
    ending = splitext(name)[1].lower()
    if not ending:
        return FORMAT_DEFAULT
    for form, of_form in ENDINGS.items():
        if ending == f".{of_form}":
            return form
    known = ", ".join(f".{each}" for each in ENDINGS.values())
    raise Usage(f"{harmless(name)} names no format: let it end in one of {known}, or set --format")


def _path(session: Session, ending: str) -> str:
    options = session.options
    if not options.words:
        return f"/api/v1/performance.{ending}"
    if options.flag("since") or options.flag("until"):
        raise Usage("name a job, or use --since and --until: not both")
    return f"{found(session, options.words[0])[0]}performance.{ending}"


def _call(session: Session, path: str, write: Callable[[bytes], object]) -> None:
    """The answer in parts to `write`, whose OSError is raised as it is: a full disk is no fault of the portal."""
    options = session.options
    query = {name: options.text(name) for name in ("since", "until") if options.flag(name)}
    failed: list[OSError] = []

    def sink(part: bytes) -> None:
        try:
            write(part)
        except OSError as error:
            failed.append(error)
            raise NoAnswer("what came could not be written") from error

    try:
        session.portal.call(
            "GET", path, query=query, accept="*/*", timeout_s=session.timeout_or(TIMEOUT_S), sink=sink
        ).checked()
    except NoAnswer:
        if failed:
            raise failed[0] from None
        raise
