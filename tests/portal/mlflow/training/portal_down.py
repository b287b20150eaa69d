"""Starts although the portal does not answer: LINES are those of docs/mlflow.md."""

from __future__ import annotations

import os
from typing import Any

import mlflow

names: dict[str, Any] = {}
exec(os.environ["LINES"], names)
with names["run"] as run:
    mlflow.log_param("lr", 0.1)
    for step in range(3):
        mlflow.log_metric("loss", 0.5, step=step)
print("trained", len(mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")))
