"""The program that installs the filter for sbatch."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from typing import Any

INSTALLER = Path(__file__).resolve().parents[1] / "deploy/slurm/install-cli-filter"


def installer() -> Any:
    """The program as a module."""
    loader = importlib.machinery.SourceFileLoader("install_cli_filter", str(INSTALLER))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
