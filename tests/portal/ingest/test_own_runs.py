"""Own runs: what a token that sends brings is kept as its owner's, of their runs only, until the site tells of them."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Job, Membership, Project, User
from jobs.runs import services as run_services
from jobs.services import record_job
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from portal.ingest.senders import OWN_SUMMARIES_MAX
from tests.metrics.stored import stored_gpus
from tests.payloads import gpu, job_record, node_payload, record
from tests.portal.own_runs import (
    NOTHING,
    PROJECT,
    RECORDS,
    SUMMARIES,
    alone,
    errors,
    own_summary,
    post,
    sending_token,
    told,
)
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

NEW = {"accepted": 1, "duplicate": 0, "rejected": []}
KNOWN = {"accepted": 0, "duplicate": 1, "rejected": []}
NOT_YOURS = [("job_id", "this job belongs to another user")]


@pytest.fixture(autouse=True)
def allowed(settings, cast) -> None:
    """The cast, on a portal that takes own runs."""
    settings.OWN_RUNS = True


@pytest.fixture
def alice() -> str:
    return sending_token("alice")


def nothing_is_stored() -> bool:
    return not NodeSummary.objects.exists() and not Job.objects.exists()


def sent_by(node: str = "nid005123") -> str:
    return NodeSummary.objects.get(node=node).sent_by


def site_brings(*documents: Any, path: str = SUMMARIES) -> Any:
    return post(create_collector_token(f"nodes {timezone.now()}", "lumi"), list(documents), path)


def test_a_run_that_nobody_told_of_is_made_of_what_its_owner_tells(alice: str) -> None:
    answer = post(alice, own_summary())
    assert (answer.status_code, answer.json()) == (201, NEW)
    run = Job.objects.get()
    assert (run.user.username, run.project.name, run.is_told_by_owner) == ("alice", PROJECT, True)
    assert (run.cluster, run.job_id, run.attempt) == ("lumi", 123456, 0)
    assert (run.job_name, run.partition, run.state, run.exit_code) == ("train", "small-g", "COMPLETED", "0:0")
    assert (run.nodes, run.node_count) == (["nid005123", "nid005124"], 2)
    assert (run.gpus_allocated, run.ntasks, run.cpus_allocated, run.walltime_requested_s) == (16, 16, 112, 14400.0)
    assert (run.started_at, run.ended_at) == (
        datetime(2026, 11, 20, 10, tzinfo=UTC),
        datetime(2026, 11, 20, 12, tzinfo=UTC),
    )
    assert run.walltime_used_s == 7200.0
    assert len(run.work_key) == 32
    assert sent_by() == "alice"


def test_the_same_again_is_known_and_gzip_is_unpacked(alice: str) -> None:
    body = gzip.compress(json.dumps(own_summary()).encode())
    assert post(alice, body, headers={"Content-Encoding": "gzip", "Authorization": f"Bearer {alice}"}).json() == NEW
    before = Job.objects.values().get()
    assert (post(alice, own_summary()).status_code, post(alice, own_summary()).json()) == (200, KNOWN)
    assert Job.objects.values().get() == before


def test_further_nodes_extend_the_run_in_any_order(alice: str) -> None:
    late = {"started_at": "2026-11-20T10:00:05Z", "ended_at": "2026-11-20T12:00:30Z"}
    few = {"nodes": None, "node_count": None, "gpus_allocated": None}
    first = own_summary(told(**few, ntasks=None), node="nid005124", **late)
    second = own_summary(told(**few, state="FAILED", exit_code="1:0"))
    for one, other in ((first, second), (second, first)):
        Job.objects.all().delete()
        NodeSummary.objects.all().delete()
        assert [post(alice, document).json() for document in (one, other)] == [NEW, NEW]
        run = Job.objects.get()
        assert set(run.nodes) == {"nid005123", "nid005124"}
        assert (run.state, run.exit_code, run.ntasks) == ("FAILED", "1:0", 16)
        assert run.ended_at == datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
        assert run.walltime_used_s == 7230.0
        assert run.revision == 2


def test_every_member_of_what_the_owner_tells_may_be_unknown(alice: str) -> None:
    """A machine of one's own, outside Slurm and any project."""
    assert post(alice, own_summary(dict.fromkeys(told()), node="desk.example.org")).status_code == 201
    run = Job.objects.get()
    assert (run.project.name, run.state, run.nodes, run.node_count) == ("own-alice", "COMPLETED", ["desk"], None)
    assert (run.gpus_allocated, run.partition, run.job_name) == (None, "", "")
    assert list(run.project.memberships.values_list("user__username", "role")) == [("alice", "member")]
    assert post(alice, own_summary({"exit_code": "137:0"}, job_id=2)).status_code == 201
    assert Job.objects.get(job_id=2).state == "FAILED"
    assert Project.objects.filter(name__startswith="own-").count() == 1


