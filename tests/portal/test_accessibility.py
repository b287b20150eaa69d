"""Every page as axe sees it, light on a desktop and dark on a phone, and nothing wider than the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.management import call_command
from django.utils import timezone

from jobs.experiments.services.artifacts import keep_upload
from jobs.models import User
from metrics.services import record_raw_window
from portal.sign_in.device import new_codes
from reports.models import Webhook
from reports.services.links import opt_out_address
from tests.payloads import raw_payload
from tests.portal.conftest import carry_session, overflow_px
from tests.portal.experiments.logged import experiment_of, log_run
from tests.portal.policy.test_policy_page import make_rows
from tests.portal.queue.queued import allocate, read, started, waiting
from tests.portal.test_access import WORK
from tests.running import running_job, watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The links of Django's administration take a moment to change theirs.
COLOURS_HAVE_CHANGED = "Promise.all(document.getAnimations().map(one => one.finished)).then(() => {})"
SCREENS = ((1280, "light"), (390, "dark"))
PAGES = {
    "": "/sign-in/ /public/ /about/ /api/docs/ /no-such-page/",
    "alice": f"/work/{WORK['key']}/ /compare/ /compare/?job=lumi/123456&job=lumi/123457&job=lumi/9 "
    "/ /jobs/ /jobs/?q=123 /jobs/lumi/123456/ /jobs/lumi/123456/raw/ /jobs/lumi/999/ /history/ /projects/ "
    "/projects/project_465000001/ /learn/ /learn/timeout/ /learn/nothing/ /settings/ "
    "/settings/appearance/ /settings/tokens/ /settings/slurm/ /settings/running/ /settings/webhooks/ /flags/ "
    "/device/ /queue/ /running/ /jobs/lumi/1/ /jobs/lumi/4/",
    "dave": "/ /sample-report/ /queue/ /experiments/ /running/",
    "carol": f"/work/{WORK['key']}/ /compare/?job=lumi/123457&job=lumi/123456 /projects/project_465000001/ /queue/ "
    "/projects/project_465000001/grant-report/?names=1",
    "grace": "/system/ /admin/ /admin/jobs/user/ /admin/jobs/grant/ /admin/jobs/grant/add/ /admin/jobs/membership/add/ "
    "/admin/jobs/project/ /admin/jobs/token/ /admin/admin/logentry/ "
    "/admin/jobs/unknownidentity/ /admin/jobs/auditentry/ /policy/",
    "erin": "/lessons/ /lessons/new/ /lessons/timeout/en/ /lessons/timeout/en/history/ /support/outbox/ "
    "/site/ /support/ /support/queue/ /support/letter/ /support/links/ /support/directory/ /support/shared/ "
    "/support/feedback/ /support/advice/",
}


@pytest.fixture
def page(browser, live_server) -> Iterator[object]:
    context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def queue_up(settings) -> None:
    """A queue with jobs of alice and bob that run and wait, on an allocation that may not suffice for them."""
    settings.QUEUE_CLUSTERS = ["lumi"]
    allocate(8.0)
    warned = running_job(4, cells={"tres_alloc": "cpu=112,mem=480G,node=1,gres/gpu=8", "Name": "y" * 80})
    waits = waiting(3, Reason="QOSMaxJobsPerUserLimit")
    read(started(1), started(2, UserName="bob", Name="x" * 80), waits, warned)
    watched(4)


def log_runs() -> list[str]:
    """The addresses of an experiment of alice's with a long name, of its runs beside each other, and of each run."""
    experiment = experiment_of("alice", "e" * 200, project="project_465000001", is_shared=True)
    first = log_run(experiment, "r" * 100, params={"learning rate" * 9: "0.1"}, tags={"team": "t" * 200})
    open_run = log_run(experiment, "open", job=None, metrics={"loss": [1.0, math.nan]}, reported=None)
    keep_upload(first.owner, first.run_id, "notes.txt", b"warm up", 7, timezone.now())
    page = f"/experiments/{experiment.pk}/"
    files = f"/runs/{first.run_id}/files/{first.artifacts.get().pk}/"
    compared = f"{page}compare/?run={first.run_id}&run={open_run.run_id}&target=0.5"
    paths = ["/experiments/", page, f"{page}?status=FAILED", compared, f"{page}compare/", files]
    return [*paths, *(f"/runs/{run.run_id}/?target=0.5" for run in (first, open_run))]


