"""A training as people write one, logged with MLflow's client and with the lines of docs/logging-runs.md at once.

A line is fitted by gradient descent, a batch at a time, until Slurm ends the job: nothing here reports an end.
"""

from __future__ import annotations

import random
import time

import mlflow
from kaiku_run import KaikuRun

BATCH, LEARNING_RATE, STEP_S = 32, 0.05, 0.1
SLOPE, OFFSET = 2.0, -1.0

mlflow.set_experiment("line")
own = KaikuRun("line", name="by the API", seed=7, config={"lr": LEARNING_RATE, "batch_size": BATCH})
random.seed(7)
slope = offset = 0.0
with mlflow.start_run(run_name="by MLflow"):
    mlflow.log_params({"lr": LEARNING_RATE, "batch_size": BATCH})
    for step in range(1_000_000):
        xs = [random.uniform(-1, 1) for _ in range(BATCH)]
        misses = [slope * x + offset - (SLOPE * x + OFFSET) for x in xs]
        loss = sum(miss * miss for miss in misses) / BATCH
        slope -= LEARNING_RATE * sum(2 * miss * x for miss, x in zip(misses, xs, strict=True)) / BATCH
        offset -= LEARNING_RATE * sum(2 * miss for miss in misses) / BATCH
        mlflow.log_metric("loss", loss, step=step)
        own.log(step, loss=loss)
        time.sleep(STEP_S)
