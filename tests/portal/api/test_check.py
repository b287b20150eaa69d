"""A check of a request: what it says, whose runs it reads, what it refuses, and that nothing of it is kept."""

from __future__ import annotations

import json
import logging
import tomllib
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.queue_waits.services import keep_ranges
from jobs.hardware import use_site
from jobs.models import Project, ProjectAllocation, User
from jobs.site_profile import FOLDER, site_of
from jobs.tokens.services import issue_token
from tests.analysis.queue_waits.test_stored import store_runs
from tests.reports.builders import WHOLE_REQUEST

pytestmark = pytest.mark.django_db

QUERIES_MAX = 20
"""Two find the session and the person, six the waits in three partitions."""

OPTIONS = WHOLE_REQUEST | {"--partition": "small-g", "--nodes": "1", "--time": "1-00:00:00"}
CHANGES = [
    {"option": "--gpus-per-node", "requested": "8", "recommended": "2"},
    {"option": "--ntasks-per-node", "requested": "8", "recommended": "2"},
    {"option": "--mem", "requested": "480G", "recommended": "120G"},
    {"option": "--time", "requested": "1-00:00:00", "recommended": "02:30:00"},  # two hours and a fifth: 2.4
]


def body(*components: dict[str, Any], **more: Any) -> dict[str, Any]:
    one = {"job_name": "train_v9", "options": OPTIONS}
    return {"schema": "check-request/1", "components": list(components) or [one]} | more


def ask(client: Client, sent: Any, **headers: str) -> Any:
    text = sent if isinstance(sent, str) else json.dumps(sent)
    return client.post("/api/v1/check", text, content_type="application/json", headers=headers)


