"""What a real squeue printed of ended jobs, and commands that print it again."""

from __future__ import annotations

from pathlib import Path

from collector.asking import COLUMNS, fields_of
from collector.job import from_environment
from collector.record import job_record

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
ROWS = (SAMPLES / "squeue-format-ended.txt").read_text().partition("### ")[2].split("### ")


def shown(name: str, **changed: str) -> str:
    """What squeue printed of one of the sample's jobs, some columns changed."""
    row = next(row for row in ROWS if row.partition(":")[0].split()[1] == name).splitlines()[1]
    cells = dict(zip(COLUMNS, row.split("|"), strict=False)) | changed
    return "|".join(cells.values()) + "|\n"


def number(name: str) -> int:
    return int(shown(name).partition("|")[0])


def fields(name: str) -> dict[str, str]:
    found = fields_of(shown(name), number(name))
    assert found is not None
    return found


def typed(name: str) -> str:
    """The options that sbatch was given for it."""
    return next(row for row in ROWS if row.partition(":")[0].split()[1] == name).splitlines()[0].partition(": ")[2]


def job(job_id: int, **changed: object) -> dict:
    """A job as prolog and epilog leave it for the shipper."""
    environment = {
        "SLURM_JOB_ID": str(job_id),
        "SLURM_JOB_GPUS": "0-7",
        "SLURMD_NODENAME": "nid005002",
        "SLURM_CLUSTER_NAME": "lumi",
        "SLURM_JOB_USER": "alice",
        "SLURM_JOB_ACCOUNT": "project_465000001",
        "SLURM_JOB_PARTITION": "small-g",
        "SLURM_JOB_NUM_NODES": "1",
    }
    ended = {"started_at": 1_790_000_100.0, "ended_at": 1_790_000_160.0, "exit_status": 0, "threads_per_core": 1}
    return {**from_environment(environment, ""), **ended, **changed}


def partition(name: str) -> str:
    """What `scontrol show partition` printed of one of the sample's partitions."""
    sections = (SAMPLES / "scontrol-show-partition.txt").read_text().split("\n\n")
    return next(section for section in sections if section.startswith(f"PartitionName={name}\n"))


def defaults(name: str, **changed: str) -> dict[str, str]:
    """The fields of a partition of the sample."""
    return {**dict(word.split("=", 1) for word in partition(name).split()), **changed}


class Slurm:
    """Commands that show these one after the other, the last again and again, and know a name and host names."""

    def __init__(self, folder: Path, *shows: str, name: str = "train", hosts: str = "nid005002\\nnid005003") -> None:
        self.folder = folder
        (folder / "partition").write_text(partition("small-g"))
        for count, text in enumerate(shows):
            (folder / f"show{count}").write_text(text)
        (folder / "name").write_text(f"{shows[0].partition('|')[0]}|{name:256}\n")
        asked, last = folder / "asked", len(shows) - 1
        self.squeue = self._script(
            "squeue",
            f'case "$*" in *Name:*) cat {folder}/name; exit;; esac\n'
            f"count=$(cat {asked} 2>/dev/null || echo 0)\n"
            f"echo $((count + 1)) > {asked}\n"
            f'[ "$count" -le {last} ] || count={last}\n'
            f"cat {folder}/show$count\n",
        )
        self.scontrol = self._script(
            "scontrol",
            f"if [ \"$2\" = hostnames ]; then printf '{hosts}\\n'; exit; fi\n"
            f'[ "$2" = partition ] && cat {folder}/partition\n',
        )

    def _script(self, name: str, body: str) -> str:
        script = self.folder / name
        script.write_text(f"#!/bin/sh\n{body}")
        script.chmod(0o755)
        return str(script)

    def record(self, asked_for: dict) -> dict:
        return job_record(asked_for, self.scontrol, self.squeue)
