"""docs/install.md by its text alone: from an empty root to a report, through proxy and TLS, with a dump at the end."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.compose import ROOT
from tests.parts import need, need_all_required
from tests.processes import PATIENCE_S

PAGE = (ROOT / "docs/install.md").read_text()
AFTER = """
kaiku preview_mail lumi/1 >~/letter.txt
systemctl start kaiku-backup.service || { cat /var/log/kaiku-backup.log; exit 3; }
ls /var/backups/kaiku
"""


def blocks(first: int, last: int) -> str:
    """The commands of these steps, in their order; packages are here already."""
    page = PAGE.partition("## With containers")[0]
    steps = re.split(r"^## (\d)\. ", page, flags=re.M)[1:]
    chosen = [text for number, text in zip(steps[::2], steps[1::2], strict=True) if first <= int(number) <= last]
    found = [block for text in chosen for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)]
    return "".join(f"{block}\n" for block in found if not block.startswith("apt-get"))


def test_a_host_that_follows_the_page_ends_with_a_report(tmp_path: Path) -> None:
    need_all_required("this walk installs everything anew, for a minute or more")
    need("redis-server", "nginx", "curl", "pg_createcluster", "network namespaces", "mounts", "setpriv")
    (tmp_path / "scratch").mkdir()
    (tmp_path / "online").write_text(blocks(1, 1))
    (tmp_path / "offline").write_text(f"cd /opt/kaiku\n{blocks(2, 8)}\n{AFTER}")
    walk = [
        ROOT / "tests/deploy/install-walk.sh",
        tmp_path / "scratch",
        ROOT,
        tmp_path / "online",
        tmp_path / "offline",
    ]
    spaces = ["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child=KILL"]
    done = subprocess.run([*spaces, *walk], capture_output=True, text=True, timeout=PATIENCE_S, env=plain_environment())
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    said = done.stdout
    assert '{"status": "ok"}' in said
    assert said.count('"accepted":1') + said.count('"accepted": 1') == 2
    assert re.search(r"^Owner +alice$", said, re.M)
    assert re.search(r"^\S+\.eml$", said, re.M)
    assert re.search(r"^kaiku-\d{8}T\d{6}Z\.dump$", said, re.M)


def plain_environment() -> dict[str, str]:
    """What a shell of root has, and how pip is set up here; nothing of this suite."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME") or name.startswith(("PIP_", "SSL_"))
    }
    return kept | {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.parametrize(
    "step", re.findall(r"^RUN ((?:deploy|python3|\.venv)\S* .*)$", (ROOT / "deploy/Dockerfile").read_text(), re.M)
)
def test_the_image_is_made_by_the_steps_of_the_page(step: str) -> None:
    assert f"\n{step}\n" in PAGE
