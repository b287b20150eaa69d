"""How a real Slurm reads a script: its controller alone, and a cli_filter that writes down the options.

Jobs are submitted on hold, and there is no node to run them.
"""

from __future__ import annotations

import json
import subprocess
import threading
from dataclasses import dataclass

from tests.processes import PATIENCE_S, wait_until
from tests.slurm.cluster import USER, Cluster, is_open
from tests.wire.sbatch.headers import Header
from wire.sbatch.value_forms import FORMS

CLI_FILTER = """\
function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, offset)
  local file = io.open(os.getenv("KAIKU_OPTIONS_FILE"), "a")
  file:write(slurm.json_cli_options(options), "\\n")
  file:close()
  return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, jobid, stepid) return slurm.SUCCESS end
"""
OWN_OPTIONS = {"argv", "hold"}
"""Beside the script's: the command, and what this test adds."""


@dataclass
class Reading:
    """What Slurm made of a script: whether it took the job, the options of each component, and its messages."""

    is_accepted: bool
    options: list[dict[str, str]]
    messages: str


class SlurmReading(Cluster):
    """The controller, without accounting and without nodes."""

    def start(self) -> None:
        settings = self.top / "slurm.conf"
        lines = [each for each in settings.read_text().splitlines() if not each.startswith("Accounting")]
        settings.write_text("\n".join([*lines, "CliFilterPlugins=lua", "MaxJobCount=20000", ""]))
        (self.top / "cli_filter.lua").write_text(CLI_FILTER)
        self.work = self.top / "reading"
        self.work.mkdir()
        self.work.chmod(0o777)
        top = self.top
        self.spawn(
            *["munged", "--foreground", "--force", f"--socket={top}/munge.sock", f"--key-file={top}/munge.key"],
            *[f"--{name}-file={top}/munge.{name}" for name in ("pid", "log", "seed")],
        )
        wait_until("munged", (top / "munge.sock").exists)
        self.spawn("slurmctld", "-D")
        wait_until("slurmctld", lambda: is_open(self.ctld_port) and self.is_fine("sinfo"))

    def read(self, header: Header) -> Reading:
        # Each in files of its own, so that several can be asked about at a time.
        place = f"{threading.get_ident()}"
        script, written = self.work / f"{place}.sbatch", self.work / f"{place}.json"
        script.write_bytes(header.script)
        written.unlink(missing_ok=True)
        done = subprocess.run(
            ["sbatch", *header.arguments, "--hold", str(script)],
            env=self.environment | {"KAIKU_OPTIONS_FILE": str(written)} | header.environment,
            cwd=self.work,
            user=USER,
            group=USER,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        lines = written.read_text().splitlines() if written.exists() else []
        return Reading(done.returncode == 0, [normal(json.loads(each)) for each in lines], done.stderr.decode())


def normal(options: dict[str, str]) -> dict[str, str]:
    """The options without what this test adds, "0?" as 0, and resources without the prefix of their version."""
    found = {name: value for name, value in options.items() if name not in OWN_OPTIONS}
    for name in found.keys() & {"mem", "mem-per-cpu", "mem-per-gpu", "tmp"}:
        found[name] = found[name].replace("?", "")
    if "gres" in found:
        found["gres"] = ",".join(each.removeprefix("gres:").removeprefix("gres/") for each in found["gres"].split(","))
    return without_forms(found)


def without_forms(options: dict[str, str]) -> dict[str, str]:
    """The options, of those that are only taken or refused nothing but that they are set."""
    return {name: "set" if name in FORMS else value for name, value in options.items()}
