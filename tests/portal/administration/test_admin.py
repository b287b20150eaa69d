"""Django's administration: for administrators alone, what directories own to look at, every change written down."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from jobs.accounts.services import ADMINISTRATION, give_role
from jobs.audit.services import by_command
from jobs.models import AuditEntry, Grant, Membership, Project, Token, User, WorkFailure
from jobs.services import replace_grants
from jobs.tokens.selectors import valid_token
from jobs.tokens.services import issue_token
from tests.portal.conftest import carry_session
from tests.roles import has_role
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

BY_TEST = by_command("test")
USERS, GRANTS, MEMBERSHIPS = "/admin/jobs/user/", "/admin/jobs/grant/", "/admin/jobs/membership/"
TOKENS = "/admin/jobs/token/"


@pytest.fixture
def grace(cast) -> Client:
    """The administrator of the cast."""
    return cast("grace")


def user(name: str) -> User:
    return User.objects.get(username=name)


def logged() -> list[tuple[str, str]]:
    """By whom and of what; what the directory of the cast said is left out."""
    return list(AuditEntry.objects.exclude(actor_kind="directory").order_by("pk").values_list("actor", "name"))


def is_signed_in(client: Client) -> bool:
    return client.get("/jobs/").status_code == 200


@pytest.mark.parametrize("path", ["/admin/", USERS, f"{USERS}1/", "/admin/nothing/", "/admin/login/"])
def test_the_way_in_is_the_portals_own_and_for_administrators_only(cast, path: str) -> None:
    assert Client().get(path)["Location"] == f"/sign-in/?next={path}"
    for name in ("dave", "carol", "erin", "frank"):
        assert cast(name).get(path).status_code == 404


def test_whoever_loses_the_role_loses_the_administration_at_the_next_request(cast, grace) -> None:
    assert grace.get("/admin/").status_code == 200
    replace_grants("csv", set())
    assert grace.get("/admin/").status_code == 404


def test_no_page_shows_a_password_a_digest_or_a_secret(cast) -> None:
    User.objects.exclude(username="grace").update(password="md5$neverseen$neverseen")
    grace = cast("grace")
    secret = create_collector_token("nodes", "lumi")
    personal = issue_token(user("alice"), name="n", days=30, now=timezone.now())
    digests = Token.objects.values_list("digest", flat=True)
    assert len(digests) == 2
    pages = [f"{USERS}{user('alice').pk}/change/", USERS]
    pages += [TOKENS, *(f"{TOKENS}{pk}/change/" for pk in Token.objects.values_list("pk", flat=True))]
    for path in pages:
        answer = grace.get(path)
        assert answer.status_code == 200, path
        content = answer.content.decode()
        assert not [word for word in (secret, personal, *digests, "neverseen", "password") if word in content], path


def test_an_account_is_closed_and_opened_again_and_its_sessions_end(cast, grace) -> None:
    alice, path = cast("alice"), f"{USERS}{user('alice').pk}/change/"
    grace.post(path, {"oidc_subject": ""})
    assert not user("alice").is_active
    assert not is_signed_in(alice)
    grace.post(path, {"is_active": "on", "oidc_subject": ""})
    assert user("alice").is_active
    assert not is_signed_in(alice), "an old session does not come back"
    assert logged() == [("grace", "alice")] * 2


def test_an_identity_is_linked_by_hand_where_no_directory_does(cast, grace, settings) -> None:
    alice, path = cast("alice"), f"{USERS}{user('alice').pk}/change/"
    grace.post(path, {"is_active": "on", "oidc_subject": "Alice@Idp.Example"})
    assert (user("alice").oidc_subject, user("alice").linked_by) == ("Alice@Idp.Example", ADMINISTRATION)
    assert not is_signed_in(alice)
    settings.OIDC_SUBJECT_CASE = "lower"
    grace.post(path, {"is_active": "on", "oidc_subject": "ALICE@Idp.Example"})
    assert user("alice").oidc_subject == "alice@idp.example"
    taken = grace.post(f"{USERS}{user('bob').pk}/change/", {"is_active": "on", "oidc_subject": "alice@idp.example"})
    assert "already exists" in taken.content.decode()
    grace.post(path, {"is_active": "on", "oidc_subject": ""})
    assert (user("alice").oidc_subject, user("alice").linked_by) == (None, "")


@pytest.mark.parametrize(
    "wrong", [" alice@idp", "alice@idp ", "alice @idp", "alice@idp\u00a0", "\u212a@idp", "x" * 256]
)
def test_an_identity_with_blanks_or_beyond_ascii_is_not_linked(grace, wrong: str) -> None:
    path = f"{USERS}{user('alice').pk}/change/"
    answer = grace.post(path, {"is_active": "on", "oidc_subject": wrong})
    assert b"at most 255 ASCII characters and no white space" in answer.content
    assert user("alice").oidc_subject is None


def test_the_link_of_a_directory_is_only_shown(grace) -> None:
    User.objects.filter(username="alice").update(oidc_subject="alice@idp.example", linked_by="waldur")
    path = f"{USERS}{user('alice').pk}/change/"
    assert 'name="oidc_subject"' not in grace.get(path).content.decode()
    grace.post(path, {"is_active": "on", "oidc_subject": "mallory@idp.example"})
    assert user("alice").oidc_subject == "alice@idp.example"


@pytest.mark.parametrize("forged", ["is_superuser", "is_staff", "username", "email", "session_epoch", "password"])
def test_nothing_else_of_an_account_is_taken_from_a_form(grace, forged: str) -> None:
    before = User.objects.filter(username="alice").values(forged)[0]
    grace.post(f"{USERS}{user('alice').pk}/change/", {"is_active": "on", "oidc_subject": "", forged: "1"})
    assert User.objects.filter(pk=user("alice").pk).values(forged)[0] == before


def test_nobody_closes_the_own_account_or_takes_the_own_role(grace) -> None:
    assert grace.post(f"{USERS}{user('grace').pk}/change/", {"oidc_subject": ""}).status_code == 403
    own = give_role(user("grace"), Grant.Role.ADMINISTRATOR, by=BY_TEST)
    assert grace.post(f"{GRANTS}{own.pk}/delete/", {"post": "yes"}).status_code == 403
    assert user("grace").is_active
    assert user("grace").is_superuser


def test_people_are_signed_out_everywhere(cast, grace) -> None:
    browsers = [cast("alice"), cast("alice"), cast("bob")]
    chosen = [user("alice").pk]
    grace.post(USERS, {"action": "sign_out_everywhere", "_selected_action": chosen})
    assert [is_signed_in(browser) for browser in browsers] == [False, False, True]
    assert logged() == [("grace", "alice")]


def test_a_role_is_given_and_taken_back(cast, grace) -> None:
    bob = cast("bob")
    assert bob.get("/support/outbox/").status_code == 404
    grace.post(f"{GRANTS}add/", {"user": "bob", "role": "support"})
    assert has_role(user("bob"), Grant.Role.SUPPORT)
    assert bob.get("/support/outbox/").status_code == 200
    assert "already has this role" in grace.post(f"{GRANTS}add/", {"user": "bob", "role": "support"}).content.decode()
    given = Grant.objects.get(user=user("bob"))
    grace.post(f"{GRANTS}{given.pk}/delete/", {"post": "yes"})
    assert bob.get("/support/outbox/").status_code == 404
    assert [who for who, _ in logged()] == ["grace", "grace"]


def test_who_gives_support_and_policy_reading_to_one_person_reads_what_follows(grace) -> None:
    what = "One person with both roles can find out whose figures are whose"
    assert what in grace.get(f"{GRANTS}add/").content.decode()
    first = grace.post(f"{GRANTS}add/", {"user": "bob", "role": "policy"}, follow=True).content.decode()
    assert what not in first
    # erin is support staff by her directory.
    for name, role in (("bob", "support"), ("erin", "policy")):
        page = grace.post(f"{GRANTS}add/", {"user": name, "role": role}, follow=True).content.decode()
        assert f"The account {name} now has both roles. Support staff see by name whose flag is raised" in page
        assert has_role(user(name), Grant.Role(role))
    assert what not in grace.post(f"{GRANTS}add/", {"user": "dave", "role": "support"}, follow=True).content.decode()


def test_a_role_that_a_directory_says_is_only_shown(grace) -> None:
    said = Grant.objects.get(user=user("erin"))
    assert grace.get(f"{GRANTS}{said.pk}/change/").status_code == 200
    assert grace.post(f"{GRANTS}{said.pk}/delete/", {"post": "yes"}).status_code == 403
    give_role(user("erin"), Grant.Role.SUPPORT, by=BY_TEST)
    grace.post(f"{GRANTS}{Grant.objects.get(user=user('erin'), source=ADMINISTRATION).pk}/delete/", {"post": "yes"})
    assert user("erin").is_staff, "the directory still says so"


def test_a_directory_does_not_take_back_what_an_administrator_gave(grace) -> None:
    grace.post(f"{GRANTS}add/", {"user": "bob", "role": "support"})
    replace_grants("csv", {(user("grace").pk, "administrator")})
    assert user("bob").is_staff
    assert not user("erin").is_staff


def test_members_of_a_project_that_no_directory_lists_are_changed_and_others_are_not(cast, grace) -> None:
    said = {"user": "dave", "project": "project_465000001", "role": "member"}
    grace.post(f"{MEMBERSHIPS}add/", said)
    dave = Membership.objects.get(user=user("dave"))
    assert cast("dave").get("/projects/project_465000001/").status_code == 200
    Project.objects.update(is_listed=True)
    assert "A directory manages" in grace.post(f"{MEMBERSHIPS}add/", said | {"user": "erin"}).content.decode()
    assert grace.post(f"{MEMBERSHIPS}{dave.pk}/change/", said | {"role": "pi"}).status_code == 403
    assert grace.post(f"{MEMBERSHIPS}{dave.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Membership.objects.get(pk=dave.pk).role == Membership.Role.MEMBER
    Project.objects.update(is_listed=False)
    grace.post(f"{MEMBERSHIPS}{dave.pk}/delete/", {"post": "yes"})
    assert cast("dave").get("/projects/project_465000001/").status_code == 404


def test_tokens_of_collectors_and_of_people_are_revoked(grace) -> None:
    collectors, person = (
        create_collector_token("nodes", "lumi"),
        issue_token(user("alice"), name="n", days=30, now=timezone.now()),
    )
    for token in Token.objects.order_by("kind"):
        grace.post(TOKENS, {"action": "revoke", "_selected_action": [token.pk]})
    assert valid_token(collectors, ["collector"], timezone.now()) is None
    assert Client(headers={"Authorization": f"Bearer {person}"}).get("/api/v1/jobs/").status_code == 401
    made, revoked = logged()[:2], logged()[2:]
    assert (made, revoked) == (
        [("manage.py create_token", "nodes"), ("alice", "n of alice")],
        [("grace", "nodes"), ("grace", "n of alice")],
    )
    for revoked_at in Token.objects.values_list("revoked_at", flat=True):
        assert timezone.now() - revoked_at < timedelta(minutes=1)


def test_what_was_changed_is_listed_and_cannot_be_changed_itself(grace) -> None:
    grace.post(USERS, {"action": "sign_out_everywhere", "_selected_action": [user("alice").pk]})
    entry = AuditEntry.objects.get(action="sessions_ended")
    shown = grace.get("/admin/jobs/auditentry/", {"action__exact": "sessions_ended"}).content.decode()
    assert shown.count("field-actor") == 2  # of each row, who it was and what that is
    for what, said in (("delete", {"post": "yes"}), ("change", {"actor": "mallory"})):
        assert grace.post(f"/admin/jobs/auditentry/{entry.pk}/{what}/", said).status_code == 403
    assert AuditEntry.objects.get(pk=entry.pk).actor == "grace"


@pytest.mark.parametrize(
    ("path", "helps"),
    [
        (GRANTS, ["The user name, as in the list of users."]),
        (MEMBERSHIPS, ["The user name, as in the list of users.", "The name, as in the list of projects."]),
    ],
)
def test_a_field_that_wants_a_name_says_which(grace, path: str, helps: list[str]) -> None:
    page = grace.get(f"{path}add/").content.decode()
    assert [said for said in helps if said not in page] == []


def test_it_is_under_the_strict_policy(grace) -> None:
    answer = grace.get(f"{USERS}{user('alice').pk}/change/")
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert " style=" not in answer.content.decode()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_an_administrator_gives_a_role_in_a_browser_that_complains_of_nothing(browser, live_server, cast) -> None:
    context = browser.new_context(base_url=live_server.url)
    carry_session(context, live_server, cast("grace"))
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto("/admin/")
    page.click("text=Grants")
    page.click("text=Add grant")
    page.fill("#id_user", "bob")
    page.select_option("#id_role", "support")
    page.click("text=Save >> nth=0")
    page.wait_for_selector(".messagelist:has-text('was added successfully')")
    page.goto(f"{USERS}{user('bob').pk}/change/")
    assert "Support staff" in page.text_content(".field-roles")
    page.click("text=Sign out")
    page.wait_for_selector("h1:text-is('Sign in')")
    assert said == []
    context.close()


def test_work_that_was_set_aside_is_listed_and_tried_again_at_the_press_of_a_button(grace: Client) -> None:
    now = timezone.now()
    failed = WorkFailure.objects.create(
        kind="judgement", key=17, tries=5, first_at=now, last_at=now, next_at=now, set_aside_at=now,
        error="ValueError at metrics/packing.py:40",
    )  # fmt: skip
    WorkFailure.objects.create(kind="judgement", key=18, claimed_until=now)
    page = grace.get("/admin/jobs/workfailure/").content.decode()
    assert "ValueError at metrics/packing.py:40" in page
    assert page.count("field-kind") == 1
    grace.post("/admin/jobs/workfailure/", {"action": "try_again", "_selected_action": [failed.pk]})
    failed.refresh_from_db()
    assert (failed.tries, failed.set_aside_at, failed.next_at) == (1, None, None)
    assert logged() == [("grace", "judgement 17")]
