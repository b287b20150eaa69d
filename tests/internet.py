"""An internet inside a network namespace of its own, in which a module of the tests looks around and prints JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.parts import need
from tests.processes import PATIENCE_S

CHECKOUT = Path(__file__).resolve().parents[1]


def seen_by(module: str, addresses: list[str], folder: Path) -> dict[str, Any]:
    """What this module sees of these addresses, with the product's own settings: `9.9.9.9` is public there, and the
    name server is its own. A test without the right to a namespace is left out."""
    need("network namespaces", "mounts")
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\n")
    start = f"ip link set lo up && ip address add 9.9.9.9/32 dev lo && mount --bind {resolver} /etc/resolv.conf"
    inside = ("unshare", "--net", "--mount", "sh", "-c", f'{start} && exec "$@"', "-")
    done = subprocess.run(
        [*inside, sys.executable, "-m", module, *addresses],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "portal.settings", "KAIKU_VAR_DIR": str(folder)},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
