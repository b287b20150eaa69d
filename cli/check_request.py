"""What `POST /api/v1/check` gets: resource options and the job's name, nothing else of a script; and its answer."""

from __future__ import annotations

from cli.answers import objects
from cli.errors import CliError, NoAnswer
from wire.sbatch.sharing import NAMES, left_out, printable_name, shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session
    from wire.sbatch.script import Script

SCHEMA = "check-request/1"
COMPONENTS_MAX = 16
"""The most components that the portal reads."""


def check_request(script: Script, job_name: str, *, is_elsewhere: bool = False) -> dict[str, Any]:
    """The request for a script. `job_name` is what sbatch calls a job that sets no name: the script's, without path."""
    parts = shared(script)
    array = parts[0].array if len(parts) == 1 else None
    return {
        "schema": SCHEMA,
        "cluster": _cluster(script),
        "array_tasks": array.tasks if array else 1,
        "elsewhere": is_elsewhere,
        "components": [
            {"job_name": part.job_name or printable_name(job_name) or None, "options": part.options} for part in parts
        ],
    }


def asked(session: Session, script: Script, job_name: str, *, is_elsewhere: bool = False) -> dict[str, Any]:
    """The portal's answer, with as many components as the script has. Raises CliError."""
    if session.options.flag("offline"):
        raise NoAnswer("--offline: the portal was not asked")
    if len(script.components) > COMPONENTS_MAX:
        raise CliError(f"the portal reads at most {COMPONENTS_MAX} components of a job")
    if any(refusal.code == "gpus" for refusal in script.refusals):
        raise NoAnswer("the number of GPUs cannot be read, so the portal was not asked")
    for component in script.components:
        unread = [name for name in left_out(component) if name not in NAMES]
        if unread:
            raise NoAnswer(f"--{unread[0]} cannot be read, so the portal was not asked")
    said = session.post("/api/v1/check", check_request(script, job_name, is_elsewhere=is_elsewhere)).json()
    if not isinstance(said, dict) or len(objects(said, "components")) != len(script.components):
        raise NoAnswer("the portal's answer is not one to this: check KAIKU_URL")
    return said


def _cluster(script: Script) -> str | None:
    """The cluster that --clusters names, if it is a single one."""
    named = script.components[0].options.get("clusters", "")
    return named if named.replace("-", "").replace("_", "").isalnum() and named.isascii() else None
