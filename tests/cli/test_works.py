"""`kaiku insights`, `compare` and `scale`: what they request, and what they show of the answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from cli.terminal import width
from tests.cli.portals import Person, sample, serving

INSIGHTS, WORKS = "/api/v1/insights/", "/api/v1/works/"
KEY = "bbc002c3604002d0211a5d73582c69d9"
JOBS = {
    f"/api/v1/jobs/lumi/{number}/": sample(f"job_{name}.json")
    for number, name in ((17300020, "inefficient"), (17500053, "wasted"), (17300209, "never_started"))
}
WORK = {WORKS: sample("works.json"), f"{WORKS}{KEY}/": sample("work_scaling.json")}

INSIGHTS_OF_80 = """\
29 runs in the last 90 days, without short runs and those that the system ended.
Other requests would have used 85.7 GPU-hours less.
Later runs have already changed another 208.9 GPU-hours.

Biggest savings, last 90 days
1. train_unet: Request only the GPUs you use: 85.7 GPU-hours in 2 runs.
     --partition=standard-g → --partition=small-g
     --gpus-per-node=8 → --gpus-per-node=1
     --cpus-per-task=56 → --cpus-per-task=7
     --mem=480G → --mem=60G
   PORTAL/work/b57aeda16940f524693ef028281e5aef/

What repeats, last 90 days, most unused GPU-hours first
- 4 of 29 runs: Whole node billed, few GPUs used.
- 8 of 29 runs: Some GPUs stayed idle.
- 2 of 29 runs: More GPUs than needed.
- 2 of 29 runs: The GPUs waited for the CPU.
- 8 of 29 runs: Only some of the GPUs were used.

Saved by advice
3 of 11 suggestions followed; what that saved is not known.
"""
SCALE_OF_80 = """\
cp2k_water_v16, 16 runs

GPUS  RUNS    RUN TIME  SPEEDUP  EFFICIENCY  GPU USE  GPU-HOURS
   1     1  8 h 26 min     1.00     100.0 %   81.2 %       4.22
   2     5  4 h 11 min     2.02     100.8 %   79.3 %       4.18
   4     4  2 h 41 min     3.13      78.3 %   55.7 %       5.38  ← knee
   8     3  2 h 11 min     3.86      48.3 %   20.5 %       8.73

Up to 4 GPUs keep at least 70 % of the speed per GPU of 1 GPU. Some numbers of
GPUs have one run only: another run may change this.

Best known request
  --partition=small-g --nodes=1 --gpus-per-node=2 --ntasks-per-node=2
  --cpus-per-task=7 --mem-per-gpu=60G --time=06:00:00
Job 17400015: 4.18 GPU-hours per run (median of 5 completed runs), the fewest of
4 allocations.

PORTAL/work/bbc002c3604002d0211a5d73582c69d9/
"""
COMPARED = """\
                  17300020                17500053
