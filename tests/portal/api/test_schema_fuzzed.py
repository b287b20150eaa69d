"""Schemathesis, the program, against the live API and its own OpenAPI document, on PostgreSQL.

What fits the document is taken and answered as it says, what does not is refused, and nothing is a fault.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from jobs.models import Membership, Project, Token, User
from jobs.services import record_job
from jobs.tokens.services import issue_token
from metrics.services import record_node_summary, record_raw_window
from tests.payloads import job_record, node_payload, raw_payload
from tests.portal.served import database_environment, serving
from tests.processes import PATIENCE_S
from tests.roles import set_role
from tests.tokens import create_collector_token, site_token

pytestmark = pytest.mark.django_db(transaction=True)

CHECKOUT = Path(__file__).resolve().parents[3]
EXAMPLES, SEED = 4, 20261120
"""Of each call in the fuzzing, beside some 3,500 cases that cover each bound of the document; the same at each run."""

LIMITS = "API_CALLS RUN_CALLS ANONYMOUS_API_CALLS DEVICE_SIGN_INS DOWNLOADS RAW_WINDOWS".split()
UNLIMITED = {f"{name}_PER_MINUTE": "1000000" for name in LIMITS} | {
    "RAW_BACKLOG_MAX": "1000000",
    "SLURM_COMMENTS": "yes",
}
SETTINGS = """
base-url = "http://127.0.0.1:{port}"
headers = {{ Authorization = "Bearer {personal}" }}
request-timeout = 30

[[operations]]
include-path-regex = "^/api/v1/(policy/efficiency[.][a-z]+|flags)$"
headers = {{ Authorization = "Bearer {policy}" }}
# Months that nothing can fit, and months that are not closed: `schema_hooks` checks that it is refused for that alone.
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-path-regex = "^/api/v1/performance[.]"
# Days that their month does not have, and an end before its beginning.
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]

[[operations]]
include-path-regex = "/grant-report[.][a-z]+$"
# One day alone, an end before its beginning, more than ten years; and projects that there are not.
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-path-regex = "^/api/v1/slurm-comments$"
headers = {{ Authorization = "Bearer {comments}" }}

[[operations]]
include-path-regex = "^/api/v1/device/"
# A code that fits the schema is of no sign-in that waits.
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]

[[operations]]
include-path-regex = "^/api/v1/device/revoke$"
# It would end the token that all other calls need.
enabled = false

[[operations]]
include-path-regex = "^/api/v1/(experiments|runs)/"
headers = {{ Authorization = "Bearer {logging}" }}
# A project of somebody else, a run that does not exist, a parameter that has another value.
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "422"]

[[operations]]
include-path-regex = "^/api/v1/ingest/"
headers = {{ Authorization = "Bearer {collector}" }}

[operations.checks]
# See `schema_hooks`: what values mean together no schema says.
positive_data_acceptance.expected-statuses = ["2xx", "422"]
# A single number that cannot be is dropped and named, and costs no record.
negative_data_rejection.enabled = false
"""


@pytest.fixture
def tokens(transactional_db: None) -> dict[str, str]:
    """Of a PI with a reported job that has raw samples, and of a collector."""
    record_job(job_record())
    record_node_summary(node_payload())
    record_raw_window(raw_payload())
    call_command("analyse_job", "--due", verbosity=0)
    call_command("seed_lessons", verbosity=0)
    alice = User.objects.get(username="alice")
    set_role(alice, Project.objects.get(name="project_465000001"), Membership.Role.PI)
    return {
        "personal": issue_token(alice, name="fuzzing", days=30, now=timezone.now()),
        "logging": issue_token(alice, name="logging", days=30, now=timezone.now(), kind=Token.Kind.RUNS),
        "collector": create_collector_token("nodes", "lumi"),
        "comments": site_token(Token.Kind.COMMENTS, "op", cluster="lumi", days=30),
        "policy": site_token(Token.Kind.POLICY, "slurm", days=30),
    }


def test_the_live_api_is_of_one_mind_with_its_document(tokens: dict[str, str], tmp_path: Path) -> None:
    with serving(database_environment(tmp_path) | UNLIMITED, "--workers", "1") as server:
        (tmp_path / "schemathesis.toml").write_text(SETTINGS.format(port=server.port, **tokens))
        program = (Path(sys.executable).with_name("st"), "--config-file", tmp_path / "schemathesis.toml")
        bounds = ("--max-examples", str(EXAMPLES), "--seed", str(SEED))
        document = f"http://127.0.0.1:{server.port}/api/schema/"
        done = subprocess.run(
            [*program, "run", document, "--no-color", "--continue-on-failure", *bounds],
            env=os.environ | {"PYTHONPATH": str(CHECKOUT), "SCHEMATHESIS_HOOKS": "tests.portal.schema_hooks"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"API Links: +(?!0 covered)[0-9]+ covered", done.stdout)
