"""The grant report of a project: who gets what, from where, and that it agrees with the project's page."""

from __future__ import annotations

from datetime import date, timedelta
from io import StringIO
from urllib.parse import urlencode

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis.history.periods import Period, last_days
from analysis.models import JobEfficiency
from analysis.rollups.services import note_all, roll_up_due
from jobs.models import Job, Project, ProjectAllocation
from jobs.site_factors import Cost, Emission
from reports.grant.selectors import grant_report, whole_project
from reports.grant.spans import Span
from tests.portal.projects.test_project_page import times
from tests.portal.site.factors import stated

PAGE, API = "/projects/project_465000001/grant-report/", "/api/v1/projects/project_465000001/grant-report"


@pytest.fixture
def days() -> str:
    """The last thirty days, as an address has them."""
    return f"?{urlencode({'from': str(span().first), 'until': str(span().last)})}"


def span() -> Span:
    period: Period = last_days(timezone.localtime(), 30)
    return Span(period.start.date(), period.end.date())


@pytest.fixture
def used(reported) -> None:
    """Two works of alice's and one of bob's; the energy of one run is known, and one run was too short to count."""
    reported(1, 2, job_name="gromacs", **times())
    reported(3, job_name="cp2k", user_id="bob", **times(2))
    reported(4, 5, job_name="bash", **times(3))
    Job.objects.filter(job_id=3).update(state="FAILED")
    JobEfficiency.objects.filter(job__job_id=1).update(energy_j=7_200_000.0)
    JobEfficiency.objects.filter(job__job_id=5).update(uncounted_reason="short")
    note_all(timezone.now())


def of(client, days: str) -> dict:
    return client.get(f"{API}.json{days}").json()


def test_the_report_of_the_pi_adds_up_to_what_the_project_page_shows(cast, used, days: str) -> None:
    seen = cast("carol").get("/projects/project_465000001/?days=30").context["sum"]
    report = of(cast("carol"), days)
    use = report["use"]
    assert (use["jobs"], use["uncounted_jobs"]) == (seen.jobs, seen.uncounted) == (4, 1)
    # 8 GPUs are 4 modules, for two hours: 8.0 GPU-hours a run.
    assert use["gpu_hours"] == seen.gpu_hours == pytest.approx(32.0)
    assert use["billed_gpu_hours"] == pytest.approx(40.0)
    assert use["unused_gpu_hours"] == seen.wasted_gpu_hours
    assert use["median_use_percent"] == seen.median_util
    assert use["potential_gpu_hours"] == seen.potential_gpu_hours
    shares = {share.name.value: share.gpu_hours for share in seen.shares}
    assert {row["name"]: row["gpu_hours"] for row in report["classes"]} == shares
    # 2 kWh, of one of four runs.
    assert (use["energy_kwh"], use["energy_fraction"]) == (2.0, 0.25)
    assert (use["works"], use["ended"]["jobs"], use["ended"]["failed"]) == (2, 5, 1)


def test_the_stored_sums_give_the_same_report(cast, used) -> None:
    scope, now = whole_project(Project.objects.get()), timezone.now()
    before = grant_report(scope, span(), now)
    roll_up_due(10, now)
    after = grant_report(scope, span(), now)
    assert after.use.energy_kwh == before.use.energy_kwh == 2.0
    assert (after.steps, after.classes) == (before.steps, before.classes)


def test_co2e_and_money_follow_from_what_is_shown_where_the_site_states_factors(cast, used, days: str) -> None:
    assert of(cast("carol"), days)["claims"] == []
    since = date(2020, 1, 1)
    with stated((Emission(since, 100.0, "a"),), (Cost(since, "GPU-hour", 0.5, "EUR", "b"),)):
        report = of(cast("carol"), days)
        page = cast("carol").get(PAGE + days).content.decode()
    # 2 kWh x 100 g, 40 GPU-hours x 0.50 EUR.
    assert [(row["amount"], row["unit"]) for row in report["claims"]] == [(0.2, "kg"), (20.0, "EUR")]
    assert "0.5 EUR per GPU-hour since January 2020: b" in page


