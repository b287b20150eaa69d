"""A script that resumes the run of MLFLOW_RUN_ID, logs without waiting and fails outside of any block.

Run with the Python of a client's environment.
"""

import mlflow

mlflow.start_run()
for step in range(2, 102):
    mlflow.log_metric("loss", 1 / step, step=step)
raise ValueError("a mistake in the script")
