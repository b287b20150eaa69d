"""From what a node sent of a running job to mail, chat and feed, by the round of workers; until the job is over."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import User
from portal.tasks import run_steps
from reports.mail.services.preferences import save_early_choice
from reports.mail.services.sending import send_due
from reports.models import Webhook, WebhookDelivery
from reports.webhooks.services.keeping import create_webhook
from tests.mail_server import Post
from tests.portal.feed.test_reports_feed import address, entries, secret_of
from tests.portal.queue.queued import read
from tests.running import running_job
from tests.web_receiver import Receiver

pytestmark = pytest.mark.django_db

EIGHT = {"tres_alloc": "cpu=112,mem=480G,node=1,billing=112,gres/gpu=8"}


@pytest.fixture
def alice(db: None, web: Receiver) -> User:
    """Alice, who wants everything, also at night."""
    user = User.objects.create_user("alice", email="alice@users.example")
    save_early_choice(user, timezone.now(), by_mail=True, at_night=True, in_feed=True)
    for shape in ("generic", "slack", "mattermost"):
        create_webhook(
            user, name=shape, shape=shape, address=web.address(f"/{shape}"), project=None, now=timezone.now()
        )
    return user


def test_two_idle_jobs_are_one_message_in_each_channel_once(alice: User, web: Receiver, smtp: Post) -> None:
    read(running_job(1, cells=EIGHT), running_job(2, cells=EIGHT))
    for _ in range(3):
        run_steps("WATCH_SECONDS")
        send_due(10)
    assert sorted(message["Subject"] for message in smtp.messages) == [
        "Kaiku: 2 jobs: 8 GPUs of train (lumi/1) idle for 1 h 10 min, and 1 more job",
    ]
    assert sorted(post.path for post in web.posts) == ["/generic", "/mattermost", "/slack"]
    (told,) = (json.loads(post.body)["words"] for post in web.posts if post.path == "/generic")
    assert len(told) == 2
    assert {word["code"] for word in told} == {"all_gpus_idle"}
    # An hour of this job is 4 GPU-hours: 71 minutes of it are 4.73.
    assert "So far the job has used 4.7" in " ".join(told[0]["sentences"])
    assert len(entries(Client().get(address(secret_of("alice"))).content)) == 2


def test_a_job_that_leaves_the_queue_before_its_post_is_left_alone(alice: User, web: Receiver, smtp: Post) -> None:
    read(running_job(1, cells=EIGHT), minutes_ago=3)
    web.statuses = {f"/{shape}": 503 for shape in ("generic", "slack", "mattermost")}
    smtp.answers["RCPT"] = "451 Busy"
    run_steps("WATCH_SECONDS")
    send_due(10)
    read(running_job(2, cells=EIGHT))
    smtp.answers.clear()
    web.statuses.clear()
    web.posts.clear()
    Webhook.objects.update(off_at=timezone.now())
    Webhook.objects.filter(name="generic").update(off_at=None)
    WebhookDelivery.objects.update(due_at=timezone.now())
    run_steps("WATCH_SECONDS")
    jobs = [json.loads(post.body)["words"][0]["job"]["job_id"] for post in web.posts]
    assert jobs == [2]
    assert WebhookDelivery.objects.filter(webhook__name="generic", reason="no_longer_so").count() == 1
