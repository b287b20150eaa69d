"""kaiku run-log start|metric|file|end|pipe|token [options]

Logs a run of an experiment from a shell script or any language, beside the GPU use of its job. It is never in the way
of the script: if the portal does not answer or refuses, a line on standard error states why, and the status is 0.

  run-log start --experiment NAME [--name N] [--seed S] [--param K=V ...]  starts a run and prints its id; its job is
                     that of SLURM_JOB_ID
  run-log metric RUN loss=0.12 acc=0.9 [--step 5]  values of metrics
  run-log file RUN PATH [--kind checkpoint] [--step 5]  a file on shared storage by its path; its content is not read
  run-log end RUN [--failed | --killed]  the end of the run
  COMMAND | kaiku run-log pipe --experiment NAME  starts a run, passes the output of COMMAND on unchanged, reads points
                     in it, and ends the run; with --run RUN it logs into a run that was started, and does not end it
  run-log token      prints the token that logs runs, for other programs: MLFLOW_TRACKING_TOKEN=$(kaiku run-log token)

The pipe reads lines that are a JSON object, such as {"step": 5, "loss": 0.12}, or have words name=number.

  --experiment NAME  the experiment; it is made if you have none with this name
  --name NAME        what the run is called
  --seed SEED        its seed
  --param K=V        a parameter; may be given more than once
  --job JOBID        the Slurm job, if SLURM_JOB_ID does not state it
  --cluster CLUSTER  the same for SLURM_CLUSTER_NAME
  --run RUN          pipe: the run to log into
  --step STEP        metric, file: the step
  --kind KIND        file: checkpoint, log or file
  --failed           end: the run failed
  --killed           end: the run was ended from outside
  --wait SECONDS     pipe: how long to send the last points after the output has ended, 10 if not set
  --quiet            no line about what was logged
  --strict           a status other than 0 if something was not logged

`kaiku login --runs` gets the token; KAIKU_LOG_TOKEN or --token-file is another one.
"""

from __future__ import annotations

import os
import time

from cli.errors import CliError, NotFound, Usage
from cli.options import FLAG, MANY, TEXT, one_of, whole
from cli.run_calls import RUN_ID, Runs, run_of, sendable
from cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.options import Options
    from cli.session import Session

WORDS = ("start", "metric", "file", "end", "pipe", "token")
KINDS = ("checkpoint", "log", "file")
VALUES = {"kind": KINDS}
WORDS_MAX = 10_000
NEW_RUN = {"experiment": TEXT, "name": TEXT, "seed": TEXT, "param": MANY, "job": TEXT, "cluster": TEXT}
OPTIONS = {
    **NEW_RUN,
    "run": TEXT,
    "step": TEXT,
    "kind": one_of(*KINDS),
    "failed": FLAG,
    "killed": FLAG,
    "wait": whole(0, 600),
    "quiet": FLAG,
    "strict": FLAG,
}
ALLOWED = {
    "start": tuple(NEW_RUN),
    "metric": ("step",),
    "file": ("kind", "step"),
    "end": ("failed", "killed"),
    "pipe": (*NEW_RUN, "run", "wait"),
    "token": (),
}
"""Which options belong to what; `quiet` and `strict` to all."""
WAIT_S_DEFAULT = 10
STEP_DIGITS_MAX = 15


def run(session: Session) -> int:
    """What is wrong in the command line is found before anything is logged; everything later does not stop a script."""
    words, options = session.options.words, session.options
    action, rest = (words[0] if words else ""), words[1:]
    if action not in WORDS:
        raise Usage("run-log start, metric, file, end, pipe or token: kaiku run-log --help")
    for name in OPTIONS:
        if options.flag(name) and name not in (*ALLOWED[action], "quiet", "strict"):
            raise Usage(f"--{name} does not belong to run-log {action}")
    session.use_log_token()
    if action == "pipe":
        return _piped(session, rest)
    log = {"start": _start, "metric": _metric, "file": _file, "end": _end, "token": _token}[action](rest, options)
    try:
        log(session)
    except (CliError, LookupError, TypeError, ValueError) as error:
        explained = session.explained(error) if isinstance(error, CliError) else error
        if options.flag("strict"):
            raise explained from error
        session.terminal.flush()
        session.terminal.error(f"kaiku: not logged: {harmless(explained)}")
    return 0


