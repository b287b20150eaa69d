"""Runs that end in the ways that scripts end, the last one killed: run with the Python of a client's environment."""

import os
import signal
import sys
from contextlib import suppress

import mlflow

mlflow.set_experiment("ends")
with suppress(ValueError), mlflow.start_run(run_name="failed"):
    raise ValueError("a mistake in the script")
with suppress(SystemExit), mlflow.start_run(run_name="left"):
    sys.exit(0)
killed = mlflow.start_run(run_name="killed")
mlflow.log_metric("loss", 0.5, step=1)
print(killed.info.run_id, flush=True)
os.kill(os.getpid(), signal.SIGTERM)