def checked(client: Client, *components: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = ask(client, body(*components, **more))
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.fixture
def alice(cast, reported) -> Client:
    """Four runs of `train` of two hours; of eight GPUs two were used."""
    for job_id in range(1, 5):
        ended = timezone.now() - timedelta(days=job_id)
        times = {"started_at": (ended - timedelta(hours=2)).isoformat(), "ended_at": ended.isoformat()}
        reported(job_id, job_name=f"train_v{job_id}", request=OPTIONS, walltime_requested_s=86_400, **times)
    return cast("alice")


def test_own_earlier_runs_suggest_the_request(alice) -> None:
    answer = checked(alice)
    (one,) = answer["components"]
    assert (answer["cluster"], answer["array_tasks"], one["refused"]) == ("lumi", 1, None)
    assert one["shape"] == {
        **{"nodes": 1, "gpus": 8, "ntasks": 8, "cores": 56, "memory_gb": 480.0, "walltime_s": 86_400.0},
        **{"partition": "small-g", "is_exclusive": False},
    }
    # A whole node is 4 GPU-hours an hour: 96 in a day, 8 in two hours; two of its GPUs are 1 an hour.
    assert (one["cost"]["unit"], one["cost"]["at_limit"], one["cost"]["typical"]) == ("GPU-hour", 96.0, 8.0)
    assert answer["cost"] == one["cost"]
    assert one["earlier_runs"]["text"].replace("\u00a0", " ") == "4 runs: 2 of 8 GPUs, 80.2 GB, 2 h 00 min of 1 d 00 h"
    assert one["suggestion"]["changes"] == CHANGES
    assert one["suggestion"]["saves_gpu_hours"] == pytest.approx(6.0)
    assert (one["suggestion"]["cost"]["at_limit"], one["suggestion"]["cost"]["typical"]) == (2.5, 2.0)
    assert one["suggestion"]["reasons"][0].startswith("Only 2\u00a0GPUs showed") or one["suggestion"]["reasons"]
    assert one["no_suggestion"] is None
    assert one["risks"] == []
    places = {each["partition"]: each for each in one["partitions"]}
    assert [name for name, place in places.items() if place["fits"]] == ["standard-g", "small-g"]
    assert "3\u00a0h 00\u00a0min" in places["dev-g"]["why_not"]
    assert (one["cheapest"], one["soonest"], one["shorter_wait"], one["elsewhere"]) == (None, None, None, None)


def test_an_array_costs_and_saves_as_often_as_it_has_tasks(alice) -> None:
    (one,) = checked(alice, array_tasks=10)["components"]
    assert (one["cost"]["at_limit"], one["cost"]["typical"]) == (960.0, 80.0)
    assert one["suggestion"]["saves_gpu_hours"] == pytest.approx(60.0)


def test_a_run_that_the_limit_ends_has_no_typical_cost_beside_it(alice) -> None:
    """Runs take two hours; one is requested, at four GPU-hours an hour."""
    short = {"job_name": "train_v9", "options": OPTIONS | {"--time": "01:00:00"}}
    (one,) = checked(alice, short, elsewhere=True)["components"]
    assert one["cost"]["text"].replace("\u00a0", " ") == (
        "4.00 GPU-hours at its time limit of 1 h 00 min; runs typically take 2 h 00 min, so it ends there unfinished"
    )
    here = next(each for each in one["elsewhere"] if each["platform"] == "small-g")
    assert (here["as_is"]["cost"], here["as_is"]["at"], here["as_is"]["run_time_s"]) == (4.0, "ended", None)
    # Two GPUs for two hours are two GPU-hours, and the suggested limit of two hours and a fifth allows them.
    assert (here["right_sized"]["cost"], here["right_sized"]["at"]) == (2.0, "typical")


@pytest.mark.parametrize(
    ("options", "at_limit", "text", "yours"),
    [
        # A GPU for an hour: half a GPU-hour, or a whole node of standard-g, four.
        (
            {"--partition": "small-g,standard-g", "--gpus": "1", "--time": "01:00:00"},
            0.5,
            "at the limit up to 4.00 in standard-g",
            ["standard-g", "small-g"],
        ),
        # One to four nodes for four hours: 16 to 64 GPU-hours.
        (
            {"--partition": "small-g", "--nodes": "1-4", "--gpus-per-node": "8", "--ntasks": "8", "--time": "04:00:00"},
            16.0,
            "at the limit up to 64.0 on 4 nodes",
            ["small-g"],
        ),
    ],
)
def test_what_slurm_may_start_otherwise_is_part_of_the_cost(alice, options, at_limit, text, yours) -> None:
    (one,) = checked(alice, {"job_name": "other", "options": options})["components"]
    assert one["cost"]["at_limit"] == at_limit
    assert text in one["cost"]["text"].replace("\u00a0", " ")
    assert [each["partition"] for each in one["partitions"] if each["is_requested"]] == yours


def test_where_slurm_may_start_it_otherwise_for_the_same_hours_the_cost_states_it_once(alice) -> None:
    # Both bill whole nodes: an hour of one is four GPU-hours.
    options = {"--partition": "standard-g,dev-g", "--gpus": "1", "--time": "01:00:00"}
    (one,) = checked(alice, {"job_name": "other", "options": options})["components"]
    assert {each["partition"]: each["cost_at_limit"] for each in one["partitions"] if each["is_requested"]} == {
        "standard-g": 4.0,
        "dev-g": 4.0,
    }
    assert "up to" not in one["cost"]["text"]


def test_a_request_that_fits_no_partition_is_refused(alice) -> None:
    """Nine GPUs on one node, where nodes have eight."""
    named, nowhere = {"--partition": "small-g", "--gpus-per-node": "9"}, {"--nodes": "1", "--gpus": "9"}
    (one,) = checked(alice, {"job_name": "train_v9", "options": nowhere})["components"]
    assert one["refused"].startswith("No partition that the site describes")
    (one,) = checked(alice, {"job_name": "train_v9", "options": named})["components"]
    assert one["no_suggestion"] == "Nothing is suggested: the request does not fit the nodes of its partition."


def test_each_component_of_a_heterogeneous_job_stands_for_itself(alice) -> None:
    small = {"--partition": "small-g", "--gpus": "1", "--time": "01:00:00"}
    answer = checked(alice, {"job_name": "train", "options": OPTIONS}, {"job_name": "train", "options": small})
    first, second = answer["components"]
    assert first["suggestion"]["changes"] == CHANGES
    assert second["suggestion"] is None
    assert second["no_suggestion"].startswith("Nothing is suggested: no earlier run of this work had")
    assert answer["cost"]["at_limit"] == 96.5


def test_nobody_elses_runs_are_read(alice, cast) -> None:
    for name in ("carol", "bob", "dave", "erin", "frank", "grace"):
        (one,) = checked(cast(name))["components"]
        assert (one["earlier_runs"], one["suggestion"], one["cost"]["typical"]) == (None, None, None), name
        assert one["no_suggestion"].startswith("Nothing is suggested: no earlier run")


def test_a_name_without_a_meaning_and_a_foreign_account_find_nothing(alice) -> None:
    (one,) = checked(alice, {"job_name": "bash", "options": OPTIONS})["components"]
    assert one["no_suggestion"].startswith("Nothing is known of earlier runs")
    (one,) = checked(alice, {"options": OPTIONS})["components"]
    assert one["earlier_runs"] is None
    Project.objects.create(name="project_465000009")
    for account in ("project_465000009", "project_465000008"):
        (one,) = checked(alice, {"job_name": "train", "options": OPTIONS | {"--account": account}})["components"]
        assert (one["earlier_runs"], one["allocation"]) == (None, None)


def test_what_is_left_of_the_allocation_is_shown_to_members(alice, cast) -> None:
    project = Project.objects.get(name="project_465000001")
    ProjectAllocation.objects.create(
        source="csv", project=project, gpu_hours=1000, used_gpu_hours=520, read_at=timezone.now()
    )
    (one,) = checked(alice)["components"]
    assert (one["allocation"]["left"], one["allocation"]["takes"]) == (480.0, 96.0)
    assert one["allocation"]["takes_percent"] == pytest.approx(20.0)
    named = {"job_name": "train", "options": OPTIONS | {"--account": project.name}}
    assert checked(cast("bob"), named)["components"][0]["allocation"]["left"] == 480.0
    for name in ("dave", "erin", "grace"):
        assert checked(cast(name), named)["components"][0]["allocation"] is None


def test_what_slurm_refuses_is_said(alice) -> None:
    odd = OPTIONS | {"--gpus": "7", "--gpus-per-node": "4"}
    (one,) = checked(alice, {"job_name": "train", "options": odd})["components"]
    assert one["refused"] == "--gpus is not a multiple of the GPUs of each node."
    assert (one["shape"], one["cost"], one["suggestion"], one["partitions"]) == (None, None, None, [])
    (one,) = checked(alice, {"job_name": "train", "options": OPTIONS | {"--nodes": "5"}})["components"]
    assert one["refused"].replace("\u00a0", " ") == "small-g allows at most 4 nodes for a job."


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("", "$"),
        ("[]", "$"),
        ("[" * 5000, "$"),
        ("{" + '"a":{' * 3000, "$"),
        (body(script="#!/bin/bash"), "$"),
        (body({"options": OPTIONS | {"--wrap": "srun secret"}}), "$.components[0].options"),
        (body({"options": {}}, {"options": {"--chdir": "/home/alice"}}), "$.components[1].options"),
        (body({"options": {}, "environment": {"SECRET": "1"}}), "$.components[0]"),
        (body({"options": {"--mem": 4}}), "$.components[0].options.--mem"),
        (body({"options": {"--mem": "x" * 300}}), "$.components[0].options.--mem"),
        (body({"options": {"--mem": "4G\n"}}), "$.components[0].options.--mem"),
        (body({"options": {"--mem": "\u202e4G"}}), "$.components[0].options.--mem"),
        (body({"options": {}, "job_name": "a\u0000b"}), "$.components[0].job_name"),
        (body(cluster="lumi/../x"), "$.cluster"),
        (body(array_tasks=0), "$.array_tasks"),
        (body(*[{"options": {}}] * 17), "$.components"),
        ({"schema": "check-request/2", "components": [{"options": {}}]}, "$.schema"),
        (" " * 70_000, "$"),
        ("9" * 2_000_000, "$"),
    ],
    ids=range(19),
)
def test_anything_else_is_refused_with_its_place_and_without_its_value(alice, sent: Any, path: str) -> None:
    answer = ask(alice, sent)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    (error,) = answer.json()["errors"]
    assert error["path"] == path
    for secret in ("secret", "/home/alice", "wrap", "chdir", "SECRET", "check-request/2"):
        assert secret not in answer.content.decode()


