"""Which runs are the same work: by a person's own name for it, without what changes from one run to the next.

Never from a script's text or a command line, which are not stored. The key is an HMAC, so that readers of an export
learn no job name and cannot guess names.
"""

import hashlib
import hmac
import json
import re

from jobs.records import JOB_NAME_LENGTH_MAX
from wire.work_names import GENERIC, KEY_LENGTH, SCRIPT_ENDING, TRIAL_MARK

WORD = re.compile(r"[^\W_]+")
CLOCK = re.compile(r"(?<![^\W_])[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?![^\W_])")

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_YEAR = r"(?:19|20)[0-9]{2}"
_TIME = r"(?:[t-][0-9]{2}-?[0-9]{2}(?:-?[0-9]{2})?z?)?"
# What distinguishes one run from another anywhere in a name; words are joined by "-" here.
VOLATILE = re.compile(
    rf"""(?<![^-])(?:
      [0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}                      # uuid
    | {_YEAR}-(?:1[0-2]|0?[1-9])-(?:3[01]|[12][0-9]|0?[1-9]){_TIME}            # 2026-11-20, with a time or without
    | [0-3]?[0-9]-[0-3]?[0-9]-{_YEAR}{_TIME}                                   # 20-11-2026
    | {_YEAR}[01][0-9][0-3][0-9]{_TIME}                                        # 20261120, 20261120t103000z
    | [0-9]{{1,2}}-?{_MONTH}(?:-?(?:{_YEAR}|[0-9]{{2}}))?                      # 20nov2026
    | (?:{_YEAR}-?)?{_MONTH}-?[0-9]{{1,2}}(?:-?{_YEAR})?                       # nov20
    | [0-9]{{1,2}}h[0-9]{{2}}(?:m(?:[0-9]{{2}}s?)?)?                           # 10h30
    | [0-9]{{6,}}                                                              # a time stamp, a job id
    | 0x[0-9a-f]+
    | (?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{{7,}}                             # from a short commit hash on
    | (?:random-?|rng-?)?seed-?[0-9]+
    )(?![^-])""",
    re.VERBOSE,
)
_COUNTED = (
    "kaiku-trial|run|rerun|restart|resume|retry|try|trial|attempt|rep|repeat|replica|copy|cont|part|chunk|shard|fold|round|iter"
    "|iteration|array|arr|task|job|id|idx|index|no|nr|num|v|ver|version|rev|revision|rng|seed"
)
# Words for an action, not for a model: a number directly after them is a counter, in "resnet50" it is not.
_DONE = (
    "train|training|pretrain|finetune|tune|eval|evaluate|infer|inference|test|debug|sim|simulation|md|prod|production"
    "|bench|benchmark|exp|experiment|sweep"
)
# At the end: `_v2`, `-run-3`, `.0007`, `(2)`; then `prod007` and `train2`.
TRAILING = re.compile(rf"(?:^|-)(?:(?:{_COUNTED})-?)?[0-9]+\Z|(?<=[^\W0-9_])0[0-9]+\Z|((?:^|-)(?:{_DONE}))[0-9]+\Z")
# Open OnDemand: `sys/dashboard/sys/jupyter`, and its own apps in development `dev/…`.
DASHBOARD = ("sys-dashboard", "sys-ood", "sys-bc")


def normalised_name(job_name: str) -> str:
    """The name without dates, times, hexadecimal words, seeds, counters and versions; empty where it has no meaning.

    Words are joined by "-"; normalising twice is normalising once. Costs a bounded time, whatever the name.

    >>> normalised_name("Llama-7b_finetune_2026-11-20_v2"), normalised_name("resnet50.sh"), normalised_name("run-3")
    ('llama-7b-finetune', 'resnet50', '')
    """
    written = SCRIPT_ENDING.sub("", job_name.strip().lower()[:JOB_NAME_LENGTH_MAX])
    name, before = _joined(CLOCK.sub(" ", written)), None
    while name != before:
        before = name
        name = _joined(TRAILING.sub(r"\1", _joined(VOLATILE.sub("", name))))
    is_generic = name in GENERIC or name.startswith(DASHBOARD) or not any(letter.isalpha() for letter in name)
    return "" if is_generic else name


def work_key(secret: bytes, cluster: str, user: str, project: str, job_name: str, script_key: str = "") -> str:
    """The key of the work that a run belongs to, `KEY_LENGTH` hexadecimal digits; empty where the work has no name.

    A payload's own `script_key` distinguishes works of one name, and identifies a work without a name.

    >>> one = work_key(b"secret", "lumi", "alice", "project_465000001", "train_v1")
    >>> one == work_key(b"secret", "lumi", "alice", "project_465000001", "train_v2"), len(one)
    (True, 32)
    >>> work_key(b"secret", "lumi", "alice", "project_465000001", "bash")
    ''
    """
    name = normalised_name(job_name)
    if not name and not script_key:
        return ""
    said = json.dumps([cluster, user, project, name, script_key]).encode()
    return hmac.new(secret, said, hashlib.sha256).hexdigest()[:KEY_LENGTH]


def is_trial(job_name: str) -> bool:
    """Whether a run is a trial: the same work as `normalised_name` reads it, but short, to measure its run time.

    >>> is_trial("train-kaiku-trial-2"), is_trial("train-trial-2"), normalised_name("train-kaiku-trial-2")
    (True, False, 'train')
    """
    return TRIAL_MARK in job_name


def without_trial(job_name: str) -> str:
    """The name of a run as its work is shown: a trial's without what makes it one.

    >>> without_trial("train_v2-kaiku-trial-8"), without_trial("train_v2")
    ('train_v2', 'train_v2')
    """
    return job_name.partition(TRIAL_MARK)[0]


def _joined(text: str) -> str:
    return "-".join(WORD.findall(text))