Name              gromacs_md              diffusion_sweep
State             completed               completed
Ended             09-01 01:47             11-23 00:06
Class             Inefficient             Wasted
GPU use           20.6 %                  11.6 %
GPUs over 30 %    2 of 8                  1 of 8
"""


def test_insights_are_what_saves_most_what_repeats_and_what_was_saved(tmp_path: Path) -> None:
    with serving({INSIGHTS: sample("insights.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        assert alice.shown("insights") == INSIGHTS_OF_80
        alice.shown("insights", "--days", "365", "--work", "train llama", "--json")
        assert portal.requested == [f"{INSIGHTS}?days=90", f"{INSIGHTS}?days=365&work=train%20llama"]
        assert alice.bytes_of("insights", "--days", "8")[0] == 2


def test_works_without_gpu_use_come_before_the_savings(tmp_path: Path) -> None:
    link = {"key": KEY, "name": "cp2k", "url": f"/work/{KEY}/"}
    text = "None of the 2 runs used a GPU: 16.0 GPU-hours billed."
    block = ["--partition=small", "--nodes=1", "--time=02:30:00"]
    unused = {"work": link, "runs": 2, "of": 2, "gpu_hours": 16.0, "text": text, "diff": [], "request": block}
    said = sample("insights.json") | {"without_gpu_use": [unused]}
    said["would_save"][0]["reason"] = "From job 7 on 8 GPUs."
    with serving({INSIGHTS: said}) as portal:
        lines = Person(tmp_path, portal.url).shown("insights").splitlines()
    at = lines.index("No GPU used, last 90 days")
    assert lines[at + 1 : at + 5] == [
        "- cp2k: None of the 2 runs used a GPU: 16.0 GPU-hours billed.",
        "     --partition=small --nodes=1 --time=02:30:00",
        f"  PORTAL/work/{KEY}/",
        "",
    ]
    assert at < lines.index("Biggest savings, last 90 days") < lines.index("   From job 7 on 8 GPUs.")


def test_a_work_shows_its_request_beside_what_is_open(tmp_path: Path) -> None:
    advice = {
        **{"title": "Request only the GPUs you use", "diff": ["--gpus=8 -> --gpus=2"], "request": []},
        **{"saves_gpu_hours": 31.9, "from_runs": 1, "run_url": ""},
    }
    work = sample("work_scaling.json") | {"advice": advice, "without_gpu_use": {"text": "2 of 6 runs used no GPU."}}
    work["best_request"]["is_new"] = True
    with serving(WORK | {f"{WORKS}{KEY}/": work}) as portal:
        lines = Person(tmp_path, portal.url).shown("scale", KEY).splitlines()
    assert lines[2] == "2 of 6 runs used no GPU."
    assert lines[lines.index("Suggested request") + 1].startswith("  --partition=small-g --nodes=1 --gpus-per-node=2")
    said = " ".join(lines).replace("\u00a0", " ")
    assert "Request only the GPUs you use: the reports state about 31.9 GPU-hours less in 1 run." in said
    assert "  --gpus=8 → --gpus=2" in lines


WORK_ROWS = """\
WORK            JOBS  LAST         GPU-HOURS  UNUSED              GPU USE
cp2k_water_v16    16  11-21 00:06       79.4    36.2  █████░░░░░   54.4 %
cp2k               2  10-02 17:04       32.5    5.69  ████████░░   82.5 %