def test_a_read_token_may_ask_and_nothing_is_kept(alice, caplog) -> None:
    user = User.objects.get(username="alice")
    secret = issue_token(user, name="cli", days=30, now=timezone.now())
    with caplog.at_level(logging.DEBUG), CaptureQueriesContext(connection) as captured:
        answer = ask(Client(enforce_csrf_checks=True), body(), Authorization=f"Bearer {secret}")
    assert answer.status_code == 200
    written = [each["sql"] for each in captured if not each["sql"].startswith("SELECT")]
    assert [sql for sql in written if "jobs_token" not in sql] == []
    assert not any("train_v9" in line or "480G" in line for line in caplog.messages)
    other = Client().post("/api/v1/works/", headers={"Authorization": f"Bearer {secret}"})
    assert other.status_code == 403


def test_a_session_needs_its_csrf_token_and_nobody_gets_nothing(alice) -> None:
    alice.handler.enforce_csrf_checks = True
    assert ask(alice, body()).status_code == 403
    assert ask(Client(), body()).status_code == 401


def test_hostile_but_printable_values_do_no_harm(alice) -> None:
    for value in ("--", "=", "../../x", "%00", "9" * 255, "'; DROP TABLE jobs_job; --", "-1", "1-0", "0"):
        for option in ("--nodes", "--gpus", "--mem", "--time", "--partition", "--account", "--exclusive", "--gres"):
            checked(alice, {"job_name": "train", "options": OPTIONS | {option: value}}, elsewhere=True)


PROFILE = {
    "platforms": [
        {
            **{"name": "cloud", "kind": "cloud", "gpu_name": "GPU 80 GB", "gpus_per_node": 8, "gpu_memory_gb": 80},
            **{
                "price_per_gpu_hour": 3.0,
                "unit": "EUR",
                "price_source": "https://cloud.example",
                "price_on": "2026-10-01",
            },
        },
        {"name": "small cloud", "kind": "cloud", "gpu_name": "GPU 8 GB", "gpus_per_node": 8, "gpu_memory_gb": 8},
    ],
    "costs": [{"since": "2026-01-01", "per": "GPU-hour", "amount": 5.0, "currency": "EUR", "source": "made up"}],
}


