"""How the hooks start the collector's commands: from a folder or a zip file alike, with few modules."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipapp
from pathlib import Path

import pytest

from collector import hooks


@pytest.fixture(params=["folder", "zip file"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return hooks.TOP
    parts, target = tmp_path / "parts", tmp_path / "it's the collector.pyz"
    ignored = shutil.ignore_patterns("__pycache__")
    for package in ("collector", "wire"):
        shutil.copytree(Path(hooks.TOP) / package, parts / package, ignore=ignored)
    zipapp.create_archive(parts, target, main="collector.__main__:main")
    return str(target)


def test_a_command_runs_from_wherever_the_collector_lies(top: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"gpus": [{}]}\n{"gpus": [{"util": 40.0, "mem_gb": 8.0}]}\n')
    done = subprocess.run([*hooks.interpreter(top), "replay", str(trace)], check=True, capture_output=True, cwd="/")
    assert json.loads(done.stdout)["gpus"][0]["avg_util"] == 40.0


def test_a_sampling_process_loads_nothing_large(top: str) -> None:
    *start, code = hooks.interpreter(top)
    code = code.replace("main()", "import collector.loop; print(*sys.modules)")
    loaded = subprocess.run([*start, code], check=True, capture_output=True, text=True, cwd="/").stdout.split()
    large = {"collections", "json", "re", "typing", "datetime", "subprocess", "ssl", "runpy", "array", "inspect"}
    assert not large & set(loaded)
    assert "collector.sources.amdgpu_sysfs" in loaded