2 works, 18 jobs; 41.9 of 111.9 GPU-hours unused. More about one: kaiku scale
WORK
"""
WORK_CSV = (
    "key,name,cluster,project,jobs,last_ended_at,gpu_hours,used_gpu_hours,unused_gpu_hours,use_percent,"
    "efficient,acceptable,inefficient,wasted,unknown,finding,finding_jobs"
)


@pytest.mark.usefixtures("in_utc", "in_2026")
def test_a_row_for_each_work(tmp_path: Path) -> None:
    with serving(WORK) as portal:
        alice = Person(tmp_path, portal.url)
        # 79.43 + 32.48 are 111.9 GPU-hours, 36.24 + 5.69 of them 41.9.
        assert alice.shown("history", "--by-work").replace("\u00a0", " ") == WORK_ROWS
        rows = alice.shown("history", "--by-work", "--csv", "--days=30", "--work", "cp2k").splitlines()
        assert rows[0] == WORK_CSV
        assert rows[1].startswith(
            f"{KEY},cp2k_water_v16,lumi,project_465000001,16,2026-11-21T00:06:14Z,79.433333,43.19"
        )
        assert rows[1].endswith(",7,6,3,0,0,low_use_unexplained,5")
        assert rows[2].endswith(",2,0,0,0,0,,")
        (one,) = json.loads(alice.shown("history", "--by-work", "--json", "--limit=1", "--worst"))["works"]
        assert one["name"] == "cp2k_water_v16"
        (same,) = json.loads(alice.shown("history", "--by-work", "--json", "--work", KEY))["works"]
        assert same["key"] == KEY
        assert portal.requested == [
            f"{WORKS}?days=90&limit=200",
            f"{WORKS}?days=30&limit=200&q=cp2k",
            f"{WORKS}?days=90&limit=200",
            f"{WORKS}?days=90&limit=200",
        ]
        assert alice.bytes_of("history", "--by-work", "--class", "wasted")[0] == 2
        portal.answers[WORKS] = {"works": []}
        assert alice.shown("history", "--by-work") == "No works match these filters\n"
        for columns in (40, 60, 200):
            assert all(
                width(line) <= columns for line in alice.shown("history", "--by-work", columns=columns).splitlines()
            )


def test_without_a_job_there_is_a_sentence(tmp_path: Path) -> None:
    empty = {"period": {"days": 90}, "would_save": [], "repeats": [], "brought": None, "sentences": []}
    with serving({INSIGHTS: empty}) as portal:
        assert Person(tmp_path, portal.url).shown("insights") == "No jobs counted in the last 90 days\n"


@pytest.mark.parametrize("written", [KEY, "cp2k_water_v16", "CP2K_Water_v16"])
def test_how_a_work_scales_by_key_or_name(tmp_path: Path, written: str) -> None:
    with serving(WORK) as portal:
        assert Person(tmp_path, portal.url).shown("scale", written) == SCALE_OF_80
        assert portal.requested[-1] == f"{WORKS}{KEY}/"
        assert len(portal.requested) == (1 if written == KEY else 2)


def test_a_work_that_is_none_or_several(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(WORK) as portal:
        alice = Person(tmp_path, portal.url)
        # `cp2k` is the whole name of one of the two, `cp2` is the beginning of both.
        assert alice.bytes_of("scale", "cp2")[0] == 1
        assert f"2 works match 'cp2': cp2k_water_v16 (lumi, {KEY}), cp2k (lumi, " in capfd.readouterr().err
        portal.answers[WORKS] = {"works": []}
        assert alice.bytes_of("scale", "x" * 1000)[0] == 1
        assert alice.bytes_of("scale", "0" * 32)[0] == 1
        assert alice.bytes_of("scale")[0] == 2


@pytest.mark.usefixtures("in_utc", "in_2026")
def test_jobs_side_by_side(tmp_path: Path) -> None:
    with serving(JOBS) as portal:
        alice = Person(tmp_path, portal.url)
        shown = alice.shown("compare", "lumi/17300020", "lumi/17500053")
        assert [line.split() for line in shown.splitlines()[:7]] == [line.split() for line in COMPARED.splitlines()]
        options = [line.split() for line in shown.splitlines() if line.startswith("--")]
        assert ["--partition", "small-g", "standard-g"] in options
        assert ["--mem-per-gpu", "60G", "–"] in options
        three = alice.shown("compare", "lumi/17300020", "lumi/17500053", "lumi/17300209")
        assert three.splitlines()[4].split() == ["Class", "Inefficient", "Wasted", "Not", "analysed"]
        documents = json.loads(alice.bytes_of("compare", "lumi/17300020", "lumi/17500053", "--json")[1])
        assert [each["job"]["job_id"] for each in documents] == [17300020, 17500053]
        painted = alice.bytes_of("compare", "lumi/17300020", "lumi/17500053", is_tty=True, LINES="99")[1].decode()
        same, other = (
            next(line for line in painted.splitlines() if line.startswith(name)) for name in ("State", "Class")
        )
        assert ("\x1b" in same, "\x1b" in other) == (False, True)


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("is_of_two_clusters", [False, True])
def test_jobs_side_by_side_keep_their_names_and_classes(tmp_path: Path, columns: int, is_of_two_clusters: bool) -> None:
    answers: dict[str, object] = {}
    for number in range(17300021, 17300025):
        answers[f"/api/v1/jobs/lumi/{number}/"] = said = sample("job_inefficient.json")
        said["job"] |= {"job_id": number, "job_name": "n" * 1_000_000}
        said["job"]["request"] |= {"--ntasks-per-node": "8", "--ntasks-per-gpu": "1"}
    said["job"]["cluster"] = "puhti" if is_of_two_clusters else "lumi"
    with serving(answers) as portal:
        words = [f"lumi/{number}" for number in range(17300021, 17300025)]
        lines = Person(tmp_path, portal.url).shown("compare", *words, columns=columns).splitlines()
    cluster, other = ("lumi/", "puhti/") if is_of_two_clusters else ("", "")
    heads = [head for line in lines if line.startswith("  ") for head in line.split()]
    assert heads == [f"{cluster}{number}" for number in range(17300021, 17300024)] + [f"{other}17300024"]
    assert sum(line.split().count("Inefficient") for line in lines if line.startswith("Class")) == 4
    assert all(width(line) <= columns for line in lines)
    # No two options look the same, however short: each is there once in each group of jobs.
    groups = sum(line.startswith("Class") for line in lines)
    assert set(Counter(line.split()[0] for line in lines if line.startswith("--")).values()) == {groups}


@pytest.mark.parametrize(
    "words", [(), ("lumi/1",), ("lumi/1", "lumi/1"), ("lumi/1", "lumi/01"), ("1", "2", "3", "4", "5"), ("lumi/1", "x")]
)
def test_fewer_than_two_jobs_or_more_than_four_are_wrong_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    with serving({"/api/v1/jobs/lumi/1/": sample("job_short.json")}) as portal:
        assert Person(tmp_path, portal.url).bytes_of("compare", *words)[0] == 2


def test_five_jobs_are_said_to_be_too_many(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving({}) as portal:
        Person(tmp_path, portal.url).bytes_of("compare", "1", "2", "3", "4", "5")
    assert capfd.readouterr().err == "kaiku: 5 jobs: kaiku compare shows two to four different ones side by side\n"


def evil(said: object) -> object:
    """The same answer with every text as bad as it can be, apart from addresses and keys."""
    if isinstance(said, dict):
        kept = ("url", "key", "run_url", "started_at", "ended_at")
        return {name: value if name in kept else evil(value) for name, value in said.items()}
    if isinstance(said, list):
        return [evil(each) for each in said] * 3
    return "\x1b]0;owned\x07\u202e\n" + "漢字 " * 40 if isinstance(said, str) else said


@pytest.mark.parametrize("columns", [40, 61, 120])
@pytest.mark.parametrize(
    ("words", "path", "name"),
    [
        (("insights",), INSIGHTS, "insights.json"),
        (("scale", KEY), f"{WORKS}{KEY}/", "work_scaling.json"),
        (("compare", "lumi/1", "lumi/2"), "/api/v1/jobs/lumi/1/", "job_wasted.json"),
        (("compare", "lumi/1", "lumi/2", "lumi/3", "lumi/4"), "/api/v1/jobs/lumi/1/", "job_wasted.json"),
    ],
)
def test_hostile_answers_stay_within_the_terminal(
    tmp_path: Path, columns: int, words: tuple[str, ...], path: str, name: str
) -> None:
    bad = evil(sample(name))
    others = {f"/api/v1/jobs/lumi/{number}/": bad for number in (2, 3, 4)}
    with serving({path: bad, **others}) as portal:
        shown = Person(tmp_path, portal.url).shown(*words, columns=columns)
        assert not {"\x1b", "\x07", "\u202e", "\r"} & set(shown)
        assert all(width(line) <= columns for line in shown.splitlines() if "PORTAL" not in line)


def test_a_work_that_is_mistyped_is_not_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    empty = {"period": {"days": 90}, "would_save": [], "repeats": [], "brought": None, "sentences": ["No runs."]}
    known = {"/api/v1/jobs/?own=1&days=366&limit=1&work=old": sample("jobs.json")}
    with serving({INSIGHTS: empty, "/api/v1/jobs/": {"count": 0, "results": []}, **known}) as portal:
        alice = Person(tmp_path, portal.url)
        # Runs of the last year, but none in these 90 days.
        assert alice.shown("insights", "--work", "old") == "No runs.\n"
        for more in ((), ("--json",)):
            assert alice.bytes_of("insights", "--work", "x", *more) == (1, b"")
            assert (
                capfd.readouterr().err
                == "kaiku: no work of yours is called 'x': `kaiku history --by-work` names yours\n"
            )


@pytest.mark.parametrize(
    ("words", "path", "said", "why"),
    [
        (("insights",), INSIGHTS, {"period": {}, "sentences": []}, "insights (period days is missing)"),
        (("insights",), INSIGHTS, {"period": {"days": 90}, "sentences": [1]}, "insights (sentences 1 is not text)"),
        (("scale", KEY), f"{WORKS}{KEY}/", {"key": KEY}, "a work (name is missing)"),
        (("scale", "train"), WORKS, {"works": {}}, "a list of works (works is not a list)"),
        (("history", "--by-work"), WORKS, {"works": [{"key": ""}]}, "a list of works (works 1 key is empty)"),
    ],
)
def test_an_answer_of_another_shape_is_no_answer(
    tmp_path: Path, words: tuple[str, ...], path: str, said: object, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving({path: said}) as portal:
        alice = Person(tmp_path, portal.url)
        for more in ((), ("--json",)):
            assert alice.bytes_of(*words, *more) == (4, b"")
            assert capfd.readouterr().err == f"kaiku: the portal's answer is not {why}: check KAIKU_URL\n"
