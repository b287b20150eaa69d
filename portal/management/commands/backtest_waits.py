"""`manage.py backtest_waits`: how well estimates of waits would have done, each from what was known at submission."""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from analysis.queue_waits.backtest import ALL, Backtested, PartitionScore, Score, backtest, scores
from analysis.queue_waits.services import BACKTEST_DAYS, backtests, store
from analysis.queue_waits.trace_file import TraceFormatError, read_trace
from wire.numbers import counted

DAYS_MAX = 1100
HEADER = ("", "off", "in x2", "range held", "off", "in x2", "range held")
WIDTHS = (22, 8, 7, 11, 8, 7, 11)

ByCluster = Iterable[tuple[str, dict[str, Backtested]]]


class Command(BaseCommand):
    help = (
        "Estimate the wait of stored jobs again, each from the starts known at its submission, and compare with the"
        " real wait, beside two simple methods: for each partition how many jobs got an estimate, the median factor"
        " between estimate and wait, the share within a factor of 2, and how many waits were within the range. A worker"
        " does this every night and stores how well the ranges hold; --store does it now."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--since", type=int, default=BACKTEST_DAYS, metavar="DAYS", help="stored jobs submitted in these days"
        )
        parser.add_argument("--cluster", help="this cluster only")
        parser.add_argument("--from-file", metavar="CSV", help="a trace instead of the stored jobs, .csv or .csv.gz")
        parser.add_argument("--json", action="store_true", help="as JSON")
        parser.add_argument("--store", action="store_true", help="use the measured ranges from now on")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["since"] <= DAYS_MAX:
            raise CommandError(f"--since is a number of days from 1 to {DAYS_MAX}")
        if options["store"] and options["from_file"]:
            raise CommandError("--store is for stored jobs, not for a file")
        now = timezone.now()
        if options["from_file"]:
            found: ByCluster = self._of_file(options["from_file"], options["cluster"])
        else:
            found = backtests(now, options["since"], options["cluster"])
        shown: dict[str, list[dict[str, Any]]] = {}
        for cluster, tested in found:
            if options["store"]:
                store(cluster, tested, now)
            shown[cluster] = [asdict(score) for score in scores(tested)]
            if not options["json"]:
                self.stdout.writelines(f"{line}\n" for line in _table(cluster, scores(tested)))
        if options["json"]:
            self.stdout.write(json.dumps(shown, indent=1))
        elif not shown:
            self.stdout.write("no jobs with a known wait")

    def _of_file(self, name: str, cluster: str | None) -> ByCluster:
        try:
            with gzip.open(name, "rt") if name.endswith(".gz") else Path(name).open() as lines:
                trace, unread = read_trace(lines)
        except (OSError, EOFError, UnicodeDecodeError, TraceFormatError) as error:
            raise CommandError(f"{name}: {error}") from error
        if unread:
            self.stderr.write(f"{counted(unread, 'row')} could not be read")
        for one, partitions in trace.items():
            if cluster in (None, one):
                yield one, backtest(partitions)


def _table(cluster: str, found: Iterable[PartitionScore]) -> Iterator[str]:
    """Lines of text: first by job, then with every submission counting once."""
    yield f"{cluster}: by job, then by submission (what one person submitted together)"
    yield _line(HEADER)
    for one in found:
        share = one.answered / one.jobs if one.jobs else 0.0
        name = "all partitions" if one.partition == ALL else one.partition
        left_out = f"; {one.held} held by something else left out" if one.held else ""
        yield (
            f"{name}: {counted(one.jobs, 'job')}, {share:.0%} estimated, of {counted(one.submissions, 'submission')}"
            f"{left_out}"
        )
        yield from (_line((f"  {method}", *_cells(score))) for method, score in one.scores.items())


def _cells(score: Score) -> Iterator[str]:
    of_jobs = score.factor_off, score.within_two, score.coverage
    of_submissions = score.submission_factor_off, score.submission_within_two, score.submission_coverage
    for off, within_two, coverage in (of_jobs, of_submissions):
        yield from (f"x{off:.2f}", f"{within_two:.0%}", f"{coverage:.0%}")


def _line(cells: Iterable[str]) -> str:
    first, *others = zip(cells, WIDTHS, strict=True)
    return first[0].ljust(first[1]) + "".join(cell.rjust(width) for cell, width in others)