def test_a_member_gets_their_own_part_and_a_stranger_nothing(cast, used, days: str) -> None:
    own = of(cast("bob"), days)
    assert (own["scope"], own["use"]["jobs"], own["use"]["ended"]["failed"]) == ("own", 1, 1)
    assert "Your own part of the project" in cast("bob").get(PAGE + days).content.decode()
    pdf = cast("bob").get(f"{API}.pdf{days}")
    assert (pdf["Content-Type"], pdf.content[:5]) == ("application/pdf", b"%PDF-")
    assert f"kaiku-project_465000001-{span().first}-{span().last}.pdf" in pdf["Content-Disposition"]
    for address in (PAGE, f"{API}.json", f"{API}.pdf"):
        assert cast("dave").get(address).status_code == 404
        assert cast("erin").get(address).status_code == 404, "support sees no project"
    assert cast("carol").get(f"{API}.xml").status_code == 404


def test_nobody_is_named_unless_the_pi_asks_for_names(cast, used, days: str) -> None:
    carol, bob = cast("carol"), cast("bob")
    for name in ("json", "csv"):
        content = carol.get(f"{API}.{name}{days}").content.decode()
        assert not any(word in content for word in ("alice", "bob", "gromacs", "cp2k")), name
    page = carol.get(PAGE + days).content.decode()
    assert "gromacs" not in page
    named = carol.get(f"{API}.json{days}&names=1").json()
    assert [row["username"] for row in named["members"]] == ["alice", "bob"]
    assert {row["name"] for row in named["open_savings"]} >= {"gromacs", "cp2k"}
    assert bob.get(f"{API}.json{days}&names=1").json()["members"] == [], "a member is shown no others"


def test_the_page_offers_the_period_of_the_allocation_first_and_the_files_of_what_it_shows(cast, used) -> None:
    today = timezone.localdate()
    first, last = today - timedelta(days=100), today + timedelta(days=265)
    about = {"begins_on": first, "ends_on": last, "read_at": timezone.now(), "source": "lumi"}
    ProjectAllocation.objects.create(project=Project.objects.get(), gpu_hours=1000.0, used_gpu_hours=600.0, **about)
    answer = cast("carol").get(PAGE)
    assert [choice.name for choice in answer.context["choices"] if choice.is_shown] == ["Allocation period"]
    page = answer.content.decode().replace("\u00a0", " ")
    assert "600.0 of 1,000 GPU-hours used (60 %)" in page
    # 40 of 1,000.
    assert "used 40.0 GPU-hours, 4 % of it." in page
    assert f"{API}.pdf?from={first}&amp;until={last}" in page


@pytest.mark.one_database
def test_a_period_that_has_not_begun_offers_no_report(cast, used) -> None:
    first = timezone.localdate() + timedelta(days=2)
    page = cast("carol").get(f"{PAGE}?from={first}&until={first + timedelta(days=30)}").content.decode()
    assert "This period has not begun" in page
    assert not any(shown in page for shown in ("so far", ">PDF</a>", ">CSV</a>", "<table"))


def test_wrong_days_are_answered_with_what_is_wrong(cast, days: str) -> None:
    carol = cast("carol")
    answer = carol.get(f"{PAGE}?from=2026-02-01&until=2026-01-01")
    assert answer.status_code == 400
    assert "must not be before" in answer.content.decode()
    assert carol.get(f"{API}.json?from=2026-02-01").status_code == 400
    assert carol.get(f"{API}.json?from=2026-02-01&until=%00").status_code == 400
    assert carol.get(f"{API}.json{days}&names=perhaps").status_code == 400


@pytest.mark.one_database
def test_a_year_costs_as_many_queries_as_a_day(cast, used, django_assert_num_queries) -> None:
    scope, now = whole_project(Project.objects.get()), timezone.now()
    roll_up_due(10, now)
    today = now.date()
    with django_assert_num_queries(15):
        grant_report(scope, Span(today, today), now)
    with django_assert_num_queries(15):
        grant_report(scope, Span(today - timedelta(days=365), today), now)


def test_the_command_writes_the_same_files(cast, used, tmp_path) -> None:
    first, last = str(span().first), str(span().last)
    file = tmp_path / "report.csv"
    call_command("grant_report", "project_465000001", "--from", first, "--until", last, format="csv", output=str(file))
    assert "use,jobs,,4,0" in file.read_text()
    with pytest.raises(CommandError, match="there is no project"):
        call_command("grant_report", "project_9", stdout=StringIO())
    with pytest.raises(CommandError, match="Name both days"):
        call_command("grant_report", "project_465000001", "--from", first)
