"""kaiku watch [[CLUSTER/]JOBID] [--interval SECONDS] [--once] [--json]

Your running jobs: use so far, memory, time left and cost, and a word where something is wrong, with commands to look.
It asks again each minute and prints what changed, until the jobs have ended; then it names their reports. Ctrl-C ends
it; the jobs go on. With JOBID: that job alone, also one of a project that you lead. A task of an array is JOBID_TASK.

  --interval SECONDS   how often to ask, at least 30; 60 if not set
  --once               print once, and end
  --json               each answer of the portal as one line of JSON
"""

from __future__ import annotations

import time

from cli.answers import document, number, objects, text, value
from cli.errors import CliError, NoAnswer, NotFound, Usage
from cli.http_answer import Answer
from cli.job_names import JobName, path_of, read
from cli.layout import instant, percent
from cli.options import FLAG, whole
from cli.report import job_lines, judged, unused_line
from cli.running_text import figure_lines, is_meant, shown_id, status_lines, word_lines
from cli.shapes import job_report, running_list
from cli.terminal import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session

INTERVAL_S = whole(30, 3600)
OPTIONS = {"interval": INTERVAL_S, "once": FLAG, "json": FLAG}
WORDS_MAX = 1

INTERVAL_S_DEFAULT = 60
JOBS_MAX = 100
SILENCE_S_MAX = 3600.0
"""How long the portal may be away before this ends."""
REPORT_S_MAX = 1800.0
"""How long the report of an ended job is waited for; it usually follows within minutes."""
BUSY = (429, 503)
RETRY_S_MAX = 600


def run(session: Session) -> int:
    """Print, wait, and print what changed."""
    options = session.options
    if options.flag("offline"):
        raise Usage("watch asks the portal: leave out --offline")
    watch = Watch(session, read(options.words[0]) if options.words else None)
    watch.begin(options.words[0] if options.words else "")
    if options.flag("once"):
        return 0
    interval_s = options.number("interval", INTERVAL_S_DEFAULT)
    while not watch.is_over:
        session.terminal.flush()
        time.sleep(max(interval_s, watch.retry_s))
        watch.look()
    return 0