def assert_sound(page, path: str) -> None:
    page.goto(path)
    assert_as_shown(page, path)


def assert_as_shown(page, path: str) -> None:
    """What is open now, as it is on either screen; no script of the portal asks for the width or the colours."""
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.evaluate(COLOURS_HAVE_CHANGED)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{path}, {width} pixels, {scheme}: {found.generate_report()}"
        assert overflow_px(page) == 0, (path, width)


def paths_for(name: str, page, live_server, cast) -> list[str]:
    """The pages that this person looks at, once a browser's page is signed in as them and the lessons are there."""
    call_command("seed_lessons", verbosity=0)
    if name:
        carry_session(page.context, live_server, cast(name))
    return PAGES[name].split()


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_no_page_of_experiments_has_a_barrier(name: str, page, live_server, cast, reported) -> None:
    reported(123456)
    paths = log_runs()
    carry_session(page.context, live_server, cast(name))
    for path in paths:
        assert_sound(page, path)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for width, _ in SCREENS:
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow_px(page) == 0, (path, width)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_barrier(name: str, page, live_server, cast, reported, settings) -> None:
    settings.RAW_ON_PAGE = settings.PUBLIC_PAGE = settings.SLURM_COMMENTS = True
    reported(123456)
    on_four = {"gpus_allocated": 4, "state": "FAILED", "request": {"--gpus-per-node": "4", "--time": "03:00:00"}}
    reported(123457, **on_four)
    record_raw_window(raw_payload())
    make_rows()
    queue_up(settings)
    for path in paths_for(name, page, live_server, cast):
        assert_sound(page, path)


@pytest.mark.parametrize(("scope", "done"), [("read", "is signed in as alice"), ("runs", "can log runs as alice")])
def test_approving_a_program_has_no_barrier_either(page, live_server, cast, scope: str, done: str) -> None:
    codes = new_codes("kaiku on " + "x" * 40, "192.0.2.7", scope, timezone.now())
    carry_session(page.context, live_server, cast("alice"))
    assert_sound(page, "/device/?user_code=BBBB-BBBB")
    assert_sound(page, f"/device/?user_code={codes.user_code}")
    page.get_by_role("button", name="Approve").click()
    assert done in page.get_by_role("status").inner_text()


def test_settings_of_a_site_without_hints_have_no_barrier_either(page, live_server, cast, settings) -> None:
    settings.SBATCH_HINTS = False
    carry_session(page.context, live_server, cast("alice"))
    assert_sound(page, "/settings/appearance/")


def test_a_new_token_that_logs_runs_has_no_barrier_either(page, live_server, cast) -> None:
    carry_session(page.context, live_server, cast("alice"))
    page.goto("/settings/tokens/")
    page.get_by_label("Purpose").fill("training")
    page.get_by_label("Permission").select_option("runs")
    page.get_by_role("button", name="Create token").click()
    assert "MLFLOW_TRACKING_TOKEN" in page.locator(".new-token").inner_text()
    assert_as_shown(page, "a new token")


def test_a_new_webhook_its_list_and_its_refusal_have_no_barrier_either(page, live_server, cast) -> None:
    carry_session(page.context, live_server, cast("carol"))
    for address in ("http://hooks.example.org", f"https://{'very-long.' * 12}example.org/{'x' * 40}"):
        page.goto("/settings/webhooks/")
        page.get_by_label("Name").fill("a program of my own with a long name")
        page.get_by_label("About").select_option("project_465000001")
        page.get_by_label("Address").fill(address)
        page.get_by_role("button", name="Create webhook").click()
        assert_as_shown(page, "a new webhook")
    assert "kaiku_hook_" in page.locator(".new-token").inner_text()
    Webhook.objects.update(off_at=timezone.now(), last_at=timezone.now(), last_outcome="404 Not Found")
    assert_sound(page, "/settings/webhooks/")


def test_ending_all_mail_has_no_barrier_either(page, cast) -> None:
    cast("alice")
    assert_sound(page, urlsplit(opt_out_address(User.objects.get(username="alice"))).path)
