"""Several workers at the same outbox at the same moment: every person is told once."""

from __future__ import annotations

import pytest

from jobs.models import User
from reports.mail.services.sending import claim, deliver_due
from reports.models import Delivery
from tests.at_once import at_once
from tests.mail_server import Post
from tests.reports.conftest import DUE_AT

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


def test_four_workers_tell_six_people_once_each(ended, smtp: Post) -> None:
    people = [f"user{number}" for number in range(6)]
    for job_id, name in enumerate(people, 1):
        ended(job_id, user_id=name)
    counts = at_once(lambda: deliver_due(10, DUE_AT))
    deliver_due(10, DUE_AT)
    assert sum(counts) <= len(people)
    assert sorted(smtp.recipients) == [f"{name}@users.example" for name in people]
    assert set(Delivery.objects.values_list("state", "attempts")) == {("sent", 1)}


def test_one_message_is_claimed_by_one_of_four(ended) -> None:
    ended()
    alice = User.objects.get()
    Delivery.objects.create(user=alice, frequency="daily", created_at=DUE_AT, due_at=DUE_AT)
    claimed = at_once(lambda: claim(DUE_AT))
    assert sum(delivery is not None for delivery in claimed) == 1
