"""Installing the filter for sbatch: loaded first, renamed into place, and nobody else's filter touched."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.filter_installer import INSTALLER, installer
from tests.lua import FILTER, ran

SITE_FILTER = """\
local is_loaded, kaiku = pcall(dofile, "{module}")
function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, offset)
  if is_loaded then pcall(kaiku.pre_submit, options, offset) end
  return 7
end
function slurm_cli_post_submit(offset, jobid, stepid)
  if is_loaded then pcall(kaiku.post_submit, offset) end
  return 8
end
"""


@pytest.fixture(autouse=True)
def lua() -> None:
    """Without Lua nothing is installed, and these are left out."""
    ran("return ''")


def called(folder: Path, *words: str, program: Path = INSTALLER, path: str = "/nowhere") -> tuple[int, str]:
    """Exit status, and what is printed; without a Slurm to ask, if there is none in `path`."""
    command = [sys.executable, str(program), "--to", str(folder), *words]
    done = subprocess.run(
        command, env={"PATH": path}, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_filter_is_installed_for_everybody_to_read_and_removed_again(tmp_path: Path) -> None:
    for kaiku in ("/opt/kaiku/kaiku", ""):
        assert called(tmp_path, "--cluster", "lumi", "--kaiku", kaiku)[0] == 0
        (file,) = tmp_path.iterdir()
        assert (file.name, stat.S_IMODE(file.stat().st_mode)) == ("cli_filter.lua", 0o644)
        text = file.read_text()
        assert '\nlocal CLUSTER = "lumi"\n' in text
        assert f'\nlocal KAIKU = "{kaiku}"\n' in text
    settings = tmp_path / "slurm.conf"
    settings.write_text("ClusterName=lumi\n clifilterplugins = syslog,Lua\n")
    status, said = called(tmp_path, "--remove")
    assert (status, "remove that first" in said, file.exists()) == (1, True, True)
    settings.write_text("ClusterName=lumi\n#CliFilterPlugins=lua\n")
    assert called(tmp_path, "--remove")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["slurm.conf"]


NAMING = {
    "included": {"slurm.conf": "ClusterName=LUMI\ninclude %c.conf\n", "lumi.conf": "CliFilterPlugins=lua\n"},
    "included twice": {"slurm.conf": "Include a/b.conf\n", "a/b.conf": "Include c\n", "a/c": "CliFilterPlugins=lua\n"},
    "in a circle": {"slurm.conf": "Include a\n", "a": "Include slurm.conf\nCliFilterPlugins=lua\n"},
    "on the next line": {"slurm.conf": "CliFilterPlugins=\\ \n  lua\n"},
    "within a name": {"slurm.conf": "CliFilter\\\nPlugins=syslog,lua\r\n"},
    "after a comment": {"slurm.conf": "# ends with \\\nCliFilterPlugins=lua\n"},
    "quoted, with its type": {"slurm.conf": 'CliFilterPlugins = "syslog,cli_filter/lua"\n'},
    "escaped": {"slurm.conf": "CliFilterPlugins=l\\ua\n"},
    "beside bytes that are no text": {"slurm.conf": "# \udcff\nCliFilterPlugins=lua\n"},
}
NOT_NAMING = {
    "a comment": {"slurm.conf": "# CliFilterPlugins=lua\nMailProg=/bin/# CliFilterPlugins=lua\n"},
    "another plugin": {"slurm.conf": "CliFilterPlugins=syslog\nJobSubmitPlugins=lua\nInclude a\n", "a": "\n"},
    "two backslashes": {"slurm.conf": "CliFilterPlugins=none\\\\\nlua\n"},
}


@pytest.mark.parametrize(
    ("files", "is_named"), [(each, cases is NAMING) for cases in (NAMING, NOT_NAMING) for each in cases.values()]
)
def test_it_stays_as_long_as_the_settings_name_it_as_slurm_reads_them(
    tmp_path: Path, files: dict[str, str], is_named: bool
) -> None:
    called(tmp_path, "--cluster", "lumi")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    status, said = called(tmp_path, "--remove")
    assert (status, (tmp_path / "cli_filter.lua").exists()) == (int(is_named), is_named), said


def test_it_stays_where_the_settings_cannot_be_read_or_the_controller_still_has_it(tmp_path: Path) -> None:
    called(tmp_path, "--cluster", "lumi")
    programs = tmp_path / "bin"
    programs.mkdir()
    scontrol = programs / "scontrol"

    def removed(shown: str) -> tuple[int, bool]:
        scontrol.write_text(f"#!/bin/sh\necho '{shown}'\n")
        scontrol.chmod(0o755)
        return called(tmp_path, "--remove", path=f"{programs}")[0], (tmp_path / "cli_filter.lua").exists()

    # No slurm.conf, and no controller.
    status, said = called(tmp_path, "--remove")
    assert (status, "is not known" in said) == (1, True)
    (tmp_path / "slurm.conf").write_text("Include missing.conf\n")
    assert removed("CliFilterPlugins        = (null)") == (1, True)
    (tmp_path / "slurm.conf").write_text("ClusterName=lumi\n")
    assert removed("CliFilterPlugins        = syslog,lua") == (1, True)
    assert removed("CliFilterPlugins        = (null)") == (0, False)


def test_another_filter_is_left_alone_and_combining_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "cli_filter.lua"
    file.write_text("-- ours\n")
    status, said = called(tmp_path, "--cluster", "lumi")
    assert (status, f'pcall(dofile, "{tmp_path}/kaiku_hints.lua")' in said) == (1, True)
    assert called(tmp_path, "--remove")[0] == 1
    assert [path.read_text() for path in tmp_path.iterdir()] == ["-- ours\n"]


@pytest.mark.parametrize("is_last", [False, True])
def test_as_a_module_it_replaces_no_function_of_the_sites_filter(tmp_path: Path, is_last: bool) -> None:
    assert called(tmp_path, "--cluster", "lumi", "--module")[0] == 0
    module = tmp_path / "kaiku_hints.lua"
    site = SITE_FILTER.format(module=module)
    if is_last:
        first, _, rest = site.partition("\n")
        site = f"local is_loaded, kaiku\n{rest}\nis_loaded, kaiku = {first.partition(' = ')[2]}"
    for damage in (b"", b"nonsense(", None):
        if damage is None:
            module.unlink()
        else:
            module.write_bytes(module.read_bytes() + damage)
        calls = "slurm_cli_pre_submit({}, 0) .. slurm_cli_post_submit(0, 1, 0)"
        said = installer().Lua().run(f"slurm = {{SUCCESS = 0}}; {site} return {calls}")
        assert said == "78"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense(", "<eof>"),
        ("error('at once')", "at once"),
        ("return {}", "no function pre_submit"),
        ("return {pre_submit = print, post_submit = print}", "no function slurm_cli_pre_submit"),
    ],
)
def test_a_filter_that_cannot_be_loaded_is_not_installed(tmp_path: Path, text: str, why: str) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "install-cli-filter").write_bytes(INSTALLER.read_bytes())
    head = "\n".join(
        line for line in FILTER.read_text().splitlines() if line.startswith(("-- kaiku", "local CL", "local KA"))
    )
    (made / "cli_filter.lua").write_text(f"{head}\n{text}\n")
    folder = tmp_path / "slurm"
    folder.mkdir()
    status, said = called(folder, "--cluster", "lumi", program=made / "install-cli-filter")
    assert (status, why in said, list(folder.iterdir())) == (1, True, [])


@pytest.mark.parametrize(
    "words",
    [["--cluster", "a b"], [], ["--cluster", "lumi", "--kaiku", "/x'; y"], ["--cluster", "lumi", "--kaiku", "kaiku"]],
)
def test_settings_that_are_not_plain_are_refused(tmp_path: Path, words: list[str]) -> None:
    assert called(tmp_path, *words)[0] == 1
    assert list(tmp_path.iterdir()) == []