def test_a_run_has_the_node_that_sends_and_those_that_are_told_of(alice: str) -> None:
    assert post(alice, own_summary(alone(), node="nid005124")).status_code == 201
    assert (Job.objects.get().nodes, Job.objects.get().node_count) == (["nid005123", "nid005124"], 2)


def test_a_node_that_still_runs_says_so(alice: str) -> None:
    assert post(alice, own_summary(told(state="RUNNING"), final=False)).status_code == 201
    run = Job.objects.get()
    assert (run.state, run.ended_at, run.walltime_used_s) == ("RUNNING", None, None)
    assert post(alice, own_summary(told(state="RUNNING"), sequence=1)).status_code == 201
    assert Job.objects.get().state == "COMPLETED"


def test_a_batch_is_a_few_summaries(alice: str) -> None:
    nodes = [f"nid{number:06d}" for number in range(OWN_SUMMARIES_MAX + 1)]
    everywhere = told(nodes=nodes, node_count=len(nodes))
    batch = [own_summary(everywhere, node=node, gpus=[gpu(0)]) for node in nodes]
    answer = post(alice, batch)
    assert (answer.status_code, answer["Content-Type"]) == (413, "application/problem+json")
    assert not NodeSummary.objects.exists()
    assert post(alice, batch[:-1]).json()["accepted"] == OWN_SUMMARIES_MAX
    assert post(alice, b" " * (9 * 2**20)).status_code == 413


def test_the_good_summaries_of_a_batch_are_kept_and_the_others_named(alice: str) -> None:
    record_job(job_record(job_id=7, user_id="bob"))
    answer = post(alice, [own_summary(), own_summary(job_id=7), own_summary(NOTHING, job_id=8)])
    assert (answer.status_code, answer.json()["accepted"]) == (201, 1)
    paths = [[error["path"] for error in rejected["errors"]] for rejected in answer.json()["rejected"]]
    assert paths == [["job_id"], ["own_run"]]


def test_nobody_sends_in_the_name_of_another(alice: str) -> None:
    answer = post(alice, own_summary(told(user_id="bob")))
    assert answer.status_code == 422
    assert errors(answer) == [("own_run.user_id", "differs from the account of this token")]
    assert nothing_is_stored()
    assert post(alice, own_summary(told(user_id=None))).status_code == 201


def test_without_the_owners_word_an_unknown_run_is_refused_and_a_known_one_taken(alice: str) -> None:
    answer = post(alice, own_summary(NOTHING))
    assert errors(answer) == [("own_run", "required for a run that is not stored yet")]
    assert not NodeSummary.objects.exists()
    record_job(job_record())
    assert post(alice, own_summary(NOTHING)).status_code == 201
    post(alice, own_summary(alone(), job_id=2))
    assert post(alice, own_summary(NOTHING, job_id=2, node="nid005124")).status_code == 201
    assert Job.objects.get(job_id=2).nodes == ["nid005123", "nid005124"]


@pytest.mark.parametrize("theirs", [{}, {"attempt": 1}, {"user_id": "dave", "project_id": "project_465000009"}])
def test_a_run_of_another_is_refused_without_a_word_whose_it_is(alice: str, theirs: dict[str, Any]) -> None:
    record_job(job_record(**{"user_id": "bob"} | theirs))
    answer = post(alice, own_summary())
    assert (answer.status_code, errors(answer)) == (422, NOT_YOURS)
    assert not {"bob", "dave", "project_465000009"} & set(answer.content.decode().split('"'))
    assert not NodeSummary.objects.exists()


def test_a_run_that_another_told_of_first_is_refused_until_the_site_says_whose_it_is(alice: str) -> None:
    bob = sending_token("bob")
    assert post(bob, own_summary(told(user_id="bob"))).status_code == 201
    assert errors(post(alice, own_summary())) == NOT_YOURS
    assert errors(post(alice, own_summary(attempt=1))) == NOT_YOURS
    record_job(job_record())
    assert post(alice, own_summary()).json() == NEW
    assert errors(post(bob, own_summary(told(user_id="bob")))) == NOT_YOURS
    assert sent_by() == "alice"


def test_a_project_must_be_one_of_the_owners_and_the_message_says_what_is_missing(alice: str) -> None:
    Project.objects.create(name="project_465000009")
    messages = set()
    for name in ("project_465000009", "project_465000010", "own-bob"):
        ((path, message),) = errors(post(alice, own_summary(told(project_id=name))))
        assert path == "own_run.project_id"
        messages.add(message)
    assert len(messages) == 1, "whether a project exists is nobody's business outside of it"
    assert messages.pop().startswith("you are not a member of this project in Kaiku")
    assert nothing_is_stored()
    assert not Project.objects.filter(name__startswith="own-").exists()
    assert post(alice, own_summary(told(project_id="own-alice"))).status_code == 201


