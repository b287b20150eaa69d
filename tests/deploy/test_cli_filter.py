"""The filter for sbatch, without Slurm: which work a name belongs to, and what is shown of a file."""

from __future__ import annotations

import random

import pytest

from jobs.work_key import normalised_name
from tests.lua import literal, ran

NAMES = {
    "train_llama": "train-llama",
    "train_llama_v4": "train-llama",
    "Train-Llama.v12.sh": "train-llama",
    "train-llama-run-3": "train-llama",
    "train-llama.0007": "train-llama",
    "train llama (2)": "train-llama",
    "resnet.sbatch.sh": "resnet",
    "llama_train2": "llama-train",
    "cp2k": "cp2k",
    "cp2k_v3": "cp2k",
    "cp2k-v3": "cp2k",
    "cp2k_3": "cp2k",
    "CP2K-run-12.sh": "cp2k",
    "lammps_melt_v2": "lammps-melt",
    "llama-7b-finetune": "llama-7b-finetune",
    "llama_7b_v2": "llama-7b",
    "cp2k_train2": "cp2k-train",
    # Not decided here: names whose digits may be a date, a size, a hash, or that are not ASCII.
    "resnet50": "",
    "train_2026-11-20": "",
    "train_123456": "",
    "train-nov-4": "",
    "train-seed-3": "",
    "train-v2-v3": "",
    "resnet50-v3": "",
    "20nov-v3": "",
    "10h30m-v3": "",
    "0xdeadbeef-train": "",
    "3f2a9bc-train": "",
    "train-abcdefab1": "",
    "trän": "",
    "run-3": "",
    "42": "",
    "": "",
}
TEXT = """\
kaiku-hints/1 1 1 1
account\tlumi\tproject_1
work\tlumi\tproject_1
name\ttrain-llama
name\ttrain_llama_2026-11-20
line\tkaiku: one
line\tkaiku: two
line\tkaiku: three
line\tkaiku: four
work\tlumi\tproject_1
name\ttwice
line\tkaiku: a
work\tlumi\tproject_1
name\ttwice
line\tkaiku: b
work\tlumi\tproject_2
name\tother
line\t{hostile}
work\tlumi\tproject_1
name\tempty
end
""".format(hostile="\x1b]0;x\x07 %s%n $(id) \u009b31m\u202e" + "x" * 300)
WORKS = {
    ("lumi", "project_1", "train-llama"): "kaiku: one|kaiku: two|kaiku: three",
    ("lumi", "project_1", "train_llama_2026-11-20"): "kaiku: one|kaiku: two|kaiku: three",
    ("lumi", "project_1", "train_llama_v9.sh"): "kaiku: one|kaiku: two|kaiku: three",
    ("lumi", "project_1", "train_llama_2026-11-21"): "",
    ("lumi", "project_1", "train"): "",
    ("lumi", "project_2", "train-llama"): "",
    ("other", "project_1", "train-llama"): "",
    ("lumi", "project_1", "twice"): "",
    ("lumi", "project_1", "empty"): "",
    ("lumi", "project_2", "other"): "?]0;x? %s%n $(id) ?31m?" + "x" * 94,
}


def normalised(names: list[str]) -> list[str]:
    """What the filter makes of each name."""
    listed = ",".join(literal(name) for name in names)
    code = (
        f"local found = {{}} for _, name in ipairs{{{listed}}} do found[#found + 1] = kaiku.normalised(name) or '' end"
    )
    return ran(f"{code} return table.concat(found, '\\n')", "normalised").split("\n")


def test_a_plain_name_belongs_to_the_work_that_the_portal_has_for_it() -> None:
    assert dict(zip(NAMES, normalised(list(NAMES)), strict=True)) == NAMES


def test_no_name_is_taken_for_another_work_than_the_portal_takes_it_for() -> None:
    parts = (
        "train llama run v ver id seed random rng nov jan 4 07 2026 11 20 123456 7b deadbeef abcdefab abcd abcdefabcdef"
        " 0x1f 10h30 12:30 .sh .py .SH _ - . ( ) : x job test tests sys dashboard retry part 10:30:00 randomseed é B"
        " cp2k 7b 70b h2o 2k v2a 20nov 10h30m 3f2a9bc 12ab 1a2b 20261120t103000z 5mar x3d 2d exp2a nov20a 0xb 007a md3"
    ).split()
    chance = random.Random(19)
    names = [
        "".join(chance.choice(parts) + chance.choice(("", "-", "_", " ")) for _ in range(chance.randint(1, 6)))
        for _ in range(20_000)
    ]
    found = normalised(names)
    wrong = [
        (name, ours, normalised_name(name))
        for name, ours in zip(names, found, strict=True)
        if ours and normalised_name(name) not in (ours, "")
    ]
    assert wrong == []
    assert sum(map(bool, found)) > len(names) / 20


@pytest.mark.parametrize(("work", "expected"), WORKS.items())
def test_lines_are_those_of_one_work_and_harmless(work: tuple[str, str, str], expected: str) -> None:
    asked = ", ".join(map(literal, (TEXT, *work)))
    assert ran(f"return table.concat(kaiku.lines_for({asked}) or {{}}, '|')", "lines_for") == expected


def test_a_failing_library_stops_nothing() -> None:
    code = (
        "io, os = nil, nil return tostring(slurm_cli_pre_submit({type = 'sbatch'}, 0) + slurm_cli_post_submit(0, 1, 0))"
    )
    assert ran(code) == "0"
