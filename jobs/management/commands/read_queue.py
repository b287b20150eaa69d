"""`manage.py read_queue`: the pending and running jobs of whole clusters, from squeue or from a file that it wrote."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from jobs.experiments.services.left_jobs import record_left_jobs
from jobs.management.slurm_files import file_and_zone
from jobs.queue.services import QueueChange, read_queue, store_queue
from jobs.queue.squeue import FILE_MARK, Queue, QueueFormatError, queue_format, queue_of
from jobs.slurm_client import SlurmClientError


class Command(BaseCommand):
    help = (
        "Store what is in the queue of each cluster of QUEUE_CLUSTERS now, in place of what was there, and the"
        " records of jobs of logged runs that left it; a worker does this every QUEUE_SECONDS. A file is the output of"
        " TZ=UTC SLURM_BITSTR_LEN=0 squeue --all --noheader"
        f" --Format='{queue_format(FILE_MARK)}'; a job name can contain | and look like another job, so use it only"
        " for files you trust."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from-file", metavar="FILE", help="read this file instead, or - for standard input")
        parser.add_argument("--cluster", metavar="NAME", help="Slurm's name of the cluster; needed for a file")
        parser.add_argument("--time-zone", default="UTC", help="time zone of the times in FILE (default: UTC)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["from_file"]:
            self._told(options["cluster"], *_from_file(options))
            return
        clusters = [options["cluster"]] if options["cluster"] else settings.QUEUE_CLUSTERS
        if not clusters:
            raise CommandError("no cluster: name one with --cluster, or set QUEUE_CLUSTERS")
        failed = [cluster for cluster in clusters if not self._is_read(cluster)]
        record_left_jobs(timezone.now())
        if failed:
            raise CommandError(f"not read: {', '.join(failed)}")

    def _is_read(self, cluster: str) -> bool:
        try:
            self._told(cluster, *read_queue(cluster))
        except (SlurmClientError, QueueFormatError) as error:
            self.stderr.write(f"{cluster}: {error}")
            return False
        return True

    def _told(self, cluster: str, change: QueueChange, found: Queue) -> None:
        for row in found.left_out:
            self.stderr.write(f"{cluster}: {row}")
        self.stdout.write(f"{cluster}: {change}")


def _from_file(options: dict[str, Any]) -> tuple[QueueChange, Queue]:
    cluster, read_at = options["cluster"], timezone.now()
    if not cluster:
        raise CommandError("--from-file needs --cluster, Slurm's name of the cluster")
    text, zone = file_and_zone(options)
    try:
        found = queue_of(text, cluster=cluster, zone=zone)
    except QueueFormatError as error:
        raise CommandError(f"{options['from_file']}: {error}") from error
    return store_queue(cluster, found, read_at), found
