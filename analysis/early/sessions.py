"""Sessions in which a person works, by the name of the job; pure.

Early words read names more generously than reports do: a batch job that is taken for a session gets its word later,
a session that is taken for a batch job gets one at lunch.
"""

from __future__ import annotations

import re
from itertools import pairwise

WORD = re.compile(r"[a-z0-9]+")
SESSION_WORDS = frozenset(
    {
        *("interactive", "salloc", "bash", "sh", "zsh", "csh", "tcsh", "fish", "shell", "terminal", "tmux"),
        *("jupyter", "jupyterlab", "jupyterhub", "notebook", "ipython", "vscode", "codeserver", "rstudio", "marimo"),
        *("ood", "dashboard", "desktop", "vnc", "xfce"),
    }
)
"""Names of shells, of notebook and editor servers, and of apps of Open OnDemand (`sys/dashboard/sys/…`)."""


def is_session(job_name: str) -> bool:
    """Whether a name is one of a session.

    >>> is_session("jupyter-notebook"), is_session("sys/dashboard/sys/ood_vscode"), is_session("code-server")
    (True, True, True)
    >>> is_session("train_v2"), is_session("virtual_screening"), is_session("shock")
    (False, False, False)
    """
    words = WORD.findall(job_name.lower())
    return not SESSION_WORDS.isdisjoint(words) or any(first + then in SESSION_WORDS for first, then in pairwise(words))
