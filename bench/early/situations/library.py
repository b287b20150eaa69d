"""All own situations; no two have the same name."""

from __future__ import annotations

from bench.early.situations.idle import IDLE
from bench.early.situations.sessions import SESSIONS
from bench.early.situations.situation import Situation
from bench.early.situations.unused import UNUSED

SITUATIONS: tuple[Situation, ...] = SESSIONS + IDLE + UNUSED