def test_telling_of_a_run_makes_nobody_a_member_of_anything_else(alice: str) -> None:
    before = set(Membership.objects.values_list("user", "project", "role"))
    post(alice, own_summary())
    assert set(Membership.objects.values_list("user", "project", "role")) == before


def test_a_personal_project_is_of_one_person_alone(alice: str) -> None:
    project = Project.objects.create(name="own-alice")
    Membership.objects.create(user=User.objects.get(username="bob"), project=project)
    answer = post(alice, own_summary(told(project_id=None)))
    assert errors(answer) == [("own_run.project_id", "required: own-alice is not your personal project")]
    Membership.objects.filter(project=project).delete()
    Project.objects.filter(pk=project.pk).update(is_listed=True)
    assert post(alice, own_summary(told(project_id=None))).status_code == 422
    assert not Job.objects.exists()


def test_a_name_too_long_for_a_personal_project_is_told_so() -> None:
    name = "a" * 61
    User.objects.create_user(name)
    answer = post(sending_token(name), own_summary({}))
    assert [path for path, _ in errors(answer)] == ["own_run.project_id"]
    User.objects.create_user("élan")
    answer = post(sending_token("élan"), own_summary({}))
    assert "own_run.user_id" in [path for path, _ in errors(answer)]
    assert not Job.objects.exists()


ABSURD = [
    ({"node_count": -1}, "own_run.node_count"),
    ({"node_count": 10**8}, "own_run.node_count"),
    ({"gpus_allocated": 1.5}, "own_run.gpus_allocated"),
    ({"ntasks": "many"}, "own_run.ntasks"),
    ({"state": "COMPLETED; DROP TABLE"}, "own_run.state"),
    ({"partition": "small g"}, "own_run.partition"),
    ({"nodes": ["nid005123", "nid 1"]}, "own_run.nodes[1]"),
    ({"nodes": ["nid005123", "nid005123.lumi.csc.fi"]}, "own_run.nodes"),
    ({"nodes": [f"n{number}" for number in range(20_001)]}, "own_run.nodes"),
    ({"nodes": [f"n{number}" for number in range(20_000)]}, "own_run.nodes"),
    ({"walltime_requested_s": -1}, "own_run.walltime_requested_s"),
    ({"walltime_requested_s": 1e300}, "own_run.walltime_requested_s"),
    ({"array_job_id": 0}, "own_run.array_job_id"),
    ({"array_task_id": -1}, "own_run.array_task_id"),
    ({"user_id": "al ice"}, "own_run.user_id"),
    ({"project_id": "../x"}, "own_run.project_id"),
    ({"job_name": 7}, "own_run.job_name"),
]


@pytest.mark.parametrize(("changes", "path"), ABSURD, ids=[f"{path}{place}" for place, (_, path) in enumerate(ABSURD)])
def test_what_cannot_be_is_refused_by_its_path(alice: str, changes: dict[str, Any], path: str) -> None:
    answer = post(alice, own_summary(told(**changes)))
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert path in [where for where, _ in errors(answer)]
    assert nothing_is_stored()


@pytest.mark.parametrize("wrong", ["all of it", 7, [told()]])
def test_an_owners_word_of_another_shape_is_refused(alice: str, wrong: Any) -> None:
    answer = post(alice, own_summary(wrong))
    assert answer.status_code == 422
    assert errors(answer)[0][0].startswith("own_run")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"started_at": None}, "started_at"),
        ({"ended_at": None}, "ended_at"),
        ({"started_at": "2020-01-01T00:00:00Z"}, "ended_at"),
        ({"started_at": "0001-01-01T00:00:00Z"}, "started_at"),
        ({"ended_at": "9999-01-01T00:00:00Z"}, "ended_at"),
        ({"ended_at": "2026-11-20T09:00:00Z"}, "ended_at"),
        ({"schema": "job-record/1"}, "schema"),
    ],
)
def test_times_that_no_run_has_are_refused(alice: str, changes: dict[str, Any], path: str) -> None:
    answer = post(alice, own_summary(**changes))
    assert path in [where for where, _ in errors(answer)]
    assert nothing_is_stored()


def test_a_clock_of_tomorrow_on_a_further_node_is_refused_too(alice: str) -> None:
    post(alice, own_summary())
    far = (timezone.now() + timedelta(days=2)).isoformat()
    answer = post(alice, own_summary(node="nid005124", started_at=far, ended_at=far))
    assert errors(answer) == [("started_at", "is in the future"), ("ended_at", "is in the future")]


