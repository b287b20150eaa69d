"""Celery's application with the steps of the product, each of which only writes its name to a file.

The first line of the file `broken` names a step that fails, or hangs until its time limit.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from pathlib import Path

from celery.signals import worker_process_init

from portal.celery import application as application
from portal.steps.step import Step

FOLDER = Path(os.environ["KAIKU_VAR_DIR"])
BROKEN, RAN = FOLDER / "broken", FOLDER / "ran"
HANGING = "hanging "


def recorded(step: Step) -> Step:
    def run(most: int, now: datetime) -> int:
        with RAN.open("a") as file:
            file.write(f"{step.name}\n")
        broken = BROKEN.read_text()
        if broken == f"{HANGING}{step.name}":
            time.sleep(600)
        if broken == step.name:
            raise ValueError(step.name)
        return 0

    return replace(step, run=run)


@worker_process_init.connect
def record(**_: object) -> None:
    """In each process of the pool; the product's own modules need Django, which is there only then."""
    all_steps = import_module("portal.steps.all_steps")
    all_steps.STEPS = tuple(recorded(step) for step in all_steps.STEPS)
