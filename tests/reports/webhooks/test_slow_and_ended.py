"""Receivers that never answer and workers that end in the middle of a post: what happens to the other posts."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from reports.models import WebhookDelivery
from reports.webhooks.rules import POST_LEASE, UNDER_WAY
from reports.webhooks.services.planning import plan_posts
from reports.webhooks.services.sending import claim_some, send_posts
from tests.early_words import FOUND_AT, found_word
from tests.reports.webhooks.test_webhooks import posted, states
from tests.web_receiver import Receiver

pytestmark = pytest.mark.django_db


def test_hooks_of_one_person_that_never_answer_leave_places_for_the_posts_of_others(
    hook, web: Receiver, monkeypatch
) -> None:
    monkeypatch.setattr("reports.webhooks.services.posting.TIMEOUT_S", 4.0)
    for number in range(3):
        hook(path=f"/stalls/{number}")
        web.stalls.add(f"/stalls/{number}")
    theirs = hook("bob", path="/bob")
    found_word(1)
    plan_posts(100, FOUND_AT)
    for _ in range(3):
        WebhookDelivery.objects.create(webhook=theirs, is_test=True, created_at=FOUND_AT, due_at=FOUND_AT)
    assert send_posts(FOUND_AT, 60.0) == 3
    paths = [post.path for post in web.posts]
    # All of bob's go while two of alice's wait; her third begins when one of those is given up.
    assert sorted(path[:7] for path in paths[:5]) == ["/bob"] * 3 + ["/stalls"] * 2
    assert paths[5].startswith("/stalls")


def test_after_a_worker_ended_the_other_deliveries_of_a_webhook_go_on(hook, web: Receiver) -> None:
    hook()
    found_word(1)
    plan_posts(100, FOUND_AT)
    claim_some(FOUND_AT, set())
    WebhookDelivery.objects.update(handed_at=FOUND_AT)  # posted, and the worker was killed
    found_word(2)
    assert posted(FOUND_AT + UNDER_WAY - timedelta(seconds=1)) == 0
    assert posted(FOUND_AT + UNDER_WAY) == 1
    assert json.loads(web.posts[0].body)["words"][0]["job"]["job_id"] == 2
    assert posted(FOUND_AT + POST_LEASE) == 1


def test_a_worker_that_ends_after_posting_repeats_it_at_most_once_with_the_same_number(hook, web: Receiver) -> None:
    hook()
    found_word()
    plan_posts(100, FOUND_AT)
    claimed = claim_some(FOUND_AT, set())
    WebhookDelivery.objects.update(handed_at=FOUND_AT)  # posted, and never recorded
    assert send_posts(FOUND_AT + POST_LEASE - timedelta(seconds=1)) == 0
    assert send_posts(FOUND_AT + POST_LEASE) == 1
    assert web.posts[0].headers["X-Kaiku-Delivery"] == str(claimed[0].key)
    WebhookDelivery.objects.update(state="sending", interruptions=1)
    assert send_posts(FOUND_AT + 3 * POST_LEASE) == 0
    assert states() == [("failed", "interrupted_twice")]