def _runs(session: Session) -> Runs:
    return Runs(session.portal, session.timeout_s)


def _start(words: list[str], options: Options) -> Callable[[Session], None]:
    experiment = _experiment(words, options)

    def log(session: Session) -> None:
        runs = _runs(session)
        run_id = runs.start(experiment, run_of(options, session.environ))
        session.terminal.line(run_id)
        session.terminal.flush()
        if not options.flag("quiet"):
            session.terminal.error(f"kaiku: {harmless(runs.page(run_id))}")

    run_of(options, {})
    return log


def _metric(words: list[str], options: Options) -> Callable[[Session], None]:
    if len(words) < 2:
        raise Usage("run-log metric RUN name=value ...")

    def log(session: Session) -> None:
        read = __import__("cli.run_points", fromlist=["point"])
        run_id, now, points, wrong = _run_id(words[0]), time.time(), [], []
        step = _step(options) or 0
        for written in words[1:]:
            name, separator, value = written.rpartition("=")
            found = read.number(value) if separator and name else None
            if found is None:
                wrong.append(f"{written[:60]!r} is not name=number")
            else:
                points.append(read.point(sendable(name), found, step, now))
        if points:
            wrong += _runs(session).log(run_id, points)[1]
        if wrong:
            raise Usage("; ".join(wrong))

    return log


def _file(words: list[str], options: Options) -> Callable[[Session], None]:
    if len(words) != 2:
        raise Usage("run-log file RUN PATH")

    def log(session: Session) -> None:
        path, file = words[1], {"kind": options.text("kind", "file"), "step": _step(options)}
        try:
            path = os.path.abspath(path)
            file["size_bytes"] = os.stat(path).st_size
        except OSError as error:
            session.terminal.error(f"kaiku: {harmless(path)}: {error.strerror}; its path is logged")
        file["path"] = sendable(path)
        _runs(session).state_file(_run_id(words[0]), file)

    return log


def _end(words: list[str], options: Options) -> Callable[[Session], None]:
    if len(words) != 1:
        raise Usage("run-log end RUN")
    status = "FAILED" if options.flag("failed") else "KILLED" if options.flag("killed") else "FINISHED"
    return lambda session: _runs(session).end(_run_id(words[0]), status)


def _token(words: list[str], _: Options) -> Callable[[Session], None]:
    if words:
        raise Usage("run-log token takes no words")
    return lambda session: session.terminal.line(session.token)


def _piped(session: Session, words: list[str]) -> int:
    options = session.options
    known = options.text("run")
    if known and options.text("experiment"):
        raise Usage("run-log pipe takes --experiment or --run, not both")
    experiment = "" if options.flag("run") else _experiment(words, options)
    run_of(options, session.environ)

    def start(runs: Runs) -> str:
        return runs.start(experiment, run_of(options, session.environ)) if experiment else _run_id(known)

    pipe = __import__("cli.run_pipe", fromlist=["Pipe"])
    wait_s = options.number("wait", WAIT_S_DEFAULT)
    status: int = pipe.Pipe(wait_s).run(start, session, ends_run=bool(experiment))
    return status


def _experiment(words: list[str], options: Options) -> str:
    if words:
        raise Usage(f"unexpected {words[0][:60]!r}: kaiku run-log --help")
    if not options.text("experiment").strip():
        raise Usage("which experiment? --experiment NAME")
    return sendable(options.text("experiment"))


def _run_id(written: str) -> str:
    """The id of a run. Raises NotFound for anything else, also nothing: a script goes on if its run was not started."""
    if not RUN_ID.fullmatch(written):
        raise NotFound(f"{written[:60]!r} is not the id of a run" if written else "there is no run: it was not started")
    return written


def _step(options: Options) -> int | None:
    """The step, if one is given. Raises Usage."""
    written = options.text("step")
    if not options.flag("step"):
        return None
    digits = written[1:] if written[:1] == "-" else written
    if not digits.isascii() or not digits.isdecimal() or len(digits) > STEP_DIGITS_MAX:
        raise Usage(f"--step must be a whole number, not {written[:60]!r}")
    return int(written)
