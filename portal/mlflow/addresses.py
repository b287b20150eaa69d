"""The addresses of MLflow's clients: what they log to, with the job that a script states in it; pure."""

import re

from wire.names import SLUG

CLUSTER = rf"(?P<cluster>{SLUG})"
STATED = rf"(?:{CLUSTER}/)?(?P<job_id>[0-9]{{1,16}})"
BASE = rf"mlflow/(?:j/+(?:{STATED}/)?)?"
"""A script states its job as j/JOBID/ or j/CLUSTER/JOBID/; outside of a job the variables of these parts are empty."""

LINK = rf"^mlflow/(?:j/*(?:{STATED}/?)?)?$"
CALLS = rf"^{BASE}api/2\.0/mlflow/(?P<name>.+)$"
FILES = rf"^{BASE}api/2\.0/mlflow-artifacts/artifacts(?:/(?P<address>.*))?$"
OTHERS = rf"^{BASE}(?P<name>.+)$"

LOGGED = re.compile(rf"/{BASE}api/2\.0/mlflow/(?P<name>runs/(?:log-metric|log-parameter|set-tag|log-batch))")
"""What scripts log again and again."""

UPLOADED = re.compile(rf"/{BASE}api/2\.0/mlflow-artifacts/artifacts/(?P<address>.+)", re.DOTALL)
"""A file of a run, as it is uploaded."""
