"""A real Slurm that only takes jobs, with the filter for hints, and a person who submits from a home directory."""

from __future__ import annotations

import subprocess
import sys

from tests.filter_installer import INSTALLER
from tests.lua import patient
from tests.processes import PATIENCE_S
from tests.slurm.cluster import USER
from tests.slurm.hint_files import NAME
from tests.wire.sbatch.slurm_reading import SlurmReading

SCRIPT = "#!/bin/sh\ntrue\n"
HET = f"#!/bin/sh\n#SBATCH -J other\n#SBATCH hetjob\n#SBATCH -J {NAME}\ntrue\n"


class Submitting(SlurmReading):
    """The controller with the filter installed, and a person with a home directory."""

    def start(self) -> None:
        super().start()
        self.home, self.last_id = self.top / "home", 0
        self.kaiku = self.top / "kaiku"
        for name, text in (("job.sh", SCRIPT), (f"{NAME}.sh", SCRIPT), ("het.sh", HET)):
            (self.work / name).write_text(text)
        self.filter = self.top / "cli_filter.lua"
        self.filter.unlink()
        self.install()

    def install(self, *, is_patient: bool = True) -> None:
        """As the installer writes it; patient ones wait for a file on a busy machine."""
        words = [sys.executable, INSTALLER, "--to", self.top, "--kaiku", self.kaiku]
        subprocess.run(words, env=self.environment, check=True, capture_output=True)
        if is_patient:
            self.filter.write_text(patient(self.filter.read_text()))

    def sbatch(self, *words: str, program: str = "sbatch", **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *words],
            env={**self.environment, "HOME": str(self.home), **environ},
            cwd=self.work,
            **{"user": USER, "group": USER, "extra_groups": []},
            **{"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "surrogateescape"},
            timeout=PATIENCE_S,
            check=False,
        )

    def submitted(self, *words: str, **environ: str) -> str:
        """What an accepted submission writes to standard error; its job id is the next one."""
        done = self.sbatch(*words, **environ)
        assert done.returncode == 0, (words, done.stderr)
        if "--quiet" in words:
            self.last_id += 1
            return done.stderr + done.stdout
        job_id = int(done.stdout.split()[-1].split(";")[0])
        assert done.stdout == (f"{job_id}\n" if "--parsable" in words else f"Submitted batch job {job_id}\n")
        assert self.last_id in (0, job_id - 1)
        self.last_id = job_id
        return done.stderr
