"""The Content-Security-Policy of every page: nothing from other sites, no inline script or style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csp.constants import NONE, SELF


def content_security_policy(form_targets: Sequence[str]) -> dict[str, Any]:
    """The setting of django-csp; `form_targets` are the addresses that forms may lead to beside our own."""
    directives = {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF, *form_targets],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
    return {"DIRECTIVES": directives}
