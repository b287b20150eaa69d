"""A comment or a question that is too long is refused beside its field, as it was written."""

from __future__ import annotations

import pytest

from analysis.models import Feedback
from jobs.models import JobShare

PAGE = "/jobs/lumi/123456/"


@pytest.mark.parametrize("end", ["", "\r\n" * 10])
def test_a_comment_of_1001_characters_is_refused_beside_its_field(cast, reported, end: str) -> None:
    reported()
    alice = cast("alice")
    lines = len(end) // 2
    sent = {"code": "verdict", "answer": "wrong", "comment": "x" * (500 - lines) + end + "y" * 501}
    page = alice.post(f"{PAGE}feedback/", sent).content.decode()
    assert not Feedback.objects.exists()
    kept = "x" * (500 - lines) + "\n" * lines + "y" * 501
    assert f"{kept}</textarea>" in page.replace("\r\n", "\n")
    beside = page.partition(f"{'y' * 501}</textarea>")[2][:300]
    assert '<small class="refusal" id="comment-verdict-error">' in beside
    assert "has 1,001 characters; 1,000 fit" in beside
    assert 'aria-describedby="comment-verdict-error"' in page
    assert alice.post(f"{PAGE}feedback/", sent | {"comment": sent["comment"][:-1]}).status_code == 302
    assert Feedback.objects.get().comment == kept[:-1]


def test_a_question_of_501_characters_is_refused_beside_its_field(cast, reported) -> None:
    reported()
    alice = cast("alice")
    page = alice.post(f"{PAGE}share/", {"days": "7", "note": "a\r\n" + "x" * 499}).content.decode()
    assert not JobShare.objects.exists()
    assert "x" * 499 + "</textarea>" in page
    beside = page.partition("x" * 499 + "</textarea>")[2][:200]
    assert 'class="refusal"' in beside
    assert "501" in beside
    assert alice.post(f"{PAGE}share/", {"days": "7", "note": "a\r\n" + "x" * 498}).status_code == 302
    assert JobShare.objects.get().note == "a\n" + "x" * 498
