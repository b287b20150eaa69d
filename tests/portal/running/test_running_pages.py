"""Running jobs on pages and in the API: whose, with which figures and words, and what of them is hidden."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from analysis.early.models import RunningRun
from analysis.early.services import watch_running
from jobs.models import JobOpening, User
from tests.portal.conftest import text
from tests.portal.queue.queued import read, started, waiting
from tests.portal.running.shown import EIGHT, measured, word
from tests.running import running_job

pytestmark = pytest.mark.django_db

PAGE, API = "/jobs/lumi/123456/", "/api/v1/running/"
IDLE_TITLE = "No GPU of this job has work"
LISTS = ("/running/", "/jobs/", "/")


def numbers(client: Client, path: str = API) -> list[int]:
    return [job["job_id"] for job in client.get(path).json()["jobs"]]


def test_owner_and_pi_see_a_running_job_and_nobody_else_does(cast) -> None:
    cast("alice")
    measured()
    for who, status in (("alice", 200), ("carol", 200), ("bob", 404), ("dave", 404), ("erin", 404), ("grace", 404)):
        client = Client()
        client.force_login(_user(who))
        assert client.get(PAGE).status_code == status, who
        assert client.get(f"{API}lumi/123456/").status_code == status, who
        assert numbers(client) == ([123456] if status == 200 else []), who
        assert ("123456" in text(client, "/running/")) == (status == 200), who
        assert ("123456" in text(client, "/jobs/")) == (status == 200), who


def _user(name: str) -> User:
    return User.objects.get(username=name)


def test_the_dashboard_has_own_running_jobs_alone(cast) -> None:
    alice = cast("alice")
    carol = Client()
    carol.force_login(_user("carol"))
    measured()
    assert "Running now" in text(alice, "/")
    assert "None of your GPU jobs has ended yet." in text(alice, "/")
    assert "Running now" not in text(carol, "/")
    assert "alice's job" in text(carol, PAGE)
    assert "alice's job" not in text(alice, PAGE)
    # Nothing but a record of Slurm can name who opened it; the page says so.
    assert not JobOpening.objects.exists()
    assert "opening it is not recorded" in text(alice, PAGE)


def test_the_page_states_what_was_measured_and_what_it_costs(cast) -> None:
    alice = cast("alice")
    # Two GPUs at 60 % for 40 of 70 minutes, six that never worked: 60 * 40 / 70 * 2 / 8 = 8.6 %.
    measured(utils=[[60.0] * 40 + [0.0] * 30] * 2 + [[0.0] * 70] * 6)
    said = text(alice, PAGE).replace("\u00a0", " ").replace("&nbsp;", " ")
    assert "<dt>GPU use</dt><dd>8.6 %</dd>" in said
    assert "<dd>2 of 8</dd>" in said
    assert "<dd>40.0 of 64 GB</dd>" in said
    assert "<dd>80.2 GB</dd>" in said
    # 71 minutes of eight slices at 0.5 (design/domain.md, section 6), and four hours of them.
    assert "<dt>GPU-hours so far</dt><dd>4.73</dd>" in said
    assert "<dt>GPU-hours at the time limit</dt><dd>16.0</dd>" in said
    assert "between 0.0 % and 15.0 %, 0.0 % at the end" in said
    answer = alice.get(f"{API}lumi/123456/").json()
    assert answer["gpu_hours_at_limit"] == 16.0
    assert answer["measured"]["gpus_with_work"] == 2
    assert answer["measured"]["use"]["percent"] == [15.0] * 20 + [0.0] * 15
    assert answer["measured"]["host_memory_limit_gb"] is None


def test_a_word_comes_first_with_what_to_look_at_and_scancel_as_a_possibility(cast) -> None:
    alice = cast("alice")
    run = measured()
    word(run)
    for path in (*LISTS, PAGE):
        assert IDLE_TITLE in text(alice, path), path
    said = text(alice, PAGE)
    assert 'data-copy="srun --overlap --jobid=123456 --nodes=1 --ntasks=1 --pty rocm-smi"' in said
    assert said.index("rocm-smi") < said.index("scancel 123456")
    assert "nothing is cancelled for you" in said
    # The last sample is of 70 minutes after the start.
    heard = f"{timezone.localtime(run.started_at + timedelta(minutes=70)):%H:%M}</time>."
    assert heard in said[said.index("confirmed with the figures of") :][:120]
    assert "This job counts in no history or sum of ended jobs until it has ended; then" in said
    stated = alice.get(f"{API}lumi/123456/").json()["words"][0]
    assert (stated["code"], stated["title"], stated["is_fact"]) == ("all_gpus_idle", IDLE_TITLE, True)
    assert stated["since_s"] == 0.0
    assert stated["possibility"]["command"] == "scancel 123456"


def test_the_commands_are_for_the_owner_alone(cast) -> None:
    cast("alice")
    word(measured())
    carol = Client()
    carol.force_login(_user("carol"))
    said = text(carol, PAGE)
    assert IDLE_TITLE in said
    assert "alice's job" in said
    assert "The commands to look into the job work for its owner." in said
    assert "srun" not in said
    assert "scancel" not in said
    answer = carol.get(f"{API}lumi/123456/").json()
    assert (answer["is_own"], answer["user_id"]) == (False, "alice")
    assert answer["words"][0]["title"] == IDLE_TITLE
    assert (answer["words"][0]["steps"], answer["words"][0]["possibility"]) == ([], {"text": "", "command": ""})


def test_a_word_that_no_longer_holds_is_below_with_its_times_and_one_that_nobody_knows_is_not_shown(cast) -> None:
    alice = cast("alice")
    run = measured(utils=[[50.0] * 70] * 8)
    now = timezone.now()
    over = word(run, found_at=now - timedelta(minutes=30), over_at=now - timedelta(minutes=4))
    word(run, "from_a_later_version")
    word(run, "from_a_later_version_too", over_at=now)
    said = text(alice, PAGE)
    assert f'<li id="word-all_gpus_idle">{IDLE_TITLE}: found ' in said
    assert said.count(IDLE_TITLE) == 1
    assert "scancel" not in said
    assert "Nothing stands out in what was measured so far." in said
    assert said.index("Nothing stands out") < said.index("No longer so")
    for path in LISTS:
        assert IDLE_TITLE not in text(alice, path), path
    answer = alice.get(f"{API}lumi/123456/").json()
    assert answer["words"] == []
    [stated] = answer["words_over"]
    assert (stated["code"], stated["title"]) == ("all_gpus_idle", IDLE_TITLE)
    assert [datetime.fromisoformat(stated[name]) for name in ("found_at", "over_at")] == [over.found_at, over.over_at]


def test_jobs_with_a_word_come_first_and_a_page_lists_twenty(cast) -> None:
    alice = cast("alice")
    idle = running_job(7, cells=EIGHT)
    read(idle, *[started(100 + number, 0.2) for number in range(30)], minutes_ago=0)
    watch_running(100, timezone.now())
    word(RunningRun.objects.get(job_id=7))
    assert numbers(alice)[0] == 7
    answer = alice.get(f"{API}?limit=100").json()
    assert (answer["count"], len(answer["jobs"]), answer["is_more"]) == (31, 31, False)
    said = text(alice, "/running/")
    assert said.count('data-label="Job"') == 20
    assert "20 of 31 running jobs" in said
    assert "All of them on the Queue page" in said
    for path in ("/jobs/", "/"):
        assert text(alice, path).count('data-label="Job"') == 5, path
        assert "5 of 31 running jobs" in text(alice, path), path
        assert ">All running jobs</a>" in text(alice, path), path
    assert alice.get(f"{API}?limit=101").status_code == 400
    assert alice.get(f"{API}?own=2").status_code == 400


def test_what_was_not_measured_is_said_and_no_limit_or_price_is_made_up(cast) -> None:
    alice = cast("alice")
    read(started(1, 0.1, TimeLimit="UNLIMITED"), started(2, Partition="unknown-g"), minutes_ago=0)
    said = text(alice, "/jobs/lumi/1/")
    assert "Not measured yet." in said
    assert "<dt>GPU-hours at the time limit</dt><dd>no time limit</dd>" in said
    assert "no time limit</span>" in said
    assert "<dd>price not known</dd>" in text(alice, "/jobs/lumi/2/")
    unlimited, unpriced = (alice.get(f"{API}lumi/{number}/").json() for number in (1, 2))
    assert (unlimited["left_s"], unlimited["ends_at"], unlimited["gpu_hours_at_limit"]) == (None, None, None)
    assert (unpriced["gpu_hours_so_far"], unpriced["measured"], unpriced["attempt"]) == (None, None, None)


def test_pending_jobs_and_jobs_without_gpus_do_not_run_here(cast) -> None:
    alice = cast("alice")
    read(started(1, tres_alloc="cpu=14,mem=60G,node=1,billing=14"), minutes_ago=0)
    assert numbers(alice) == []
    assert alice.get("/jobs/lumi/1/").status_code == 404
    assert "Running now" not in text(alice, "/jobs/")


def test_a_task_of_an_array_is_named_as_squeue_names_it(cast) -> None:
    alice = cast("alice")
    read(started(12, ArrayTaskID="4").replace("12|12|", "12|9|"), minutes_ago=0)
    assert "lumi/9_4" in text(alice, "/jobs/lumi/12/")
    assert numbers(alice, f"{API}?job_id=9") == [12]
    assert numbers(alice, f"{API}?job_id=12") == [12]
    assert numbers(alice, f"{API}?job_id=4") == []


def test_an_old_queue_is_shown_as_old_with_its_age(cast) -> None:
    alice = cast("alice")
    read(started(1), minutes_ago=50)
    for path in ("/running/", "/jobs/", "/jobs/lumi/1/"):
        assert "<b>This is an old state.</b>" in text(alice, path), path
        assert "50\u00a0min ago" in text(alice, path), path
    answer = alice.get(f"{API}lumi/1/").json()
    # It started 61 minutes ago, and the queue was read 50 minutes ago: what came after is not known.
    assert answer["is_old"] is True
    assert answer["ran_s"] == pytest.approx(11 * 60, abs=5)


def test_a_node_that_was_heard_and_fell_silent_is_named_with_its_last_sample(cast, settings) -> None:
    alice = cast("alice")
    run = measured()
    said = text(alice, PAGE)
    assert "is silent" not in said
    assert "Its node was last heard at" in said
    assert "the next figures come within about an hour" in said
    # Its last sample is a minute old: 70 minutes of a job that started 71 minutes ago.
    settings.INTERIM_SILENT_SECONDS = 30
    said = text(alice, PAGE)
    assert "<b>nid005123</b> is silent: last heard at" in said
    assert "1 of 1" not in said
    assert "the next figures come" not in said
    [silent] = alice.get(f"{API}lumi/123456/").json()["measured"]["silent_nodes"]
    assert silent["node"] == "nid005123"
    assert silent["since"].startswith(f"{run.started_at + timedelta(minutes=70):%Y-%m-%dT%H:%M}")


def test_once_slurm_reports_the_end_the_address_is_that_of_the_ended_job(reported, cast) -> None:
    alice = Client()
    measured()
    alice.force_login(_user("alice"))
    assert "<strong>running</strong>" in text(alice, PAGE)
    now = timezone.now()
    reported(123456, started_at=(now - timedelta(minutes=71)).isoformat(), ended_at=now.isoformat())
    # The queue still lists it for a minute or two.
    assert "<strong>completed</strong>" in text(alice, PAGE)
    assert numbers(alice) == []
    assert alice.get(f"{API}lumi/123456/").status_code == 404


def test_a_job_that_left_the_queue_has_its_last_figures_until_its_record_arrives(reported, cast) -> None:
    alice = Client()
    measured()
    alice.force_login(_user("alice"))
    # At once, and after the sweep has noticed.
    read(minutes_ago=0)
    for _ in range(2):
        said = text(alice, PAGE)
        assert "<strong>left the queue</strong>" in said
        assert "has left the queue at about" in said
        assert "<dt>GPU use</dt><dd>0.0" in said
        assert 'data-live="60"' in said
        assert numbers(alice) == []
        assert alice.get(f"{API}lumi/123456/").status_code == 404
        assert alice.get(f"{PAGE}?attempt=1").status_code == 404
        watch_running(100, timezone.now())
    for who, status in (("carol", 200), ("bob", 404), ("dave", 404), ("erin", 404), ("grace", 404)):
        client = Client()
        client.force_login(_user(who))
        assert client.get(PAGE).status_code == status, who
        assert ("alice's job" in client.get(PAGE).content.decode()) == (status == 200), who
    now = timezone.now()
    reported(123456, started_at=(now - timedelta(minutes=71)).isoformat(), ended_at=now.isoformat())
    assert "<strong>completed</strong>" in text(alice, PAGE)
    watch_running(100, now)
    assert not RunningRun.objects.exists()


def test_a_job_that_was_requeued_and_waits_has_not_left_the_queue(cast) -> None:
    alice = cast("alice")
    measured()
    read(waiting(123456), minutes_ago=0)
    watch_running(100, timezone.now())
    assert alice.get(PAGE).status_code == 404


def test_a_requeued_job_shows_what_runs_and_links_its_earlier_attempt(reported) -> None:
    alice = Client()
    alice.force_login(_user("alice"))
    earlier = timezone.now() - timedelta(hours=5)
    times = {"started_at": (earlier - timedelta(hours=2)).isoformat(), "ended_at": earlier.isoformat()}
    reported(123456, **times)
    measured(attempt=1)
    assert "<strong>running</strong>" in text(alice, PAGE)
    assert f'{PAGE}?attempt=0"' in text(alice, PAGE)
    assert "A later attempt runs now" in text(alice, f"{PAGE}?attempt=0")
    assert "<strong>completed</strong>" in text(alice, f"{PAGE}?attempt=0")
    assert "<strong>running</strong>" in text(alice, f"{PAGE}?attempt=1")
    assert alice.get(f"{PAGE}?attempt=2").status_code == 404
    assert alice.get(f"{PAGE}?attempt=x").status_code == 404


def test_measurements_of_the_attempt_before_are_not_those_of_the_one_that_runs(cast) -> None:
    alice = cast("alice")
    measured()
    # Requeued: it started again after all that was measured.
    read(started(123456, 0.0, **EIGHT), minutes_ago=0)
    watch_running(100, timezone.now())
    assert alice.get(f"{API}lumi/123456/").json()["measured"] is None
    assert "Not measured yet." in text(alice, PAGE)


def test_running_jobs_are_in_no_sum_list_or_file(recent, cast) -> None:
    alice = Client()
    alice.force_login(_user("alice"))
    before = b"".join(alice.get("/jobs.csv")).decode()
    count = alice.get("/api/v1/jobs/").json()["count"]
    measured()
    assert b"".join(alice.get("/jobs.csv")).decode() == before
    assert alice.get("/api/v1/jobs/").json()["count"] == count == 2
    assert "2 jobs" in text(alice, "/jobs/")
    assert "not counted until they end" in text(alice, "/jobs/")
    # Filters are about ended jobs.
    assert "123456" in text(alice, "/jobs/?q=nothing-like-it")


def test_hostile_names_are_text(cast) -> None:
    alice = cast("alice")
    measured(cells={"Name": "<script>alert(1)</script>\u202egnp"})
    for path in (*LISTS, PAGE, "/queue/"):
        said = text(alice, path)
        assert "<script>alert(1)" not in said, path
        assert "\u202e" not in said, path


def test_the_queue_links_running_jobs_and_no_others(cast) -> None:
    alice = cast("alice")
    read(started(1), waiting(2), minutes_ago=0)
    said = text(alice, "/queue/")
    assert 'href="/jobs/lumi/1/"' in said
    assert 'href="/jobs/lumi/2/"' not in said
