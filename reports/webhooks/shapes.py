"""The bodies that receivers of webhooks take: our own JSON, and what incoming webhooks of Slack and Mattermost take.

Pure. Sources: docs.slack.dev, "Sending messages using incoming webhooks" and "Formatting message text";
docs.mattermost.com, "Incoming webhooks". Names of jobs are others' words: in no shape do they become markup or a
mention.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from reports.early.steps import Step
from reports.early.told import ToldWord, early_subject
from reports.webhooks.shape import Shape
from wire.numbers import NO_BREAK

SCHEMA = "early-word/1"
WORDS_MAX, IN_FULL_MAX = 50, 5
"""So many words a body has in all, and a message for people in full."""

BLOCK_CHARACTERS_MAX = 2900
"""A little less than the 3000 of a section in Slack."""

MESSAGE_CHARACTERS_MAX = 12_000
"""Less than the 16,383 of a post in Mattermost."""

TEST_SAID = "This is a test from Kaiku. The job in it does not exist."
NO_MENTION = "@\u200b"
"""A space without width after the sign: neither Slack nor Mattermost takes what follows for a name."""

MARKDOWN = re.compile(r"([\\`*{}\[\]()#+\-.!_>~|])")
"""What a backslash escapes in Mattermost; before other characters it would be shown."""

NO_EMOJI = re.compile(r":(?=\S)")
"""A colon before anything but a space begins an emoji or the rest of a link."""


NO_ENTITY = re.compile(r"&(?=[#\w])")
"""What begins a character reference of HTML, which Markdown shows as that character."""


@dataclass(frozen=True)
class Post:
    """What one delivery is about; `key` is its number in every try."""

    key: str
    words: Sequence[ToldWord]
    sent_at: datetime
    is_test: bool = False


def generic_body(post: Post) -> dict[str, Any]:
    """Our own JSON, docs/webhooks.md."""
    return {
        "schema": SCHEMA,
        "delivery": post.key,
        "sent_at": _instant(post.sent_at),
        "is_test": post.is_test,
        "summary": early_subject(post.words),
        "words": [_word(word) for word in post.words[:WORDS_MAX]],
        "left_out": max(len(post.words) - WORDS_MAX, 0),
    }


def slack_body(post: Post) -> dict[str, Any]:
    """A message of Slack: names as plain text, commands as code, one link for each job."""
    blocks = [_plain(TEST_SAID)] if post.is_test else []
    for word in post.words[:IN_FULL_MAX]:
        told = "\n".join([_title(word), *word.text.sentences, "Where to look:"])
        blocks += [_plain(told), _mrkdwn(_commands(word.text.steps, _slack_code))]
        blocks += [_mrkdwn(_commands([word.text.possibility], _slack_code) + f"\n<{word.url}|Open the job>")]
    if more := _others(post.words):
        blocks.append(_plain(more))
    # The text of a notification may hold markup, so it names jobs by their numbers.
    summary = early_subject([replace(word, job_name="") for word in post.words])
    return {"text": _slack(summary), "blocks": blocks}


def mattermost_body(post: Post) -> dict[str, Any]:
    """A post of Mattermost in Markdown."""
    parts = [_markdown(TEST_SAID)] if post.is_test else []
    for word in post.words[:IN_FULL_MAX]:
        parts.append(f"**{_markdown(_title(word))}**")
        parts += [_markdown(sentence) for sentence in word.text.sentences]
        parts += [_commands([*word.text.steps, word.text.possibility], _markdown_code), f"[Open the job]({word.url})"]
    if more := _others(post.words):
        parts.append(_markdown(more))
    return {"text": "\n\n".join(parts)[:MESSAGE_CHARACTERS_MAX]}


SHAPES: Mapping[Shape, Callable[[Post], dict[str, Any]]] = {
    Shape.GENERIC: generic_body,
    Shape.SLACK: slack_body,
    Shape.MATTERMOST: mattermost_body,
}


def body_of(shape: Shape, post: Post) -> bytes:
    """The body of a delivery as it is sent."""
    return json.dumps(SHAPES[shape](post), ensure_ascii=False, separators=(",", ":")).encode()


def _word(word: ToldWord) -> dict[str, Any]:
    return {
        "job": {
            "cluster": word.cluster,
            "job_id": word.job_id,
            "attempt": word.attempt,
            "name": word.job_name,
            "project": word.project,
            "user": word.username,
            "gpus": word.gpus,
            "is_interactive": word.is_interactive,
            "started_at": _instant(word.started_at),
            "ends_at": _instant(word.ends_at) if word.ends_at else None,
            "url": word.url,
        },
        "code": word.code.value,
        "is_fact": word.is_fact,
        "confidence": word.confidence,
        "evidence": dict(word.evidence),
        "found_at": _instant(word.found_at),
        "held_at": _instant(word.held_at),
        "title": _said(word.text.title),
        "sentences": [_said(sentence) for sentence in word.text.sentences],
        "steps": [_step(step) for step in word.text.steps],
        "possibility": _step(word.text.possibility),
    }


def _step(step: Step) -> dict[str, str]:
    return {"text": _said(step.text), "command": step.command}


def _said(text: str) -> str:
    return text.replace(NO_BREAK, " ")


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _title(word: ToldWord) -> str:
    sure = f" ({word.sure})" if word.sure else ""
    return f"{word.job}, {word.project}: {word.text.title}{sure}"


def _others(words: Sequence[ToldWord]) -> str:
    """The jobs of the words that are not stated in full; empty without any."""
    return "\n".join(_title(word) for word in words[IN_FULL_MAX:WORDS_MAX])


def _commands(steps: Sequence[Step], code: Callable[[Step], str]) -> str:
    return "\n".join(code(step) for step in steps)


def _slack_code(step: Step) -> str:
    return _slack(step.text) + (f"\n```{_slack_escaped(step.command)}```" if step.command else "")


def _markdown_code(step: Step) -> str:
    return _markdown(step.text) + (f"\n```\n{step.command}\n```" if step.command else "")


def _plain(text: str) -> dict[str, Any]:
    shown = _said(text).replace("@", NO_MENTION)[:BLOCK_CHARACTERS_MAX]
    return {"type": "section", "text": {"type": "plain_text", "text": shown, "emoji": False}}


def _mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:BLOCK_CHARACTERS_MAX], "verbatim": True}}


def _slack(text: str) -> str:
    return _slack_escaped(_said(text)).replace("@", NO_MENTION)


def _slack_escaped(text: str) -> str:
    """The three characters that Slack gives a meaning.

    >>> _slack_escaped("<!channel> & co")
    '&lt;!channel&gt; &amp; co'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _markdown(text: str) -> str:
    """Text in which nothing is Markdown, a link, a mention, a channel, an emoji or a character reference.

    >>> _markdown("_a_ #1").replace(chr(92), "/")
    '/_a/_ /#1'
    """
    marked = MARKDOWN.sub(r"\\\1", _said(text)).replace("@", NO_MENTION)
    return NO_EMOJI.sub(":\u200b", NO_ENTITY.sub("&\u200b", marked))
