"""The page of settings: what a person hears about by mail."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.efficiency import EfficiencyClass
from jobs.models import Project, User
from reports.mail.digest import Choices, Frequency
from reports.mail.services.planning import plan_due
from reports.mail.services.preferences import save_choices
from reports.models import Delivery, Report
from reports.selectors import delivery_choices
from tests.roles import set_role

CHECKED = re.compile(r'<input type="radio"[^>]* value="(\w+)"[^>]* checked')
WEEKLY = {"frequency": "weekly", "minimum_class": "INEFFICIENT", "with_pdf": "on"}


def choices(name: str = "alice") -> Choices:
    pk = User.objects.get(username=name).pk
    return delivery_choices([pk])[pk]


def test_anonymous_people_are_sent_to_sign_in(cast) -> None:
    assert Client().get("/settings/")["Location"] == "/sign-in/?next=/settings/"
    assert Client().post("/settings/", WEEKLY)["Location"] == "/sign-in/?next=/settings/"


def test_a_new_person_finds_the_defaults(cast) -> None:
    content = cast("alice").get("/settings/").content.decode()
    assert CHECKED.findall(content) == ["daily"]
    assert choices() == Choices()


def test_choices_are_kept_and_shown_again(cast) -> None:
    project = Project.objects.get()
    client = cast("alice")
    answer = client.post("/settings/", WEEKLY | {f"project_{project.pk}": "off"}, follow=True)
    assert b"Saved. Your choices apply from now on." in answer.content
    expected = Choices(Frequency.WEEKLY, EfficiencyClass.INEFFICIENT, True, {project.pk: Frequency.OFF})
    assert choices() == expected
    content = client.get("/settings/").content.decode()
    assert '<option value="off" selected>' in content
    assert CHECKED.findall(content)[0] == "weekly"


def test_a_choice_taken_back_follows_the_general_one_again(cast) -> None:
    project = Project.objects.get()
    client = cast("alice")
    client.post("/settings/", WEEKLY | {f"project_{project.pk}": "off"})
    client.post("/settings/", {"frequency": "immediate", "minimum_class": "EFFICIENT", f"project_{project.pk}": ""})
    assert choices() == Choices(Frequency.IMMEDIATE)


@pytest.mark.parametrize("wrong", [{"frequency": "hourly"}, {"minimum_class": "UNKNOWN"}, {"frequency": ""}])
def test_an_answer_that_was_not_offered_changes_nothing(cast, wrong: dict[str, str]) -> None:
    answer = cast("alice").post("/settings/", WEEKLY | wrong)
    assert b"nothing was saved" in answer.content
    assert choices() == Choices()


def test_only_own_projects_are_offered_and_taken(cast) -> None:
    other = Project.objects.create(name="project_465000002")
    client = cast("alice")
    assert b"project_465000002" not in client.get("/settings/").content
    client.post("/settings/", WEEKLY | {f"project_{other.pk}": "off"})
    assert choices().projects == {}


def test_nobody_changes_the_choices_of_another(cast) -> None:
    cast("bob").post("/settings/", WEEKLY)
    assert choices("alice") == Choices()
    assert choices("bob").frequency is Frequency.WEEKLY


def test_a_form_without_its_token_is_refused(cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="alice"))
    assert client.post("/settings/", WEEKLY).status_code == 403
    assert choices() == Choices()


def test_the_page_says_where_mail_goes_or_that_there_is_no_address(cast) -> None:
    client = cast("alice")
    assert b"Kaiku has no mail address for you" in client.get("/settings/").content
    User.objects.filter(username="alice").update(email="alice@users.example")
    assert b"Mail goes to alice@users.example." in client.get("/settings/").content


def test_a_new_choice_holds_for_what_waits_in_the_outbox(cast, reported) -> None:
    reported()
    User.objects.filter(username="alice").update(email="alice@users.example")
    now = Report.objects.get().job.ended_at + timedelta(hours=1)
    assert plan_due(10, now) == 1
    cast("alice").post("/settings/", {"frequency": "off", "minimum_class": "EFFICIENT"})
    assert not Delivery.objects.exists()
    plan_due(10, now)
    assert Delivery.objects.get().reason == "mail_off"


def test_the_page_costs_the_same_queries_for_one_project_and_for_fifty(cast) -> None:
    client, counts = cast("alice"), []
    alice = User.objects.get(username="alice")
    for names in ([], [f"project_{number}" for number in range(50)]):
        for name in names:
            set_role(alice, Project.objects.create(name=name), "member")
        everything = {project.pk: Frequency.WEEKLY for project in Project.objects.all()}
        save_choices(alice, Choices(projects=everything), timezone.now())
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/settings/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
