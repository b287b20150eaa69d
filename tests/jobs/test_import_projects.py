"""`manage.py import_projects`: what a directory says becomes who may see what, at the next request."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from jobs.allocations import AllocatedHours
from jobs.directory import Directory
from jobs.imports.services import import_directory
from jobs.models import Grant, Membership, Project, ProjectAllocation, User
from jobs.selectors import allocations_of, led_projects, linked_user, visible_jobs
from jobs.services import end_sessions, record_directory, record_job, record_sign_in
from tests.payloads import job_record
from tests.roles import has_role

pytestmark = pytest.mark.django_db

PROJECT = "project_465000001"
HEADER = "username,project,role,subject,email\n"


def imported(tmp_path: Path, *rows: str, options: tuple[str, ...] = (), header: str = HEADER) -> str:
    file = tmp_path / "people.csv"
    file.write_text(header + "".join(f"{row}\n" for row in rows))
    out = io.StringIO()
    call_command("import_projects", str(file), *options, stdout=out, stderr=io.StringIO())
    return out.getvalue().strip()


def members() -> dict[str, str]:
    return dict(Membership.objects.values_list("user__username", "role"))


def test_a_directory_is_stored_and_again_changes_nothing(tmp_path: Path) -> None:
    rows = (f"carol,{PROJECT},pi,c@idp,carol@example.org", f"alice,{PROJECT},,,", "erin,,administrator,,")
    said = "1 projects, 2 memberships: {} began, 0 ended; {} identities changed;"
    said += " portal roles: {} began, 0 ended; 0 rows left out"
    assert imported(tmp_path, *rows) == said.format(2, 1, 1)
    kept = list(Membership.objects.values_list("pk", flat=True))
    assert imported(tmp_path, *rows) == said.format(0, 0, 0)
    assert list(Membership.objects.values_list("pk", flat=True)) == kept
    assert members() == {"carol": "pi", "alice": "member"}
    assert User.objects.get(email="carol@example.org").oidc_subject == "c@idp"
    erin = User.objects.get(username="erin")
    assert (erin.is_staff, erin.is_superuser, erin.has_usable_password()) == (True, True, False)


def test_an_ended_membership_ends_access_and_a_late_job_does_not_bring_it_back(tmp_path: Path) -> None:
    record_job(job_record())
    imported(tmp_path, f"carol,{PROJECT},pi,,", f"alice,{PROJECT},,,")
    carol = User.objects.get(username="carol")
    assert visible_jobs(carol).count() == 1
    imported(tmp_path, f"bob,{PROJECT},,,")
    assert visible_jobs(carol).count() == 0
    record_job(job_record(job_id=2))
    assert members() == {"bob": "member"}
    assert visible_jobs(User.objects.get(username="alice")).count() == 2, "one's own jobs stay one's own"


def test_a_pi_may_become_a_member_and_the_other_way_round(tmp_path: Path) -> None:
    imported(tmp_path, f"carol,{PROJECT},pi,,", f"alice,{PROJECT},,,")
    imported(tmp_path, f"carol,{PROJECT},,,", f"alice,{PROJECT},pi,,")
    assert members() == {"carol": "member", "alice": "pi"}
    assert not led_projects(User.objects.get(username="carol")).exists()


def test_two_sources_add_up_and_each_ends_only_what_it_said(tmp_path: Path) -> None:
    imported(tmp_path, f"carol,{PROJECT},pi,,")
    record_directory(Directory(source="slurm", roles={PROJECT: {"carol": "member", "alice": "member"}}))
    assert members() == {"carol": "pi", "alice": "member"}
    imported(tmp_path, "dave,project_2,,,")
    assert members() == {"carol": "member", "alice": "member", "dave": "member"}


def test_science_fields_follow_the_source_that_states_them(tmp_path: Path) -> None:
    header = "username,project,science_field\n"
    imported(tmp_path, "alice,p1,", "bob,p2,", ",p1,Chemistry", ",p2,Physics", header=header)
    fields = Project.objects.order_by("name").values_list("name", "science_field")
    assert list(fields.all()) == [("p1", "Chemistry"), ("p2", "Physics")]
    imported(tmp_path, "alice,p1,,,", "bob,p2,,,")
    assert list(fields.all()) == [("p1", "Chemistry"), ("p2", "Physics")], "a source without fields changes none"
    imported(tmp_path, "alice,p1,", "bob,p2,", ",p1,Biology", header=header)
    assert list(fields.all()) == [("p1", "Biology"), ("p2", "")]


def test_one_project_file_says_nothing_about_other_projects(tmp_path: Path) -> None:
    for name in ("project_1", "project_2"):
        (tmp_path / f"{name}.json").write_text('{"members": {"alice": {"active": true}, "bob": {"active": true}}}')
    call_command("import_projects", str(tmp_path), stdout=io.StringIO())
    (tmp_path / "project_1.json").write_text('{"members": {"alice": {"active": false}}}')
    call_command("import_projects", str(tmp_path / "project_1.json"), stdout=io.StringIO())
    assert set(Membership.objects.values_list("project__name", "user__username")) == {
        ("project_2", "alice"),
        ("project_2", "bob"),
    }


def test_accounts_linked_in_lower_case_are_linked_anew_by_the_next_import_unless_the_site_folds(
    tmp_path: Path, settings
) -> None:
    rows = (f"alice,{PROJECT},,A@idp,", f"bob,{PROJECT},,b@idp,")
    settings.OIDC_SUBJECT_CASE = "lower"
    imported(tmp_path, *rows)
    epochs = {user.username: user.session_epoch for user in User.objects.all()}
    imported(tmp_path, *rows)
    assert (linked_user("a@idp").username, linked_user("A@idp")) == ("alice", None)
    assert {user.username: user.session_epoch for user in User.objects.all()} == epochs
    settings.OIDC_SUBJECT_CASE = "exact"
    imported(tmp_path, *rows)
    assert (linked_user("a@idp"), linked_user("A@idp").username) == (None, "alice")
    ended = {user.username for user in User.objects.all() if user.session_epoch != epochs[user.username]}
    assert ended == {"alice"}, "only whose identity is another one now is signed out"


def test_a_new_identity_of_a_person_takes_the_place_of_the_old_and_ends_its_sessions(tmp_path: Path) -> None:
    imported(tmp_path, f"alice,{PROJECT},,old@idp,")
    alice, client = linked_user("old@idp"), Client()
    client.force_login(alice)
    assert client.get("/jobs/").status_code == 200
    imported(tmp_path, f"alice,{PROJECT},,NEW@idp,")
    assert (linked_user("old@idp"), linked_user("new@idp"), linked_user("NEW@idp")) == (None, None, alice)
    assert client.get("/jobs/").status_code == 302


def test_identities_may_change_places_and_move_to_another_account(tmp_path: Path) -> None:
    imported(tmp_path, f"alice,{PROJECT},,a@idp,", f"bob,{PROJECT},,b@idp,")
    imported(tmp_path, f"alice,{PROJECT},,b@idp,", f"bob,{PROJECT},,a@idp,")
    assert (linked_user("a@idp").username, linked_user("b@idp").username) == ("bob", "alice")
    imported(tmp_path, f"alice2,{PROJECT},,b@idp,", f"bob,{PROJECT},,a@idp,", f"alice,{PROJECT},,,")
    assert linked_user("b@idp").username == "alice2"
    assert User.objects.get(username="alice").oidc_subject is None


def test_an_identity_that_is_no_longer_listed_is_unlinked_but_not_by_another_source(tmp_path: Path) -> None:
    imported(tmp_path, f"alice,{PROJECT},,a@idp,", f"bob,{PROJECT},,b@idp,")
    record_directory(Directory(source="waldur", roles={PROJECT: {"bob": "pi"}}, links_identities=True))
    assert linked_user("a@idp") is not None
    imported(tmp_path, f"bob,{PROJECT},,b@idp,")
    assert linked_user("a@idp") is None


def test_a_source_that_would_lose_most_of_its_people_is_not_believed(tmp_path: Path) -> None:
    imported(tmp_path, *(f"user{number},{PROJECT},,," for number in range(40)))
    with pytest.raises(CommandError, match=r"lists 1 memberships; 39 of 40 would end; nothing was changed"):
        imported(tmp_path, f"user0,{PROJECT},,,")
    with pytest.raises(CommandError, match="lists 0 memberships"):
        imported(tmp_path)
    assert Membership.objects.count() == 40
    imported(tmp_path, f"user0,{PROJECT},,,", options=("--force",))
    assert Membership.objects.count() == 1


def test_a_source_that_would_take_the_last_administrator_is_not_believed(tmp_path: Path) -> None:
    row = f"alice,{PROJECT},,,"
    imported(tmp_path, row, "erin,,administrator,,", "frank,,administrator,,")
    assert "portal roles: 0 began, 1 ended" in imported(tmp_path, row, "erin,,administrator,,")
    refused = "csv would remove the role of the last administrator; nothing was changed. Use --force to apply it anyway"
    with pytest.raises(CommandError, match=refused):
        imported(tmp_path, row, "bob,project_2,,,", "erin,,support,,")
    assert (members(), User.objects.get(is_superuser=True).username) == ({"alice": "member"}, "erin")
    said = imported(tmp_path, row, "erin,,support,,", options=("--force",))
    assert "portal roles: 1 began, 1 ended" in said
    assert not User.objects.filter(is_superuser=True).exists()
    assert "portal roles: 0 began, 1 ended" in imported(tmp_path, row), "where there was none, none is lost"


def test_an_administrator_whose_account_is_closed_or_who_is_known_otherwise(tmp_path: Path) -> None:
    row = f"alice,{PROJECT},,,"
    imported(tmp_path, row, "erin,,administrator,,", "frank,,administrator,,")
    User.objects.filter(username="frank").update(is_active=False)
    with pytest.raises(CommandError, match="the last administrator"):
        imported(tmp_path, row, "frank,,administrator,,")
    record_sign_in(User.objects.create(username="grace"), email="", roles=["administrator"])
    imported(tmp_path, row, "frank,,administrator,,")
    assert set(User.objects.filter(is_superuser=True).values_list("username", flat=True)) == {"frank", "grace"}


def test_portal_roles_come_from_the_directory_and_from_the_groups_of_a_sign_in(tmp_path: Path) -> None:
    imported(tmp_path, f"alice,{PROJECT},,,", "erin,,support,,", "frank,,policy,,")
    erin, frank = User.objects.get(username="erin"), User.objects.get(username="frank")
    assert (erin.is_staff, erin.is_superuser, frank.is_staff) == (True, False, False)
    assert has_role(frank, Grant.Role.POLICY)
    record_sign_in(frank, email="f@example.org", roles=["administrator"])
    imported(tmp_path, f"alice,{PROJECT},,,", "erin,,policy,,")
    erin.refresh_from_db()
    frank.refresh_from_db()
    assert (erin.is_staff, has_role(erin, Grant.Role.POLICY), has_role(frank, Grant.Role.POLICY)) == (
        False,
        True,
        False,
    )
    assert (frank.is_superuser, frank.email) == (True, "f@example.org")
    record_sign_in(frank, email="", roles=[])
    frank.refresh_from_db()
    assert (frank.is_superuser, frank.is_staff, frank.email) == (False, False, "f@example.org")
    assert has_role(erin, Grant.Role.POLICY), "a sign-in concerns nobody else"


def test_a_list_that_says_nothing_of_roles_and_identities_takes_none_away(tmp_path: Path) -> None:
    imported(tmp_path, f"alice,{PROJECT},,a@idp,", "erin,,support,,")
    imported(tmp_path, f"alice,{PROJECT}", header="username,project\n")
    assert User.objects.get(username="erin").is_staff
    assert linked_user("a@idp") is not None


def test_signing_somebody_out_ends_every_session(django_user_model) -> None:
    alice = django_user_model.objects.create_user("alice")
    clients = [Client(), Client()]
    for client in clients:
        client.force_login(alice)
    end_sessions(alice)
    assert [client.get("/jobs/").status_code for client in clients] == [302, 302]


def test_what_cannot_be_asked_is_said(tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for arguments, why in (
        ((), "name a FILE, --waldur URL or --slurm"),
        (("--slurm",), "sacctmgr cannot be started"),
        (("--waldur", "ftp://x"), "not an http"),
        (("--waldur", "https://puhuri.example"), "WALDUR_TOKEN"),
        ((str(tmp_path / "no.csv"),), "No such file"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("import_projects", *arguments)


def test_the_background_task_asks_the_configured_source_and_outlives_its_faults(tmp_path: Path, settings) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"username,project\nalice,{PROJECT}\n")
    settings.DIRECTORY_SOURCE = str(file)
    import_directory(timezone.now())
    file.unlink()
    import_directory(timezone.now())
    assert members() == {"alice": "member"}
    assert Project.objects.get().is_listed


def hours() -> dict[str, tuple[float, float | None]]:
    rows = allocations_of(Project.objects.all())
    return {row.project.name: (row.gpu_hours, row.used_gpu_hours) for row in rows.values()}


HOURS_HEADER = "username,project,gpu_hours,used_gpu_hours\n"


def test_allocations_change_and_end_with_the_directory_that_names_them(tmp_path: Path) -> None:
    imported(tmp_path, f"alice,{PROJECT},,", f",{PROJECT},1000,10", ",project_2,50,", header=HOURS_HEADER)
    assert hours() == {PROJECT: (1000.0, 10.0), "project_2": (50.0, None)}
    kept = ProjectAllocation.objects.get(project__name=PROJECT)
    imported(tmp_path, f"alice,{PROJECT},,", f",{PROJECT},1200,20", header=HOURS_HEADER)
    assert hours() == {PROJECT: (1200.0, 20.0)}
    assert ProjectAllocation.objects.get().pk == kept.pk
    imported(tmp_path, f"alice,{PROJECT},,,")
    assert hours() == {PROJECT: (1200.0, 20.0)}, "a list without the column says nothing of hours"


def test_hours_alone_end_no_membership(tmp_path: Path) -> None:
    record_job(job_record())
    imported(tmp_path, f",{PROJECT},1000,10", header=HOURS_HEADER)
    assert hours() == {PROJECT: (1000.0, 10.0)}
    assert (members(), Project.objects.get().is_listed) == ({"alice": "member"}, False)
    imported(tmp_path, f"bob,{PROJECT},,", f",{PROJECT},1000,10", header=HOURS_HEADER)
    with pytest.raises(CommandError, match="lists 0 memberships; 1 of 1 would end"):
        imported(tmp_path, f",{PROJECT},1000,10", header=HOURS_HEADER)


def test_of_two_directories_the_one_that_counts_the_use_is_shown(tmp_path: Path) -> None:
    roles = {PROJECT: {"alice": "member"}}
    lumi = Directory("lumi", roles, allocations={PROJECT: AllocatedHours(900.0, 30.0)}, tells_hours=True)
    waldur = Directory("waldur", roles, allocations={PROJECT: AllocatedHours(1000.0)}, tells_hours=True)
    for directory in (lumi, waldur):
        record_directory(directory)
    assert hours() == {PROJECT: (900.0, 30.0)}
    record_directory(Directory("lumi", roles, tells_hours=True))
    assert hours() == {PROJECT: (1000.0, None)}


def test_one_project_file_leaves_the_hours_of_other_projects(tmp_path: Path) -> None:
    text = '{"billing": {"gpu_hours": {"alloc": %d, "used": 1}}, "members": {"alice": {"active": true}}}'
    for number in (1, 2):
        (tmp_path / f"project_{number}.json").write_text(text % number)
    call_command("import_projects", str(tmp_path), stdout=io.StringIO())
    (tmp_path / "project_1.json").write_text('{"members": {"alice": {"active": true}}}')
    call_command("import_projects", str(tmp_path / "project_1.json"), stdout=io.StringIO())
    assert hours() == {"project_2": (2.0, 1.0)}
