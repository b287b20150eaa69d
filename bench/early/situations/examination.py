"""The examination: situations written by somebody who knew neither the rules nor the situations they were tuned on.

Nothing is tuned on them.
"""

from __future__ import annotations

from bench.early.situations.examination_due import DUE
from bench.early.situations.examination_healthy import HEALTHY
from bench.early.situations.examination_seeming import SEEMING
from bench.early.situations.situation import Situation

EXAMINATION: tuple[Situation, ...] = HEALTHY + DUE + SEEMING
