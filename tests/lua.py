"""The filter for sbatch in the Lua that Slurm loads, without Slurm."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from tests.parts import missing

CHECKOUT = Path(__file__).resolve().parents[1]
FILTER = CHECKOUT / "deploy/slurm/cli_filter.lua"
INSTALLER = CHECKOUT / "deploy/slurm/install-cli-filter"
OPENED = """
slurm = {{SUCCESS = 0, log_info = function(...) said[#said + 1] = string.format(...) end}}
said = {{}}
local kaiku = (function() {source} end)()
{code}
"""


def installer() -> Any:
    """The program that installs the filter, as a module."""
    loader = importlib.machinery.SourceFileLoader("install_cli_filter", str(INSTALLER))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@cache
def versions() -> dict[str, str]:
    """The versions of Lua on this machine, each with the name of its library; Slurm is built for one of them."""
    program, found = installer(), dict[str, str]()
    for name in program.LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        program.LIBRARIES = [name]
        found.setdefault(program.Lua().run("return _VERSION"), name)
    return found


def ran(code: str, *locals_wanted: str, library: str = "", kaiku: str = "") -> str:
    """What the code returns; `kaiku` is the filter as a module, with these of its local functions too."""
    program = installer()
    program.LIBRARIES = [library] if library else program.LIBRARIES
    try:
        lua = program.Lua()
    except program.Refused:
        missing("Lua (the library)")
    wanted = "".join(f"hints.{name} = {name}; " for name in locals_wanted)
    source = FILTER.read_text().replace("\nreturn hints\n", f"\n{wanted} return hints\n")
    source = source.replace('\nlocal KAIKU = ""\n', f'\nlocal KAIKU = "{kaiku}"\n')
    said: str = lua.run(OPENED.format(source=source, code=code)) or ""
    return said


def literal(text: str | bytes) -> str:
    """A string of Lua, whatever bytes it has."""
    content = text.encode() if isinstance(text, str) else text
    return '"' + "".join(f"\\{byte:03d}" for byte in content) + '"'
