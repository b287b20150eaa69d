"""A person at a site whose job's script logs what it trains, and who reads the pages about it."""

from __future__ import annotations

import json
import re
import shutil
import urllib.request
from typing import Any

from tests.parts import CLIENTS, need
from tests.slurm.cluster import USER
from tests.slurm.hooks import CHECKOUT, SYSTEM_PYTHON
from tests.slurm.site import Site

TOKEN = """\
from django.utils import timezone
from jobs.models import Token, User
from jobs.tokens.services import issue_token
user, _ = User.objects.get_or_create(username="{user}")
print(issue_token(user, name="log", days=1, now=timezone.now(), kind=Token.Kind.RUNS))
"""

PAGE = """\
from django.test import Client
from jobs.models import User
user, _ = User.objects.get_or_create(username="{user}")
client = Client(SERVER_NAME="127.0.0.1")
client.force_login(user)
answer = client.get("{path}")
print(answer.status_code)
print(answer.content.decode())
"""

SCRIPT = """\
#!/bin/bash
{work} 80 600 &
export KAIKU_URL=http://127.0.0.1:{port} KAIKU_LOG_TOKEN=$(cat {folder}/token)
export MLFLOW_TRACKING_URI=$KAIKU_URL/mlflow/j/$SLURM_JOB_ID MLFLOW_TRACKING_TOKEN=$KAIKU_LOG_TOKEN
export MLFLOW_DISABLE_TELEMETRY=true MLFLOW_HTTP_REQUEST_MAX_RETRIES=3 GIT_PYTHON_REFRESH=quiet
export PYTHONPATH={folder}/packages:{folder} HOME={folder}
cd {folder}
exec {python} -s {folder}/train.py >{folder}/train.out 2>&1
"""


class LoggingPerson:
    """Has a token that logs, MLflow's client, and the lines that docs/logging-runs.md gives to copy."""

    def __init__(self, site: Site) -> None:
        need("MLflow 3")
        self.site, self.folder = site, site.top / "training"
        self.folder.mkdir()
        shutil.copytree(next((CLIENTS / "mlflow-3").glob("lib/python3*/site-packages")), self.folder / "packages")
        shutil.copy(CHECKOUT / "tests/slurm/training/train.py", self.folder)
        (self.folder / "kaiku_run.py").write_text(lines_to_copy())
        self.token = site.manage("shell", "--verbosity", "0", "--command", TOKEN.format(user=USER))
        (self.folder / "token").write_text(self.token)
        for path in (self.folder, self.folder / "token"):
            shutil.chown(path, USER)
            path.chmod(0o700)
        self.script = site.top / "train.sh"
        names = {"work": site.nodes.work, "port": site.port, "folder": self.folder, "python": SYSTEM_PYTHON}
        self.script.write_text(SCRIPT.format(**names))
        self.script.chmod(0o755)

    def reads(self, path: str) -> Any:
        """An answer of the API to the token of the script."""
        address = f"http://127.0.0.1:{self.site.port}/api/v1/{path}"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def runs(self) -> dict[str, dict[str, Any]]:
        """What was logged, by the name of the run."""
        (experiment,) = self.reads("experiments/")["results"]
        answer = self.reads(f"experiments/{experiment['experiment_id']}/runs")
        return {run["name"]: run for run in answer["results"]}


def page(site: Site, path: str, user: str = USER) -> tuple[int, str]:
    """Status and content of a page as a signed-in person gets it."""
    said = site.manage("shell", "--verbosity", "0", "--command", PAGE.format(user=user, path=path))
    status, _, content = said.partition("\n")
    return int(status), content


def lines_to_copy() -> str:
    """The class that the document gives to copy."""
    text = (CHECKOUT / "docs/logging-runs.md").read_text()
    found = re.search(r"```python\n(import json.*?)```", text, re.S)
    assert found
    return found[1]
