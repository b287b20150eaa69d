"""A provider's metadata, cached, so that a flood of requests here does not become a flood of requests there."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]


class ProviderFault(RuntimeError):
    """The provider is unreachable, slow, or gives an invalid answer; retrying later may help."""


@dataclass(frozen=True)
class _Known:
    document: Document | None
    told_s: float
    asked_s: float
    fault: str = ""


class KeptAnswers:
    """Documents by address, each fetched by one thread at a time.

    A document is valid for `kept_s`. One that is older, incomplete or could not be fetched is fetched again, but not
    within `pause_s`. Until then, and while another thread fetches it, callers get what is known: the older document, or
    the error. Only a document that was never fetched before is waited for, no longer than `wait_s`.
    """

    def __init__(self, *, kept_s: float, pause_s: float, wait_s: float = 10.0) -> None:
        self._kept_s, self._pause_s, self._wait_s = kept_s, pause_s, wait_s
        self._asking = threading.Lock()
        self.known: dict[str, _Known] = {}

    def get(
        self, address: str, ask: Callable[[], Document], is_enough: Callable[[Document], bool] = lambda _: True
    ) -> Document:
        """The document of this address. Raises ProviderFault."""
        known = self.known.get(address)
        if known is None or self._is_due(known, is_enough):
            is_ours = self._asking.acquire(timeout=0 if known else self._wait_s)
            try:
                known = self.known.get(address)
                if is_ours and (known is None or self._is_due(known, is_enough)):
                    known = self.known[address] = _asked(ask, known)
            finally:
                if is_ours:
                    self._asking.release()
        if known is None or known.document is None:
            raise ProviderFault(known.fault if known else f"{address}: another request is still waiting for its answer")
        return known.document

    def _is_due(self, known: _Known, is_enough: Callable[[Document], bool]) -> bool:
        now_s = time.monotonic()
        is_good = known.document is not None and now_s - known.told_s < self._kept_s and is_enough(known.document)
        return not is_good and now_s - known.asked_s >= self._pause_s


def _asked(ask: Callable[[], Document], known: _Known | None) -> _Known:
    try:
        return _Known(ask(), time.monotonic(), time.monotonic())
    except ProviderFault as fault:
        # The older document stays in use: people can sign in while only the discovery is unreachable.
        return _Known(known.document if known else None, known.told_s if known else 0.0, time.monotonic(), str(fault))