@pytest.fixture
def clouds() -> Any:
    lumi = tomllib.loads((FOLDER / "lumi.toml").read_text())
    more = json.loads(json.dumps(PROFILE))
    more["platforms"][0]["price_on"] = date(2026, 10, 1)
    more["costs"][0]["since"] = date(2026, 1, 1)
    use_site(site_of(lumi | more))
    yield
    use_site(None)


def test_elsewhere_compares_places_as_it_is_and_right_sized(alice, clouds) -> None:
    (one,) = checked(alice, elsewhere=True)["components"]
    found = {each["platform"]: each for each in one["elsewhere"]}
    # Two hours of eight GPUs at 3 EUR: 48; of two 12. Here a node costs 8 GPU-hours at 5 EUR, two GPUs cost 2.
    assert (found["cloud"]["as_is"]["cost"], found["cloud"]["right_sized"]["cost"]) == (48.0, 12.0)
    assert (found["small-g"]["as_is"]["cost"], found["small-g"]["right_sized"]["cost"]) == (8.0, 2.0)
    assert found["cloud"]["as_is"]["run_time_s"] is None
    assert "which is not known" in found["cloud"]["as_is"]["total_text"]
    assert (found["small cloud"]["fits"], found["small cloud"]["as_is"]) == (False, None)
    assert found["cloud"]["source"] == "https://cloud.example (2026-10-01)"
    # 8 x 5 = 40 EUR here against 48 there, and 10 against 12.
    assert one["elsewhere_text"].endswith("costs least (in EUR), as it is and with the suggested request.")


def test_the_platforms_are_those_of_the_profile(alice, clouds) -> None:
    found = alice.get("/api/v1/platforms/").json()["platforms"]
    assert [(each["name"], each["kind"]) for each in found][:3] == [
        ("standard-g", "partition"),
        ("small-g", "partition"),
        ("dev-g", "partition"),
    ]
    assert {each["name"]: each["price"] and each["price"]["per_gpu_hour"] for each in found} == {
        **{"standard-g": 0.5, "small-g": 0.5, "dev-g": 0.5, "cloud": 3.0, "small cloud": None},
    }


def test_waits_are_estimated_where_the_data_show_them(alice) -> None:
    """Jobs of eight GPUs and a day waited five hours, those of two GPUs and two and a half hours half an hour."""
    now = timezone.now()
    store_runs(now, wait=timedelta(hours=5), gpus_requested=8, walltime_requested_s=86_400.0)
    store_runs(now, wait=timedelta(minutes=30), gpus_requested=2, walltime_requested_s=9_000.0)
    assert keep_ranges(now) == 2
    (one,) = checked(alice, elsewhere=True)["components"]
    places = {each["partition"]: each["wait"] for each in one["partitions"]}
    assert places["small-g"]["typical_s"] == 5 * 3600
    assert "comparable starts" in places["small-g"]["text"].replace("\u00a0", " ")
    # Of the other partition no start is known, so nothing shows which one would start first.
    assert (places["standard-g"], one["soonest"]) == (None, None)
    assert "waited" in one["shorter_wait"]["text"]
    here = next(each for each in one["elsewhere"] if each["platform"] == "small-g")
    assert here["right_sized"]["wait"]["typical_s"] == 30 * 60
    # Half an hour and the two hours that the runs take.
    assert here["right_sized"]["total_text"].replace("\u00a0", " ").endswith("together typically 2 h 30 min")


@pytest.mark.one_database
def test_a_check_costs_a_fixed_number_of_queries(alice, reported) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            checked(alice, elsewhere=True)
        return len(captured)

    # From five runs on the next one is predicted.
    reported(*range(20, 25), job_name="train", request=OPTIONS)
    before = queries()
    reported(*range(25, 40), job_name="train", request=OPTIONS)
    assert queries() <= before
    assert before <= QUERIES_MAX


def test_a_job_named_after_a_program_gets_its_hints(alice) -> None:
    program = checked(alice, {"job_name": "gmx_min", "options": OPTIONS})["components"][0]["program"]
    assert program["text"].startswith("This looks like GROMACS: “gmx” is in the job's name.")
    assert "-nb gpu" in program["hints"][0]
    assert program["lesson_url"] == "/learn/program-gromacs/"
    on_cpus = {name: value for name, value in OPTIONS.items() if not name.startswith("--gpus")}
    for options, name in ((OPTIONS, "train_v9"), (on_cpus, "gmx_min")):
        assert checked(alice, {"job_name": name, "options": options})["components"][0]["program"] is None
