"""The filter for sbatch in the Lua that Slurm loads, without Slurm."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from tests.filter_installer import installer
from tests.parts import need
from tests.processes import by_load

CHECKOUT = Path(__file__).resolve().parents[1]
FILTER = CHECKOUT / "deploy/slurm/cli_filter.lua"
OPENED = """
slurm = {{SUCCESS = 0, log_info = function(...) said[#said + 1] = string.format(...) end}}
said = {{}}
local kaiku = (function() {source} end)()
{code}
"""


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


def patient(source: str) -> str:
    """The filter, reading its file for as long as a busy machine needs, not for a fifth of a second."""
    bound = '\nlocal READ_S_MAX = "0.2" '
    assert source.count(bound) == 1
    return source.replace(bound, f'\nlocal READ_S_MAX = "{by_load(10):.0f}" ')


def ran(code: str, *locals_wanted: str, library: str = "", kaiku: str = "") -> str:
    """What the code returns; `kaiku` is the filter as a module, with these of its local functions too."""
    need("Lua")
    program = installer()
    program.LIBRARIES = [library] if library else program.LIBRARIES
    lua = program.Lua()
    wanted = "".join(f"hints.{name} = {name}; " for name in locals_wanted)
    source = FILTER.read_text().replace("\nreturn hints\n", f"\n{wanted} return hints\n")
    source = patient(source).replace('\nlocal KAIKU = ""\n', f'\nlocal KAIKU = "{kaiku}"\n')
    said: str = lua.run(OPENED.format(source=source, code=code)) or ""
    return said


def literal(text: str | bytes) -> str:
    """A string of Lua, whatever bytes it has."""
    content = text.encode() if isinstance(text, str) else text
    return '"' + "".join(f"\\{byte:03d}" for byte in content) + '"'