class Watch:
    """The jobs that are watched: what was printed of each, and since when those are gone that have no report yet."""

    def __init__(self, session: Session, named: JobName | None) -> None:
        self.session, self.terminal, self.named = session, session.terminal, named
        self.is_json = session.options.flag("json")
        self.known: dict[str, dict[str, Any]] = {}
        self.gone: dict[str, tuple[dict[str, Any], float]] = {}
        self.silent_since: float | None = None
        self.retry_s = 0

    @property
    def is_over(self) -> bool:
        return not self.known and not self.gone

    def begin(self, written: str) -> None:
        """The status of each job. Raises NotFound where the one that was named does not run."""
        jobs = self._jobs()
        if not jobs and self.named:
            ended = f"`kaiku job {written}` shows the report of one that has ended"
            raise NotFound(f"no job {written} of yours runs now, or of a project that you lead; {ended}")
        if not jobs and not self.is_json:
            self.terminal.line("None of your GPU jobs runs now.")
        self._show(jobs)

    def look(self) -> None:
        """Ask again; a portal that is away for minutes changes nothing."""
        try:
            jobs = self._jobs()
            self._show(jobs)
            self._end(jobs)
        except NoAnswer as error:
            self._note_silence(error)
            return
        if self.silent_since is not None:
            self.silent_since = None
            self.terminal.error("kaiku: the portal answers again")

    def _jobs(self) -> dict[str, dict[str, Any]]:
        """The running jobs that are meant, by their names."""
        query: dict[str, object] = {"limit": JOBS_MAX}
        query.update({"job_id": self.named.job_id} if self.named else {"own": 1})
        answer = self._call("/api/v1/running/", query)
        running_list(answer.json())
        named = self.named
        jobs = [job for job in objects(document(answer), "jobs") if named is None or is_meant(job, named)]
        if self.is_json:
            self.terminal.raw(answer.content.replace(b"\n", b" ") + b"\n")
        return {shown_id(job): job for job in jobs}

    def _call(self, path: str, query: dict[str, object] | None = None) -> Answer:
        self.retry_s = 0
        session = self.session
        answer = session.portal.call("GET", path, query=query, timeout_s=session.timeout_s)
        if answer.status in BUSY:
            wait = answer.headers.get("retry-after", "")
            self.retry_s = min(int(wait), RETRY_S_MAX) if wait.isascii() and wait.isdecimal() and len(wait) < 6 else 0
        return answer.checked()

    def _show(self, jobs: dict[str, dict[str, Any]]) -> None:
        """What is new of these jobs."""
        for name, job in jobs.items():
            before = self.known.get(name)
            self.known[name] = job
            self.gone.pop(name, None)
            if self.is_json:
                continue
            if before is None:
                self._print(list(status_lines(self.terminal, job)))
            else:
                self._show_changes(name, before, job)

    def _show_changes(self, name: str, before: dict[str, Any], job: dict[str, Any]) -> None:
        lines: list[str] = []
        if text(job, "measured", "until") != text(before, "measured", "until"):
            lines += figure_lines(self.terminal, job)
        old, new = ({text(word, "code"): word for word in objects(each, "words")} for each in (before, job))
        for code, word in new.items():
            if code not in old:
                lines += word_lines(self.terminal, word, is_own=value(job, "is_own") is not False)
        lines += [
            cut(f"No longer so: {text(word, 'title')}", self.terminal.columns)
            for code, word in old.items()
            if code not in new
        ]
        if lines:
            self._print([self._headed(name, job), *lines])

    def _headed(self, name: str, job: dict[str, Any]) -> str:
        clock = time.strftime("%H:%M", time.localtime(time.time()))
        return self.terminal.paint(cut(f"{clock} {name} {text(job, 'name')}", self.terminal.columns), "bold")

    def _end(self, jobs: dict[str, dict[str, Any]]) -> None:
        """Those that run no longer: their reports, once they exist."""
        for name in [name for name in self.known if name not in jobs]:
            self.gone[name] = self.known.pop(name), time.monotonic()
            if not self.is_json:
                ended = "has left the queue. Its report usually follows within minutes."
                self._print([self._headed(name, self.gone[name][0]), ended])
        for name, (job, since) in list(self.gone.items()):
            report = self._report(job)
            if report is None and time.monotonic() - since < REPORT_S_MAX:
                continue
            del self.gone[name]
            if not self.is_json:
                self._print(self._ended(name, job, report))

    def _report(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """The report of the run that was watched, not of an earlier attempt; None while there is none."""
        try:
            answer = self._call(path_of(text(job, "cluster"), int(number(job, "job_id") or 0)))
        except NotFound:
            return None
        job_report(answer.json())
        said = document(answer)
        began, ended = instant(text(job, "started_at")), instant(text(said, "job", "ended_at"))
        is_this = began is not None and ended is not None and ended > began
        return said if is_this and isinstance(value(said, "efficiency"), dict) else None

    def _ended(self, name: str, job: dict[str, Any], report: dict[str, Any] | None) -> list[str]:
        command = f"kaiku job {text(job, 'cluster')}/{text(job, 'job_id')}"
        if report is None:
            return [self._headed(name, job), "has no report yet. Later:", f"      {command}"]
        which, how = job_lines(value(report, "job"), self.terminal.columns)  # type: ignore[arg-type]
        said, colour = judged(report)
        use = percent(number(report, "efficiency", "avg_gpu_util"))
        use_line = cut(f"{said}: {use} GPU use, {unused_line(report)}", self.terminal.columns)
        painted = self.terminal.paint(use_line, *([colour] if colour else []))
        return [self.terminal.paint(which, "bold"), how, painted, f"      {command}"]

    def _print(self, lines: list[str]) -> None:
        for line in [*lines, ""]:
            self.terminal.line(line)

    def _note_silence(self, error: CliError) -> None:
        now = time.monotonic()
        if self.silent_since is None:
            self.silent_since = now
            self.terminal.flush()
            self.terminal.error(f"kaiku: {error}; still trying")
        elif now - self.silent_since > SILENCE_S_MAX:
            raise error
