"""Valid sign-ins without an account are noted by digest alone; an administrator who has the identifier finds them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from jobs.models import UnknownIdentity, User
from jobs.services import replace_grants
from jobs.sign_in.services import record_unknown_identity
from portal.expiry import expire
from portal.sign_in.identities import subject_digest
from tests.portal.provider import FakeProvider, signed_in

TABLE = "/admin/jobs/unknownidentity/"


@pytest.fixture
def grace(settings, db: None) -> Client:
    """An administrator, where accounts are local."""
    user = get_user_model().objects.create_user("grace", oidc_subject="grace@myaccessid.org")
    replace_grants("csv", {(user.pk, "administrator")})
    client = Client()
    client.force_login(user)
    return client


def test_an_identity_without_an_account_is_counted_by_its_digest_alone(idp: FakeProvider) -> None:
    began = timezone.now()
    idp.subject, idp.userinfo = "new@myaccessid.org", {"email": "new@example.org", "name": "New"}
    for _ in range(3):
        assert signed_in(idp, Client())["Location"] == "/sign-in/no-account/"
    row = UnknownIdentity.objects.values().get()
    assert (row["times"], row["digest"]) == (3, subject_digest("new@myaccessid.org"))
    assert began <= row["first_at"] < row["last_at"] <= timezone.now()
    assert not [value for value in row.values() if "new" in str(value).lower()]


def test_whoever_has_an_account_or_was_refused_is_not_noted(idp: FakeProvider) -> None:
    signed_in(idp, Client())
    User.objects.update(is_active=False)
    assert signed_in(idp, Client())["Location"] == "/sign-in/no-account/"
    idp.subject, idp.claims = "new@myaccessid.org", {"aud": "other"}
    assert signed_in(idp, Client()).status_code == 403
    assert not UnknownIdentity.objects.exists()


def test_the_digest_has_a_key_of_this_portal(settings) -> None:
    here = subject_digest("new@myaccessid.org")
    settings.SECRET_KEY = "another"
    assert subject_digest("new@myaccessid.org") != here
    assert len(here) == 64


def test_an_administrator_finds_the_identifier_that_a_person_reads_out(grace: Client, settings) -> None:
    record_unknown_identity(subject_digest("New@idp"), timezone.now())
    record_unknown_identity(subject_digest("other@idp"), timezone.now())

    def found(query: str) -> int:
        return grace.get(TABLE, {"q": query}).context["cl"].result_count

    assert [found(query) for query in ("", "New@idp", " New@idp ", "new@idp", "New", "idp", "a b", "ä")] == [
        *(2, 1, 1),
        *(0,) * 5,
    ]
    assert found(subject_digest("New@idp")) == 0, "what is stored is no identifier"
    settings.OIDC_SUBJECT_CASE = "lower"
    record_unknown_identity(subject_digest("new@idp"), timezone.now())
    assert found("NEW@idp") == 1


def test_the_table_is_to_look_at_and_for_administrators_only(grace: Client, settings) -> None:
    record_unknown_identity(subject_digest("new@idp"), timezone.now())
    row = UnknownIdentity.objects.get()
    page = grace.get(TABLE).content.decode()
    assert f"{row.digest[:12]}…" in page
    assert row.digest not in page
    assert grace.get(f"{TABLE}?digest__startswith={row.digest[:1]}").status_code == 400
    assert [grace.get(f"{TABLE}{path}").status_code for path in ("add/", f"{row.pk}/delete/")] == [403, 403]
    assert grace.get(f"{TABLE}{row.pk}/change/").status_code == 200
    replace_grants("csv", set())
    assert grace.get(TABLE).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_an_identity_that_does_not_come_back_is_forgotten_after_the_days_of_logs(settings) -> None:
    now, settings.LOG_DAYS = timezone.now(), 30
    for subject, days in (("long ago", 31), ("lately", 29)):
        record_unknown_identity(subject_digest(subject), now - timedelta(days=days))
    record_unknown_identity(subject_digest("both"), now - timedelta(days=100))
    record_unknown_identity(subject_digest("both"), now - timedelta(days=1))
    expire(now)
    left = set(UnknownIdentity.objects.values_list("digest", "times"))
    assert left == {(subject_digest("lately"), 1), (subject_digest("both"), 2)}