def test_names_keep_their_letters_and_lose_their_control_characters(alice: str) -> None:
    post(alice, own_summary(told(job_name="тест <b>\x1b[2J\u202e" + "x" * 500)))
    assert Job.objects.get().job_name == ("тест <b>\ufffd[2J\ufffd" + "x" * 500)[:256]


def test_gpus_that_worked_were_there_whatever_slurm_gave(alice: str) -> None:
    post(alice, own_summary(alone(gpus_allocated=0)))
    assert Job.objects.get().gpus_allocated is None


def test_the_sites_record_is_never_changed(alice: str) -> None:
    record_job(job_record())
    before = Job.objects.values().get()
    assert post(alice, own_summary(alone(state="FAILED", job_name="other", project_id=None))).json() == NEW
    assert Job.objects.values().get() == before
    assert sent_by() == "alice"
    assert not Project.objects.filter(name="own-alice").exists()


@pytest.mark.parametrize("sequence", [0, 99])
def test_an_own_summary_never_replaces_the_sites(alice: str, sequence: int) -> None:
    record_job(job_record())
    record_node_summary(node_payload([10.0] * 8, sequence=0))
    assert post(alice, own_summary(alone(), sequence=sequence)).json() == KNOWN
    assert (sent_by(), {gpu["avg_util"] for gpu in stored_gpus()}) == ("", {10.0})


@pytest.mark.parametrize("sequence", [0, 99])
def test_the_sites_summary_replaces_an_own_one(alice: str, sequence: int) -> None:
    post(alice, own_summary(alone(), sequence=sequence))
    assert record_node_summary(node_payload([10.0] * 8, sequence=0))
    assert (sent_by(), {gpu["avg_util"] for gpu in stored_gpus()}) == ("", {10.0})
    assert not record_node_summary(node_payload([20.0] * 8, sequence=0))


def test_a_node_is_the_same_with_its_domain_and_without(alice: str) -> None:
    record_job(job_record())
    record_node_summary(node_payload([10.0] * 8, node="nid005123.lumi.csc.fi"))
    assert post(alice, own_summary(alone())).json() == KNOWN
    post(alice, own_summary(alone(), job_id=2, node="nid005123.lumi.csc.fi"))
    assert NodeSummary.objects.get(job_id=2).node == "nid005123"
    assert record_node_summary(node_payload([10.0] * 8, job_id=2, node="nid005123.lumi.csc.fi"))
    assert [row.sent_by for row in NodeSummary.objects.filter(job_id=2)] == [""]


def test_where_the_site_measured_first_nothing_is_made_of_what_somebody_tells(alice: str) -> None:
    """Or a stranger could make somebody's unrecorded run look like their own."""
    record_node_summary(node_payload())
    assert post(alice, own_summary(alone())).json() == KNOWN
    assert not Job.objects.exists()


def test_the_sites_record_replaces_what_the_owner_told_and_takes_the_mark_away(alice: str) -> None:
    post(alice, own_summary(alone(state="FAILED", exit_code="1:0", ntasks=99, nodes=["nid005123", "elsewhere"])))
    silent = {"exit_code": "", "node_count": None, "walltime_used_s": None}
    assert site_brings(record(**silent), path=RECORDS).json() == NEW
    run = Job.objects.get()
    assert not run.is_told_by_owner
    assert (run.state, run.ntasks, run.nodes, run.gpus_requested) == ("COMPLETED", 8, ["nid005123"], 8)
    assert (run.exit_code, run.node_count, run.walltime_used_s) == ("", None, None), "they went with the others"
    assert sent_by() == "alice"
    assert post(alice, own_summary(alone(state="FAILED"), node="nid005124")).json() == NEW
    assert Job.objects.get().state == "COMPLETED"


def test_what_the_site_does_not_say_stays_as_the_owner_told_it(alice: str) -> None:
    post(alice, own_summary(alone(walltime_requested_s=14400.0)))
    record_job(job_record(walltime_requested_s=None, nodes=(), node_count=None))
    run = Job.objects.get()
    assert (run.walltime_requested_s, run.nodes, run.node_count) == (14400.0, ["nid005123"], 1)


def test_a_claim_that_comes_while_the_sites_record_is_being_stored_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    secret, look = sending_token(), run_services._forget_claims

    def look_and_be_claimed(*about: object) -> None:
        look(*about)
        if not Job.objects.exists():
            post(secret, own_summary(alone(), job_id=7))

    monkeypatch.setattr(run_services, "_forget_claims", look_and_be_claimed)
    assert record_job(job_record(job_id=7, user_id="bob"))
    run = Job.objects.get(job_id=7)
    assert (run.user.username, run.is_told_by_owner) == ("bob", False)
