"""What Slack and Mattermost get: hostile names become neither markup, mention nor link."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from jobs.models import User
from reports.early.services.telling import sample_word, told_words
from reports.webhooks.shape import Shape
from reports.webhooks.shapes import SHAPES, Post, body_of
from tests.early_words import FOUND_AT, found_word

pytestmark = pytest.mark.django_db

HOSTILE = "<!channel> @all *b* #town [x](http://evil.example) `c` :tada: ~s~"


def body(shape: str, *names: str) -> dict:
    words = [found_word(number + 1, job_name=name) for number, name in enumerate(names)]
    return json.loads(body_of(Shape(shape), Post("key", told_words(words, FOUND_AT), FOUND_AT)))


def test_slack_gets_names_as_plain_text_and_escaped() -> None:
    told = body("slack", HOSTILE)
    assert told["text"] == "8 GPUs of job lumi/1 idle for 1 h 05 min"
    for block in told["blocks"]:
        text = block["text"]["text"]
        assert "@all" not in text
        if block["text"]["type"] == "mrkdwn":
            assert "evil" not in text


def test_mattermost_gets_every_mark_escaped() -> None:
    text = body("mattermost", HOSTILE)["text"]
    assert r"\*b\*" in text
    assert r"\[x\]\(http" in text
    assert "@all" not in text
    assert ":tada" not in text
    assert r"\#town" in text
    assert "http://evil" not in text


def test_mattermost_shows_what_looks_like_a_character_reference_as_it_is() -> None:
    text = body("mattermost", "&amp;&lt; R&D &#60; a & b")["text"]
    # A space without width after the sign: no renderer takes it for a reference. The escaped # is shown as #.
    assert "&\u200bamp;&\u200blt; R&\u200bD &\\#60; a & b" in text


def test_commands_are_code_in_both() -> None:
    words = told_words([found_word(1)], FOUND_AT)
    post = Post("key", words, FOUND_AT)
    assert "```scancel 1```" in json.dumps(json.loads(body_of(Shape.SLACK, post)))
    assert "```\nscancel 1\n```" in json.loads(body_of(Shape.MATTERMOST, post))["text"]


@pytest.mark.parametrize("shape", list(SHAPES))
def test_many_words_stay_within_what_receivers_take(shape: Shape) -> None:
    names = ["x" * 256] * 60
    made = body_of(
        shape, Post("key", told_words([found_word(n + 1, job_name=x) for n, x in enumerate(names)], FOUND_AT), FOUND_AT)
    )
    told = json.loads(made)
    if shape is Shape.GENERIC:
        assert (len(told["words"]), told["left_out"]) == (50, 10)
    elif shape is Shape.SLACK:
        # 50 blocks of 3000 characters (docs.slack.dev).
        assert len(told["blocks"]) <= 50
        assert max(len(block["text"]["text"]) for block in told["blocks"]) <= 3000
    else:
        assert len(told["text"]) <= 16_383


def test_a_test_states_that_it_is_one() -> None:
    now = timezone.now()
    post = Post("key", [sample_word(User(username="alice"), now)], now, is_test=True)
    for shape in (Shape.SLACK, Shape.MATTERMOST):
        assert "This is a test from Kaiku" in body_of(shape, post).decode().replace("\\\\", "")
    assert json.loads(body_of(Shape.GENERIC, post))["is_test"] is True
