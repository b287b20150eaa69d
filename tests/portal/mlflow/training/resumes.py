"""A script that resumes the run of MLFLOW_RUN_ID, logs without waiting and fails outside of any block.

Run with the Python of a client's environment.
"""

import mlflow

mlflow.start_run()
for step in range(2, 102):
    mlflow.log_metric("loss", 1 / step, step=step)
# Else what still waits is lost: a client that does not wait cannot send any more once its script has ended so.
mlflow.flush_async_logging()
raise ValueError("a mistake in the script")
