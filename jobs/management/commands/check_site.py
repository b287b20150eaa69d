"""`manage.py check_site`: compare the site's profile with the partitions and nodes of the real Slurm."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.hardware import site
from jobs.site_check import ScontrolFormatError, differences, slurm_nodes, slurm_partitions
from jobs.slurm_client import SlurmClientError, command_output

TIMEOUT_S = 60.0
SHOWN = ("partition", "node")


class Command(BaseCommand):
    help = (
        "Compare the site profile (SITE_PROFILE) with what scontrol shows of partitions and nodes, and print each"
        " difference; fails when there is any."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--cluster", help="which cluster of the profile, where it has several")
        parser.add_argument("--scontrol", default="scontrol", metavar="PROGRAM", help="Slurm's command or its path")
        parser.add_argument(
            "--from-files",
            nargs=2,
            metavar=("PARTITIONS", "NODES"),
            help="captured output of scontrol show partition and scontrol show node, instead of running scontrol",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = self._cluster(options["cluster"])
        files = options["from_files"]
        texts = [_content(file) for file in files] if files else [_shown(options["scontrol"], what) for what in SHOWN]
        try:
            found = differences(site().clusters[name], slurm_partitions(texts[0]), slurm_nodes(texts[1]))
        except ScontrolFormatError as error:
            raise CommandError(f"not the output of scontrol: {error}") from error
        for line in found:
            self.stdout.write(line)
        if found:
            raise CommandError(f"differences between the profile {site().name} and Slurm: {len(found)}")
        self.stdout.write(f"the profile {site().name} and Slurm agree on {name}")

    def _cluster(self, wanted: str | None) -> str:
        known = list(site().clusters)
        if wanted is None and len(known) > 1:
            raise CommandError(f"name one with --cluster: {', '.join(known)}")
        if wanted is not None and wanted not in known:
            raise CommandError(f"--cluster {wanted}: the profile {site().name} describes {', '.join(known)}")
        return wanted or known[0]


def _shown(scontrol: str, what: str) -> str:
    try:
        return command_output([scontrol, "show", what, "--oneliner"], TIMEOUT_S)
    except SlurmClientError as error:
        raise CommandError(str(error)) from error


def _content(file: str) -> str:
    try:
        return Path(file).read_text(errors="replace")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
