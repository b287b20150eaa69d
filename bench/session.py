"""A person's way from one submission to the next, on a real Slurm: what `docs/cli.md` shows under "A session".

    python -m bench.session [SECONDS]     as root, with Slurm's daemons and PostgreSQL; prints the session

Real are the portal with its workers, Slurm with prolog, epilog and the filter for hints, `kaiku` as it is built, and
everything that is printed. GPUs are files that move as the driver's do, three earlier runs are sent as a cluster sends
them, and each run lasts SECONDS (default 345). The address of the portal and the home directory are
replaced, and `...` stands for waiting. A user `leo` is made on this machine, and deleted at the end.
"""

from __future__ import annotations

import gzip
import json
import os
import pwd
import re
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.filter_installer import INSTALLER
from tests.payloads import gpu, record, summary
from tests.processes import wait_until
from tests.reports.builders import TWO_RANKS, WHOLE_REQUEST
from tests.slurm.cluster import ACCOUNT, CLUSTER
from tests.slurm.hooks import CHECKOUT
from tests.slurm.site import Site

LEO = "leo"
FIRST_JOB, EARLIER_JOBS = 17400001, (17300021, 17300022, 17300023)
NAME = "train_resnet"
OPTIONS = {"--job-name": NAME, "--account": ACCOUNT, "--partition": "small-g", "--nodes": "1"} | WHOLE_REQUEST
SCRIPT = "#!/bin/bash\n" + "".join(f"#SBATCH {name}={value}\n" for name, value in OPTIONS.items()) + "./train\n"
TRAIN = "#!/bin/bash\nexec {work} 88,88,0,0,0,0,0,0 {seconds}\n"
CODE = re.compile(r"code ([A-Z]{4}-[A-Z]{4})")
SHOWN_URL, SHOWN_HOME = "https://kaiku.example", "/users/leo"
APPROVE = (
    "from django.test import Client; from jobs.models import User; browser = Client(SERVER_NAME='127.0.0.1');"
    " browser.force_login(User.objects.get(username='{user}'));"
    " browser.post('/device/', {{'user_code': '{code}', 'answer': 'approve'}})"
)


class Session(Site):
    """A site with hints, and one person with a home directory, whose commands and answers are printed."""

    def install_collector(self, port: int) -> None:
        super().install_collector(port)
        self.url = f"http://127.0.0.1:{port}"
        self.kaiku = str(self.top / "kaiku.pyz")
        build = [str(CHECKOUT / "deploy/cli-zip"), self.kaiku]
        subprocess.run(build, check=True, env=os.environ | {"KAIKU_URL": self.url})
        install = [sys.executable, str(INSTALLER), "--to", str(self.top), "--cluster", CLUSTER, "--kaiku", self.kaiku]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        with (self.top / "slurm.conf").open("a") as file:
            file.write(f"CliFilterPlugins=lua\nFirstJobId={FIRST_JOB}\n")

    def prepare(self, seconds: float) -> None:
        """The person, the script, and three runs that used two of their eight GPUs."""
        self.cluster.run("sacctmgr", "-iQ", "add", "user", LEO, f"cluster={CLUSTER}", f"account={ACCOUNT}")
        self.home = self.top / "home"
        self.home.mkdir()
        for name, text in (("train.sbatch", SCRIPT), ("train", TRAIN.format(work=self.nodes.work, seconds=seconds))):
            (self.home / name).write_text(text)
            (self.home / name).chmod(0o755)
        (self.home / "kaiku").symlink_to(self.kaiku)
        person = pwd.getpwnam(LEO)
        subprocess.run(["chown", "-R", f"{person.pw_uid}:{person.pw_gid}", str(self.home)], check=True)
        gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
        for days, job_id in enumerate(EARLIER_JOBS, 1):
            ended = datetime.now(UTC) - timedelta(days=days)
            facts: dict[str, Any] = {"cluster": CLUSTER, "job_id": job_id}
            times = {"started_at": (ended - timedelta(hours=2)).isoformat(), "ended_at": ended.isoformat()}
            of = {"user_id": LEO, "project_id": ACCOUNT, "job_name": NAME, "request": WHOLE_REQUEST}
            self.send("job-records", record(**facts, **times, **of))
            self.send("node-summaries", summary(gpus=gpus, cpu=TWO_RANKS, **facts))
        wait_until("reports of the earlier runs", lambda: len(self.reports()) == len(EARLIER_JOBS))

    def send(self, kind: str, body: dict[str, Any]) -> None:
        """As a node does."""
        token = (self.top / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Content-Encoding": "gzip"}
        content = gzip.compress(json.dumps(body).encode())
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/api/v1/ingest/{kind}", content, headers)).close()

    def types(self, line: str) -> None:
        """One line that the person types, with everything that it prints."""
        environ = {
            **{"PATH": f"{self.home}:{self.cluster.environment['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8"},
            **{"SLURM_CONF": str(self.top / "slurm.conf"), "COLUMNS": "80", "KAIKU_PAGER": ""},
        }
        print(f"$ {line}", flush=True)
        with subprocess.Popen(
            ["bash", "-c", line],
            env=environ,
            cwd=self.home,
            user=LEO,
            group=LEO,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout
            for shown in process.stdout:
                print(self.public(shown), end="", flush=True)
                if code := CODE.search(shown):
                    self.manage("shell", "-c", APPROVE.format(user=LEO, code=code[1]))
        print(flush=True)

    def public(self, text: str) -> str:
        """The text with the names that a site has instead of those of this machine."""
        host = SHOWN_URL.partition("//")[2]
        for here, there in ((self.url, SHOWN_URL), (f"http_127.0.0.1_{self.port}", host), (str(self.home), SHOWN_HOME)):
            text = text.replace(here, there)
        return text.replace("\u00a0", " ")

    def waits_for(self, job_id: int) -> None:
        """Until the job has its report."""
        print("...\n", flush=True)
        wait_until(f"a report on {job_id}", lambda: f"{job_id}.0" in self.reports(), 900)


def play(session: Session) -> None:
    """What is shown."""
    hints = Path(session.home, ".cache/kaiku/hints/hints")
    session.types("kaiku login")
    session.types("kaiku check train.sbatch")
    wait_until("the hints", lambda: hints.exists() and "\nline\t" in hints.read_text())
    session.types("sbatch train.sbatch")
    session.waits_for(FIRST_JOB)
    session.types("kaiku last")
    session.types(f"kaiku job {FIRST_JOB} | head -32")
    session.types("kaiku check train.sbatch --write fixed.sbatch > /dev/null; diff train.sbatch fixed.sbatch")
    session.types("sbatch fixed.sbatch")
    session.waits_for(FIRST_JOB + 1)
    session.types("kaiku last")
    session.types("kaiku history --days 7")
    # What became of advice is settled in the next rounds of the background work.
    time.sleep(20)
    session.types("kaiku insights --days 7")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 345.0
    if subprocess.run(["id", LEO], capture_output=True, check=False).returncode == 0:
        sys.exit(f"session: there is a user {LEO} on this machine already")
    subprocess.run(["useradd", "--no-create-home", "--home-dir", "/tmp", "--shell", "/bin/bash", LEO], check=True)
    try:
        session = Session()
        try:
            session.prepare(seconds)
            play(session)
        finally:
            session.stop()
    finally:
        subprocess.run(["userdel", LEO], check=True)


if __name__ == "__main__":
    main()
