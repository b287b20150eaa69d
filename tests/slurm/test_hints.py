"""Hints at `sbatch` on a real Slurm: shown for the right job alone, and whatever happens every job is submitted."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.filter_installer import INSTALLER
from tests.processes import patience, wait_until
from tests.slurm.cluster import CLUSTER
from tests.slurm.hint_files import BAD, BODY, DAY_S, LINES, NAME, PROJECT, new_home, put, written
from tests.slurm.submitting import Submitting

pytestmark = pytest.mark.slurm

SHOWN = "".join(f"sbatch: lua: {line}\n" for line in LINES)
OPTIONS = (f"--account={PROJECT}", f"--job-name={NAME}")


@pytest.fixture(scope="module")
def slurm() -> Iterator[Submitting]:
    cluster = Submitting()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def place(slurm: Submitting) -> Path:
    """Where a file of hints belongs; there is a good one."""
    found = new_home(slurm.home)
    put(found, written())
    return found


def test_a_hint_is_shown_for_the_work_that_it_is_about(slurm: Submitting, place: Path) -> None:
    for words in (
        (*OPTIONS, "job.sh"),
        (f"--account={PROJECT.upper()}", "--job-name=train_llama_v7", "job.sh"),
        (f"--account={PROJECT}", f"{NAME}.sh"),
        (*OPTIONS, "--wrap=true"),
        (*OPTIONS, "--array=1-3", "job.sh"),
    ):
        assert slurm.submitted(*words) == SHOWN, words
    assert slurm.submitted("job.sh", SBATCH_ACCOUNT=PROJECT, SBATCH_JOB_NAME=NAME) == SHOWN
    piped = slurm.sbatch("-c", 'exec sbatch "$@" < job.sh', "sh", *OPTIONS, program="sh")
    assert (piped.returncode, piped.stderr) == (0, SHOWN)
    slurm.last_id = 0
    put(place, written(f"account\t{CLUSTER}\t{PROJECT}\n{BODY}"))
    assert slurm.submitted(f"--job-name={NAME}", "job.sh") == SHOWN


def test_it_is_silent_where_nobody_asked(slurm: Submitting, place: Path) -> None:
    for words in (
        (*OPTIONS, "--parsable", "job.sh"),
        (*OPTIONS, "--quiet", "job.sh"),
        (f"--account={PROJECT}", "job.sh"),
        (f"--account={PROJECT}", "--job-name=another", "job.sh"),
        (f"--job-name={NAME}", "job.sh"),
        (f"--account={PROJECT}", "--wrap=true"),
    ):
        assert slurm.submitted(*words) == "", words
    for environ in ({"KAIKU_HINTS": "off"}, {"SLURM_JOB_ID": "1"}, {"HOME": "relative"}, {"XDG_CACHE_HOME": "/"}):
        assert slurm.submitted(*OPTIONS, "job.sh", **environ) == "", environ
    assert slurm.submitted(f"--account={PROJECT}", "het.sh") == ""
    slurm.last_id = 0
    put(place, written(BODY.replace(NAME, "other")))
    assert slurm.submitted(f"--account={PROJECT}", "het.sh") == SHOWN
    for program, words in (
        ("sbatch", ("--test-only", "job.sh")),
        ("srun", ("--immediate=1", "true")),
        ("salloc", ("--immediate=1", "true")),
    ):
        assert "kaiku" not in slurm.sbatch(*OPTIONS, *words, program=program).stderr


def test_who_requests_as_few_gpus_as_suggested_is_not_shown_the_suggestion(slurm: Submitting, place: Path) -> None:
    """As Slurm itself hands the options to the filter."""
    slurm.last_id = 0
    put(place, written(BODY.replace("line", "gpus\t4\nline", 1)))
    tasks = ("--nodes=1", "--ntasks-per-node=4")
    for words in (
        ("--gpus=4",),
        ("--gpus=2",),
        ("--gpus-per-node=4",),
        ("--gres=gpu:4",),
        ("--gres=gpu:2",),
        ("--nodes=2", "--gpus-per-node=2"),
        ("--gres=gpu:4", *tasks, "--mem=240G"),
        ("--gpus-per-task=1", "--ntasks=4"),
        ("--gpus-per-task=1", *tasks),
    ):
        assert slurm.submitted(*OPTIONS, "--hold", *words, "job.sh") == "", words
    for words in (("--gpus=8",), ("--gres=gpu:8",), ("--nodes=2", "--gpus-per-node=4"), ("--nodes=1",)):
        assert slurm.submitted(*OPTIONS, "--hold", *words, "job.sh") == SHOWN, words


def test_no_file_changes_a_submission(slurm: Submitting) -> None:
    slurm.last_id = 0
    for name, made in BAD.items():
        made(new_home(slurm.home))
        assert slurm.submitted(*OPTIONS, "job.sh") == "", name


def test_names_and_texts_are_never_run_nor_obeyed(slurm: Submitting, place: Path) -> None:
    slurm.last_id = 0
    hostile = ("$(touch ran)", "`touch ran`", "'; touch ran; '", "%s%n%d", "a\tb", "\x1b[2J", "-" * 900, "(((((", "%")
    for name in hostile:
        assert slurm.submitted(f"--account={PROJECT}", f"--job-name={name}", "job.sh") == "", name
        slurm.submitted(f"--account={name}", f"--job-name={NAME}", "job.sh")
    put(place, written(BODY.replace(LINES[0], "\x1b]0;x\x07%s $(touch ran)\x9b2J")))
    assert slurm.submitted(*OPTIONS, "job.sh").startswith("sbatch: lua: ?]0;x?%s $(touch ran)?2J\n")
    for folder in ("it's $(touch ran)", "a\nb", "x" * 250):
        home = slurm.home / folder
        put(new_home(home), written())
        assert slurm.submitted(*OPTIONS, "job.sh", HOME=str(home)) == ("" if "\n" in folder else SHOWN), folder
    assert list(slurm.top.rglob("ran")) == []


def test_a_home_directory_that_hangs_is_not_waited_for(slurm: Submitting, place: Path) -> None:
    stuck = slurm.top / "stuck"
    stuck.write_text("#!/bin/sh\ntrap '' TERM HUP INT\nexec /bin/sleep 60\n")
    stuck.chmod(0o755)
    slurm.install(is_patient=False)
    slurm.filter.write_text(slurm.filter.read_text().replace("/usr/bin/find", str(stuck)))
    try:
        slurm.last_id = 0
        before = time.monotonic()
        assert slurm.submitted(*OPTIONS, "job.sh") == ""
        assert time.monotonic() - before < patience(20)
    finally:
        slurm.install()


def test_an_old_file_is_refreshed_in_the_background(slurm: Submitting, place: Path) -> None:
    slurm.last_id = 0
    started = slurm.top / "started"
    started.mkdir(mode=0o777)
    started.chmod(0o777)
    slurm.kaiku.write_text(f'#!/bin/sh\nls -l /proc/$$/fd > {started}/part\necho "$@" >> {started}/part\n'
                           f"mv {started}/part {started}/done\nexec sleep 60\n")  # fmt: skip
    slurm.kaiku.chmod(0o755)
    for due_in_s in (60, -8 * DAY_S):
        put(place, written(due_in_s=due_in_s))
        assert slurm.submitted(*OPTIONS, "job.sh") == SHOWN
    # Where the file cannot be written, a refresh would fail at every submission.
    put(place, written(due_in_s=-60))
    place.parent.chmod(0o500)
    assert slurm.submitted(*OPTIONS, "job.sh") == SHOWN
    time.sleep(0.5)
    assert not list(started.iterdir())
    place.parent.chmod(0o700)
    # A lock that the caller holds is not handed on, also by what starts kaiku, and what it prints is not waited for.
    code = """exec 7>"$0" 200>"$0" 1000>"$0"; flock -n 200; echo "sleep 60" > ~/rc; export BASH_ENV=~/rc
              sbatch "$@"; exec 7>&- 200>&- 1000>&-; flock -n "$0" echo free"""
    done = slurm.sbatch("-c", code, str(started / "lock"), *OPTIONS, "job.sh", program="bash")
    assert (done.stderr, done.stdout.splitlines()[1:]) == (SHOWN, ["free"])
    wait_until("its end", (started / "done").exists)
    said = (started / "done").read_text()
    assert said.endswith("hints --if-due\n")
    assert "/lock" not in said
    assert "pipe:" not in said


@pytest.mark.parametrize(
    "settings",
    [
        "Include plugins.conf",
        "Include folder/a.conf",
        "CliFilterPlugins=\\ \n  lua",
        "CliFilter\\\nPlugins=lua",
        'CliFilterPlugins="cli_filter/lua"',
        "# CliFilterPlugins=lua\\",
        "MailProg=/bin/#CliFilterPlugins=lua",
    ],
)
def test_it_can_be_removed_where_sbatch_does_not_need_it(slurm: Submitting, settings: str) -> None:
    """As sbatch itself reads these settings, whatever its controller has read."""
    place = slurm.top / "other"
    shutil.rmtree(place, ignore_errors=True)
    (place / "folder").mkdir(parents=True)
    old = [line for line in (slurm.top / "slurm.conf").read_text().splitlines() if not line.startswith("CliFilter")]
    (place / "slurm.conf").write_text("\n".join([*old, settings, ""]))
    for name, text in (("plugins.conf", "CliFilterPlugins=lua\n"), ("folder/a.conf", "Include b.conf\n")):
        (place / name).write_text(text)
    (place / "folder/b.conf").write_text("CliFilterPlugins=lua\n")
    said = slurm.sbatch("--test-only", "job.sh", SLURM_CONF=str(place / "slurm.conf")).stderr
    filter_ = place / "cli_filter.lua"
    filter_.write_bytes(slurm.filter.read_bytes())
    words = [sys.executable, INSTALLER, "--to", place, "--remove"]
    subprocess.run(words, env={"PATH": "/nowhere"}, capture_output=True, check=False)
    assert filter_.exists() == ("cli_filter" in said)
