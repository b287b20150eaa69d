"""Several workers at the same webhooks at the same moment: every word is planned and posted once."""

from __future__ import annotations

import json

import pytest

from jobs.models import User
from reports.early.services.mailing import plan_early_mail
from reports.mail.services.preferences import save_early_choice
from reports.models import Delivery, MailedWord, WebhookDelivery
from reports.webhooks.services.planning import plan_posts
from reports.webhooks.services.sending import send_posts
from tests.at_once import at_once
from tests.early_words import FOUND_AT, found_word
from tests.web_receiver import Receiver

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


def test_four_workers_post_fifty_words_of_three_people_once_each(hook, web: Receiver) -> None:
    for number, name in enumerate(("alice", "bob", "carol")):
        hook(name, path=f"/{name}")
        for job_id in range(50):
            found_word(1000 * number + job_id + 1, user=name)

    def round_of_one() -> int:
        plan_posts(100, FOUND_AT)
        return send_posts(FOUND_AT, 60.0)

    at_once(round_of_one)
    round_of_one()
    jobs = [word["job"]["job_id"] for post in web.posts for word in json.loads(post.body)["words"]]
    assert len(jobs) == len(set(jobs)) == 150
    assert set(WebhookDelivery.objects.values_list("state", "attempts")) == {("sent", 1)}


def test_four_workers_plan_one_mail() -> None:
    for job_id in range(20):
        found_word(1000 + job_id, array=1000)
    save_early_choice(User.objects.get(), FOUND_AT, by_mail=True)
    at_once(lambda: plan_early_mail(100, FOUND_AT))
    assert (Delivery.objects.count(), MailedWord.objects.count()) == (1, 20)
