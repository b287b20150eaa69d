"""One flag's whole life in a browser: its owner reads it, support helps, the owner shares, better runs clear it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.management import call_command
from django.utils import timezone

from analysis.escalation.services import escalate
from analysis.models import Flag
from jobs.models import User
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.mail.services.sending import send_due
from tests.payloads import gpu, job_record, node_payload
from tests.portal.conftest import carry_session, overflow_px

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Reader:
    """Somebody with a browser; nothing is ever wider than the screen, and no script complains."""

    def __init__(self, browser, live_server, client, width: int) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, base_url=live_server.url)
        carry_session(self.context, live_server, client)
        self.page, self.said = self.context.new_page(), []
        self.page.on("console", lambda message: self.said.append(message.text))

    def reads(self, path: str) -> str:
        self.page.goto(path)
        return self.text()

    def has_no_barrier(self) -> None:
        found = Axe().run(self.page)
        assert found.violations_count == 0, f"{self.page.url}: {found.generate_report()}"

    def clicks(self, what: str) -> str:
        self.page.click(what)
        self.page.wait_for_load_state("load")
        return self.text()

    def text(self) -> str:
        assert overflow_px(self.page) == 0, self.page.url
        return " ".join(self.page.inner_text("main").split())


@pytest.fixture(params=[1280, 390])
def people(request, browser, live_server, cast, flagged):
    """Alice, erin of support, and carol, the PI; staff do not see the flag yet."""
    Flag.objects.update(raised_at=timezone.now(), visible_to_staff_at=timezone.now() + timedelta(days=7))
    User.objects.filter(username="alice").update(email="alice@users.example")
    readers = {name: Reader(browser, live_server, cast(name), request.param) for name in ("alice", "erin", "carol")}
    yield readers
    for reader in readers.values():
        assert reader.said == []
        reader.context.close()


def better_runs() -> None:
    """Two long runs of alice at 95 %: 160 GPU-hours each, so that 72 of 392 are left in a low class."""
    ended = timezone.now() - timedelta(hours=1)
    times = {"started_at": (ended - timedelta(hours=40)).isoformat(), "ended_at": ended.isoformat()}
    for job_id in (101, 102):
        record_job(job_record(job_id=job_id, walltime_used_s=144_000.0, **times))
        gpus = [gpu(index, 95.0, measured_s=144_000.0) for index in range(8)]
        record_node_summary(node_payload(job_id=job_id, gpus=gpus, **times))
    call_command("analyse_job", "--due", verbosity=0)


def test_from_raised_to_cleared(people, settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    alice, erin, carol = people["alice"], people["erin"], people["carol"]

    assert "Many GPU-hours of your jobs were unused lately." in alice.reads("/")
    shown = alice.clicks("text=See why, and what changes it")
    assert "Support cannot see this flag before" in shown
    alice.has_no_barrier()
    assert "No cases" in erin.reads("/support/queue/")
    assert "Project project_465000001" in carol.reads("/projects/project_465000001/")

    Flag.objects.update(visible_to_staff_at=timezone.now())
    assert "All GPU jobs of alice" in erin.reads("/support/queue/")
    erin.has_no_barrier()
    erin.clicks("text=All GPU jobs of alice")
    erin.has_no_barrier()
    assert "The case is claimed now." in erin.clicks("button:text-is('Claim')")
    erin.page.fill("#id_text", "Two of eight GPUs do the work in every run.")
    assert "Two of eight GPUs do the work in every run." in erin.clicks("text=Add the note")
    assert "The offer is in the outbox, for alice." in erin.clicks("text=Send the offer")
    assert send_due(10) == 1
    assert "alice has not answered yet" in erin.clicks("text=Ask to share jobs")

    assert "Support asks to look at some of your jobs" in alice.reads("/")
    alice.clicks("text=Answer the request")
    alice.has_no_barrier()
    assert "Support can look at 3 jobs for 14 days." in alice.clicks("text=Share these jobs for 14 days")
    shown = erin.reads(erin.page.url)
    assert "3 jobs shared for 14 days." in shown
    assert "3 jobs shared." in shown
    erin.has_no_barrier()
    assert "alice shares this job with support until" in erin.clicks("#shared ~ ul a >> nth=0")

    better_runs()
    # The flags of alice, of the project and of the work.
    assert escalate(timezone.now()) == 3
    shown = alice.reads("/flags/")
    assert "Nothing of yours is flagged now." in shown
    assert "fell below the limit" in shown
    alice.has_no_barrier()
    assert "unused lately" not in alice.reads("/")
    assert "All GPU jobs of alice" not in erin.reads("/support/queue/")
    closed = erin.reads("/support/queue/?state=resolved")
    assert "All GPU jobs of alice" in closed
    assert "The flag cleared." in erin.clicks("text=All GPU jobs of alice")
    assert "Flags of the project" not in carol.reads("/projects/project_465000001/")
