"""The page of webhooks: created with a secret that is shown once, nobody else's, and its address never shown again."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from jobs.audit.models import AuditEntry
from jobs.models import Membership, User
from reports.models import Webhook, WebhookDelivery
from reports.webhooks.services.secrets import address_of, signing_secret

pytestmark = pytest.mark.django_db

PAGE = "/settings/webhooks/"
ADDRESS = "https://hooks.example.org/services/T000/B000/very-secret-part-wxyz"
SECRET = re.compile(r"kaiku_hook_[\w-]{43}")
HIDDEN_PART = "very-secret-part"


def made(client: Client, **fields: str):
    return client.post(PAGE, {"name": "ops", "shape": "generic", "webhook_address": ADDRESS} | fields)


def test_a_new_webhook_shows_its_secret_once_and_its_address_never(cast) -> None:
    client = cast("alice")
    answer = made(client)
    (secret,) = SECRET.findall(answer.content.decode())
    webhook = Webhook.objects.get()
    assert secret == signing_secret(webhook)
    assert address_of(webhook) == ADDRESS
    assert "no-store" in answer["Cache-Control"]
    page = client.get(PAGE).content.decode()
    assert "hooks.example.org…wxyz" in page
    for shown in (answer.content.decode(), page):
        assert HIDDEN_PART not in shown
    assert not SECRET.findall(page)


def test_creating_renewing_switching_on_and_removing_are_in_the_audit_log_without_the_address(cast) -> None:
    client = cast("alice")
    made(client)
    pk = Webhook.objects.get().pk
    renewed = client.post(f"{PAGE}{pk}/secret/").content.decode()
    assert SECRET.findall(renewed) == [signing_secret(Webhook.objects.get())]
    client.post(f"{PAGE}{pk}/on/")
    client.post(f"{PAGE}{pk}/remove/")
    assert not Webhook.objects.exists()
    entries = AuditEntry.objects.filter(kind="webhook").order_by("pk")
    assert list(entries.values_list("action", "actor", "name", "details")) == [
        ("webhook_made", "alice", str(pk), "personal, generic, hooks.example.org"),
        ("webhook_changed", "alice", str(pk), "new secret"),
        ("webhook_changed", "alice", str(pk), "switched on"),
        ("webhook_removed", "alice", str(pk), "personal, generic, hooks.example.org"),
    ]


@pytest.mark.parametrize("verb", ["test", "secret", "on", "remove"])
def test_another_persons_webhook_is_not_there(cast, verb: str) -> None:
    made(cast("alice"))
    pk = Webhook.objects.get().pk
    stranger = cast("dave")
    assert stranger.post(f"{PAGE}{pk}/{verb}/").status_code == 404
    assert "ops" not in re.findall(r'class="name">([^<]*)<', stranger.get(PAGE).content.decode())
    assert Webhook.objects.count() == 1


def test_only_a_pi_may_create_one_for_a_project(cast) -> None:
    cast("alice")
    project = str(Membership.objects.get(user__username="alice").project_id)
    member = cast("alice")
    made(member, project=project)
    assert Webhook.objects.get().project is None
    assert 'name="project"' not in member.get(PAGE).content.decode()
    lead = cast("carol")
    made(lead, project=project)
    assert Webhook.objects.get(owner__username="carol").project_id == int(project)


def test_another_pi_of_the_project_may_only_remove_it(cast) -> None:
    lead = cast("carol")
    project = Membership.objects.get(user__username="carol").project
    made(lead, project=str(project.pk))
    pk = Webhook.objects.get().pk
    other = cast("dave")
    Membership.objects.create(user=User.objects.get(username="dave"), project=project, role="pi")
    assert "(of carol)" in " ".join(other.get(PAGE).content.decode().split())
    assert other.post(f"{PAGE}{pk}/secret/").status_code == 404
    assert other.post(f"{PAGE}{pk}/remove/").status_code == 302
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "http://hooks.example.org/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://169.254.169.254/latest/meta-data",
        "https://10.1.2.3/x",
        "https://2130706433/x",
        "https://0177.0.0.1/x",
        "https://0x7f.1/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://hooks.example.org:8443/x",
        "https://user:password@hooks.example.org/x",
        "ftp://hooks.example.org/x",
        "hooks.example.org",
        "https://",
        "https://hooks.example.org/" + "x" * 1000,
    ],
)
def test_an_address_that_may_not_be_used_is_refused_with_the_rest_of_the_form_kept(cast, address: str) -> None:
    client = cast("alice")
    answer = made(client, webhook_address=address)
    assert not Webhook.objects.exists()
    page = answer.content.decode()
    assert 'value="ops"' in page
    assert 'class="refusal"' in page


def test_a_second_webhook_of_the_same_name_is_refused(cast) -> None:
    client = cast("alice")
    made(client)
    assert "choose another one" in made(client).content.decode()
    assert Webhook.objects.count() == 1


def test_the_sixth_is_refused_with_its_reason(cast) -> None:
    client = cast("alice")
    for number in range(6):
        answer = made(client, name=f"ops {number}")
    assert "5 webhooks, which is the limit" in answer.content.decode()
    assert Webhook.objects.count() == 5


def test_a_test_is_put_into_the_outbox_once(cast) -> None:
    client = cast("alice")
    made(client)
    pk = Webhook.objects.get().pk
    for _ in range(2):
        client.post(f"{PAGE}{pk}/test/")
    assert WebhookDelivery.objects.filter(is_test=True).count() == 1


def test_what_was_sent_after_the_session_ended_is_kept_without_the_address(cast) -> None:
    cast("alice")
    late = Client()
    alice = str(User.objects.get(username="alice").pk)
    late.post(PAGE, {"name": "ops", "shape": "slack", "webhook_address": ADDRESS, "writer": alice})
    kept = late.session["unsaved"]["fields"]
    assert kept == {"name": "ops", "shape": "slack"}


def test_a_portal_without_webhooks_has_no_such_page(cast, settings) -> None:
    settings.WEBHOOKS = False
    client = cast("alice")
    assert client.get(PAGE).status_code == 404
    assert made(client).status_code == 404
    assert PAGE not in client.get("/settings/").content.decode()


def test_one_switched_off_after_failures_is_named_with_its_last_result(cast) -> None:
    client = cast("alice")
    made(client)
    webhook = Webhook.objects.get()
    Webhook.objects.update(off_at=webhook.created_at, last_at=webhook.created_at, last_outcome="404 Not Found")
    page = " ".join(client.get(PAGE).content.decode().split())
    assert "failed for days. Last result: 404 Not Found." in page
    assert f"{PAGE}{webhook.pk}/on/" in page
