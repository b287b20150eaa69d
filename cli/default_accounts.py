"""Which account Slurm takes where a job names none: its own accounting answers, in the background alone."""

from __future__ import annotations

import os
import shutil
import subprocess

SECONDS_MAX = 10
ANSWER_LENGTH_MAX = 1 << 16


def default_accounts() -> dict[str, str]:
    """The default account by cluster; empty if Slurm does not answer in time, or is not here."""
    program = shutil.which("sacctmgr")
    if program is None:
        return {}
    words = [program, "--noheader", "--parsable2", "--readonly", "show", "user", f"name={_user()}", "withassoc"]
    try:
        done = subprocess.run(
            [*words, "format=cluster,defaultaccount"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return accounts_of(done.stdout[:ANSWER_LENGTH_MAX].decode("utf-8", "replace"))


def accounts_of(answer: str) -> dict[str, str]:
    """Lines `cluster|account`; a cluster with two different ones has none.

    >>> accounts_of("lumi|project_465000001\\nlumi|project_465000001\\nother|a\\nother|b\\n")
    {'lumi': 'project_465000001'}
    """
    found: dict[str, set[str]] = {}
    for line in answer.splitlines():
        cluster, _, account = line.partition("|")
        if cluster and account:
            found.setdefault(cluster, set()).add(account)
    return {cluster: names.pop() for cluster, names in found.items() if len(names) == 1}


def _user() -> str:
    """The name of this account of the machine."""
    pwd = __import__("pwd")
    return str(pwd.getpwuid(os.geteuid()).pw_name)
