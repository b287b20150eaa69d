"""Webhooks against a real https server: whose words arrive where, once, signed, and what failures do."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from analysis.models import EarlyWord
from jobs.models import Membership, User
from jobs.services import record_job
from jobs.work_queue.outbox.rules import BACK_OFF
from reports.mail.services.preferences import save_early_choice
from reports.models import Webhook, WebhookDelivery
from reports.webhooks.services.keeping import (
    TooMany,
    create_webhook,
    remove_webhook,
    renew_secret,
    request_test,
    switch_on,
)
from reports.webhooks.services.planning import plan_posts
from reports.webhooks.services.secrets import address_of, signature, signing_secret
from reports.webhooks.services.sending import claim_some, send_posts
from tests.early_words import FOUND_AT, ended_job, found_word, queue_was_read
from tests.payloads import job_record
from tests.web_receiver import Receiver

pytestmark = pytest.mark.django_db

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
PROJECT = "project_465000001"


def posted(now=FOUND_AT, round_s: float = 30.0) -> int:
    """One round at this moment: how many posts were taken."""
    plan_posts(100, now)
    return send_posts(now, round_s)


def states() -> list[tuple[str, str]]:
    return sorted(WebhookDelivery.objects.values_list("state", "reason"))


def test_a_word_is_posted_once_and_signed(hook, web: Receiver) -> None:
    webhook = hook()
    found_word()
    assert [posted(), posted(FOUND_AT + MINUTE), posted(FOUND_AT + 2 * DAY)] == [1, 0, 0]
    (post,) = web.posts
    at_s = int(FOUND_AT.timestamp())
    assert post.headers["X-Kaiku-Signature"] == signature(signing_secret(webhook), at_s, post.body)
    told = json.loads(post.body)
    assert (told["schema"], told["is_test"]) == ("early-word/1", False)
    assert told["delivery"] == post.headers["X-Kaiku-Delivery"] == str(WebhookDelivery.objects.get().key)
    assert told["summary"] == "8 GPUs of train (lumi/123456) idle for 1 h 05 min"
    (word,) = told["words"]
    assert (word["code"], word["job"]["job_id"], word["job"]["user"]) == ("all_gpus_idle", 123456, "alice")
    assert word["possibility"]["command"] == "scancel 123456"


def test_another_persons_words_do_not_arrive(hook, web: Receiver) -> None:
    hook("bob")
    found_word()
    assert posted() == 0
    assert web.posts == []


def test_words_found_before_a_webhook_was_created_are_not_posted(hook, web: Receiver) -> None:
    hook()
    found_word(found_at=FOUND_AT - MINUTE)
    assert posted() == 0


def test_a_project_gets_words_of_members_who_agreed_and_of_the_pi(hook, web: Receiver) -> None:
    hook("carol", project=PROJECT)
    found_word(1, user="alice")
    found_word(2, user="bob")
    found_word(3, user="carol")
    found_word(4, user="carol", project="project_465000002")
    save_early_choice(User.objects.get(username="alice"), FOUND_AT, to_project=True)
    assert posted() == 1
    users = sorted(word["job"]["user"] for word in json.loads(web.posts[0].body)["words"])
    assert users == ["alice", "carol"]


def test_a_pi_removed_from_the_project_ends_its_webhook(hook, web: Receiver) -> None:
    hook("carol", project=PROJECT)
    found_word(user="carol")
    plan_posts(100, FOUND_AT)
    Membership.objects.filter(user__username="carol").update(role="member")
    assert posted() == 0
    assert states() == [("suppressed", "switched_off_or_not_allowed")]


@pytest.mark.parametrize("change", ["left", "closed", "disagreed"])
def test_words_of_a_member_who_left_or_no_longer_agrees_are_not_posted(hook, web: Receiver, change: str) -> None:
    hook("carol", project=PROJECT)
    found_word(user="alice")
    alice = User.objects.get(username="alice")
    save_early_choice(alice, FOUND_AT, to_project=True)
    plan_posts(100, FOUND_AT)
    if change == "left":
        Membership.objects.filter(user=alice).delete()
    elif change == "closed":
        User.objects.filter(pk=alice.pk).update(is_active=False)
    else:
        save_early_choice(alice, FOUND_AT, to_project=False)
    assert posted() == 0
    assert states() == [("suppressed", "no_longer_so")]


def test_what_no_longer_holds_at_the_last_moment_is_not_posted(hook, web: Receiver) -> None:
    hook()
    found_word(1)
    found_word(2)
    plan_posts(100, FOUND_AT)
    ended_job(1)
    EarlyWord.objects.filter(job_id=2).update(over_at=FOUND_AT)
    assert posted() == 0
    assert states() == [("suppressed", "no_longer_so")]


def test_a_word_whose_job_has_a_record_with_an_end_is_not_posted(hook, web: Receiver) -> None:
    hook()
    found_word(123456)
    plan_posts(100, FOUND_AT)
    record_job(job_record(job_id=123456))  # it ended at FOUND_AT
    assert posted() == 0
    assert states() == [("suppressed", "no_longer_so")]


def test_nothing_is_posted_while_the_queue_was_not_read_lately(hook, web: Receiver) -> None:
    hook()
    found_word()
    plan_posts(100, FOUND_AT)
    queue_was_read(FOUND_AT - HOUR)
    assert posted() == 0
    assert web.posts == []


def test_forty_jobs_are_one_post_with_the_dearest_first(hook, web: Receiver) -> None:
    hook()
    for job_id in range(40):
        found_word(1000 + job_id, gpu_hours_per_hour=4.0 if job_id == 30 else 1.0)
    assert [posted(), posted(FOUND_AT + MINUTE)] == [1, 0]
    told = json.loads(web.posts[0].body)
    assert (len(told["words"]), told["words"][0]["job"]["job_id"], told["left_out"]) == (40, 1030, 0)
    assert told["summary"].startswith("40 jobs: 8 GPUs of train (lumi/1030) idle")


def test_what_a_body_has_no_room_for_is_in_the_next_post(hook, web: Receiver) -> None:
    hook()
    for job_id in range(60):
        found_word(1000 + job_id)
    assert [posted(), posted(FOUND_AT + MINUTE), posted(FOUND_AT + 2 * MINUTE)] == [1, 1, 0]
    assert [len(json.loads(post.body)["words"]) for post in web.posts] == [50, 10]


def test_a_word_that_was_over_before_it_was_posted_and_holds_again_is_posted_once(hook, web: Receiver) -> None:
    hook()
    found_word()
    plan_posts(100, FOUND_AT)
    EarlyWord.objects.update(over_at=FOUND_AT)
    assert [posted(), posted(FOUND_AT + MINUTE)] == [0, 0]
    EarlyWord.objects.update(over_at=None)
    assert [posted(FOUND_AT + 2 * MINUTE), posted(FOUND_AT + 3 * MINUTE)] == [1, 0]


@pytest.mark.parametrize(("stalls", "posts"), [(False, 1), (True, 0)])
def test_a_word_over_after_a_failed_post_is_posted_later_unless_it_may_have_arrived(
    hook, web: Receiver, monkeypatch, stalls: bool, posts: int
) -> None:
    monkeypatch.setattr("reports.webhooks.services.posting.TIMEOUT_S", 1.0)
    hook()
    found_word()
    path = "/hook/of/the/team/abcdefgh"
    web.stalls = {path} if stalls else set()
    web.statuses[path] = 503
    assert posted() == 0
    EarlyWord.objects.update(over_at=FOUND_AT)
    assert posted(FOUND_AT + BACK_OFF[0]) == 0
    web.stalls.clear()
    web.statuses.clear()
    EarlyWord.objects.update(over_at=None)
    assert posted(FOUND_AT + 2 * MINUTE) == posts


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503])
def test_what_may_pass_is_tried_again_with_the_same_number(hook, web: Receiver, status: int) -> None:
    webhook = hook()
    path = "/hook/of/the/team/abcdefgh"
    found_word()
    web.statuses[path] = status
    assert posted() == 0
    assert [state for state, _ in states()] == ["pending"]
    web.statuses.clear()
    assert [posted(FOUND_AT + BACK_OFF[0] - timedelta(seconds=1)), posted(FOUND_AT + BACK_OFF[0])] == [0, 1]
    first, second = (post.headers["X-Kaiku-Delivery"] for post in web.posts)
    assert first == second
    webhook.refresh_from_db()
    assert (webhook.failures, webhook.failing_since, webhook.last_outcome) == (0, None, "200 OK")


def test_a_busy_receiver_is_left_alone_as_long_as_it_asks_and_does_not_count_as_failing(hook, web: Receiver) -> None:
    webhook = hook()
    found_word(1)
    found_word(2)
    web.statuses["/hook/of/the/team/abcdefgh"] = 429
    web.headers["Retry-After"] = "300"
    assert posted() == 0
    assert len(web.posts) == 1
    web.statuses.clear()
    assert [posted(FOUND_AT + 4 * MINUTE), posted(FOUND_AT + 5 * MINUTE)] == [0, 1]
    webhook.refresh_from_db()
    assert webhook.failing_since is None


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 410, 413])
def test_what_is_refused_is_given_up_and_redirects_are_not_followed(hook, web: Receiver, status: int) -> None:
    hook()
    found_word()
    web.statuses["/hook/of/the/team/abcdefgh"] = status
    web.headers["Location"] = f"https://localhost:{web.port}/elsewhere"
    assert [posted(), posted(FOUND_AT + DAY)] == [0, 0]
    assert [post.path for post in web.posts] == ["/hook/of/the/team/abcdefgh"]
    assert [state for state, _ in states()] == ["failed"]


def test_a_receiver_that_dribbles_its_answer_costs_one_timeout_and_blocks_nobody(
    hook, web: Receiver, monkeypatch
) -> None:
    monkeypatch.setattr("reports.webhooks.services.posting.TIMEOUT_S", 1.0)
    hook(path="/slow/and/long/enough/abcd")
    hook("bob")
    web.stalls.add("/slow/and/long/enough/abcd")
    found_word(1)
    plan_posts(100, FOUND_AT)
    WebhookDelivery.objects.update(attempts=1)
    found_word(2)
    found_word(100, user="bob")
    assert posted() == 1
    # Another of alice's waits: after one timeout her webhook is not tried again in this round.
    assert [post.path for post in web.posts].count("/slow/and/long/enough/abcd") == 1


def test_failures_pause_a_webhook_and_days_of_them_switch_it_off(hook, web: Receiver) -> None:
    webhook = hook()
    web.statuses["/hook/of/the/team/abcdefgh"] = 500
    found_word(1)
    now = FOUND_AT
    for pause in BACK_OFF[:3]:
        posted(now)
        now += pause
    webhook.refresh_from_db()
    # Three failures: everything waits for a minute.
    assert (webhook.failures, webhook.paused_until) == (3, FOUND_AT + BACK_OFF[0] + BACK_OFF[1] + MINUTE)
    Webhook.objects.update(failures=4, failing_since=FOUND_AT - 3 * DAY, paused_until=None)
    found_word(2, found_at=now)
    posted(now)
    webhook.refresh_from_db()
    assert webhook.off_at == now
    assert {state for state, _ in states()} == {"suppressed"}
    web.statuses.clear()
    found_word(3, found_at=now)
    assert posted(now + HOUR) == 0
    switch_on(webhook, webhook.owner, now + HOUR)
    found_word(4, found_at=now + HOUR)
    assert posted(now + HOUR) == 1


def test_a_delivery_is_claimed_by_one_worker(hook, web: Receiver) -> None:
    hook()
    found_word()
    plan_posts(100, FOUND_AT)
    assert [len(claim_some(FOUND_AT, set())), len(claim_some(FOUND_AT, set()))] == [1, 0]


def test_a_webhook_removed_while_its_post_is_on_the_way_is_gone(hook, web: Receiver) -> None:
    webhook = hook()
    found_word()
    plan_posts(100, FOUND_AT)
    claim_some(FOUND_AT, set())
    remove_webhook(webhook, webhook.owner)
    assert WebhookDelivery.objects.count() == 0
    assert posted() == 0


def test_a_word_that_cannot_be_written_is_put_off_and_the_others_are_posted(hook, web: Receiver) -> None:
    hook()
    hook("bob", path="/another/address/of/bobs")
    found_word(1, evidence={})
    found_word(2, user="bob")
    assert posted() == 1
    assert states() == [("pending", "could not be written: KeyError"), ("sent", "")]
    assert set(Webhook.objects.values_list("failing_since", flat=True)) == {None}


def test_what_was_not_confirmed_for_three_hours_is_not_posted(hook, web: Receiver) -> None:
    hook()
    found_word()
    plan_posts(100, FOUND_AT)
    assert send_posts(FOUND_AT + 3 * HOUR + MINUTE) == 0
    assert states() == [("suppressed", "no_longer_so")]


@pytest.mark.parametrize(("status", "paused_until"), [(200, None), (500, FOUND_AT + DAY)])
def test_a_test_is_posted_once_in_a_pause_and_ends_it_only_if_it_arrives(
    hook, web: Receiver, status, paused_until
) -> None:
    webhook = hook()
    found_word()
    plan_posts(100, FOUND_AT)
    Webhook.objects.update(paused_until=FOUND_AT + DAY, failures=5)
    assert [request_test(webhook, FOUND_AT), request_test(webhook, FOUND_AT)] == [True, False]
    web.statuses["/hook/of/the/team/abcdefgh"] = status
    # Where it arrives, the word that waits is posted too.
    assert posted() == (2 if status == 200 else 0)
    told = json.loads(web.posts[0].body)
    assert (told["is_test"], told["words"][0]["job"]["name"]) == (True, "sample")
    webhook.refresh_from_db()
    assert (webhook.paused_until, len(web.posts)) == (paused_until, 2 if status == 200 else 1)


def test_the_address_and_the_secret_are_not_in_the_database(hook, web: Receiver) -> None:
    webhook = hook()
    row = json.dumps(Webhook.objects.values().get(), default=str)
    assert "/hook/of" not in row
    assert signing_secret(webhook) not in row
    assert address_of(webhook) == web.address()
    assert (webhook.host, webhook.ending) == ("localhost", "efgh")


def test_a_new_secret_replaces_the_old_one(hook) -> None:
    webhook = hook()
    before = signing_secret(webhook)
    renew_secret(webhook, webhook.owner)
    assert signing_secret(webhook) != before


def test_another_key_of_the_site_makes_addresses_unreadable_and_is_reported(hook, web: Receiver, settings) -> None:
    hook()
    found_word()
    settings.WEBHOOK_KEY_SECRET = "another"
    assert posted() == 0
    assert states() == [("failed", "its address cannot be read: the key of the site has changed")]


def test_a_person_has_five_webhooks_and_a_project_three(hook, web: Receiver) -> None:
    for number in range(5):
        hook(path=f"/{number}")
    with pytest.raises(TooMany):
        hook(path="/6")
    for number in range(3):
        hook("carol", path=f"/{number}", project=PROJECT)
    with pytest.raises(TooMany):
        hook("dave", path="/4", project=PROJECT)


def test_an_untrusted_certificate_gets_nothing(hook, web: Receiver, monkeypatch) -> None:
    hook()
    found_word()
    monkeypatch.delenv("SSL_CERT_FILE")
    assert posted() == 0
    assert web.posts == []
    (state, reason) = states()[0]
    assert (state, reason.partition(":")[0]) == ("pending", "no trusted connection")


def test_the_shapes_of_chats_are_not_signed(hook, web: Receiver) -> None:
    hook(shape="slack")
    found_word()
    assert posted() == 1
    assert "X-Kaiku-Signature" not in web.posts[0].headers
    assert set(json.loads(web.posts[0].body)) == {"text", "blocks"}


def test_creating_with_a_bad_address_stores_nothing(db) -> None:
    alice = User.objects.create_user("alice")
    with pytest.raises(ValueError, match="public"):
        create_webhook(alice, name="x", shape="generic", address="https://127.0.0.1/", project=None, now=FOUND_AT)
    assert not Webhook.objects.exists()
