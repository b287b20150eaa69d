"""A receiver of webhooks on loopback whose CA is trusted, and webhooks that lead there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jobs.models import Project, User
from reports.models import Webhook
from reports.webhooks.services.keeping import create_webhook
from tests.early_words import FOUND_AT, pi
from tests.web_receiver import Receiver, receiver


@pytest.fixture
def web(tmp_path, monkeypatch, settings) -> Iterator[Receiver]:
    """The receiver, which webhooks may reach."""
    settings.WEBHOOK_LOOPBACK = True
    with receiver(tmp_path) as known:
        monkeypatch.setenv("SSL_CERT_FILE", str(known.authority))
        yield known


@pytest.fixture
def hook(db: None, web: Receiver) -> Callable[..., Webhook]:
    """A webhook of alice's that leads to the receiver unless stated otherwise; of a project, its owner is a PI."""

    def create(
        owner: str = "alice", *, path: str = "/hook/of/the/team/abcdefgh", shape: str = "generic", project: str = ""
    ) -> Webhook:
        person = pi(owner, project) if project else User.objects.get_or_create(username=owner)[0]
        return create_webhook(
            person,
            name=f"hook {path[-4:]} {shape}",
            shape=shape,
            address=web.address(path),
            project=Project.objects.get(name=project) if project else None,
            now=FOUND_AT,
        )

    return create
