"""The options of sbatch: names, short letters, arguments, variables, inheritance, and the versions that know them.

Read from the option tables of Slurm 22.05.8, 23.02.7, 23.11.10, 24.05.8 and 25.05.8 (recorded 2026-11-20).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

VERSIONS = ("22.05", "23.02", "23.11", "24.05", "25.05")


class Option(NamedTuple):
    """One long option. `argument` is "none", "optional" (only after "=", or glued to the letter) or "required"."""

    name: str
    short: str
    argument: str
    is_inherited: bool
    """Whether a later component of a heterogeneous job keeps it."""
    versions: tuple[str, ...]
    variables: tuple[str, ...]
    """Environment variables that set it, in the order in which sbatch reads them."""


# name, letter, argument (n, o, r), inherited (+; of `hint` as observed on 22.05.8) or not (-), @versions where not all
# five know it, variables
TABLE = """\
account A r + SBATCH_ACCOUNT
acctg-freq - r + SBATCH_ACCTG_FREQ
array a r + SBATCH_ARRAY_INX
autocomplete - r + @23.02,23.11,24.05,25.05
batch - r + SBATCH_BATCH
bb - r - SBATCH_BURST_BUFFER
bbf - r +
begin b r +
chdir D r +
cluster - r +
cluster-constraint - r + SBATCH_CLUSTER_CONSTRAINT
clusters M r + SBATCH_CLUSTERS SLURM_CLUSTERS
comment - r +
constraint C r - SBATCH_CONSTRAINT
container - r + SBATCH_CONTAINER
container-id - r + @23.02,23.11,24.05,25.05 SBATCH_CONTAINER_ID
context - r +
contiguous - n -
core-spec S r - SBATCH_CORE_SPEC
cores-per-socket - r -
cpu-freq - r - SBATCH_CPU_FREQ_REQ
cpus-per-gpu - r - SBATCH_CPUS_PER_GPU
cpus-per-task c r -
deadline - r +
delay-boot - r + SBATCH_DELAY_BOOT
dependency d r +
distribution m r - SBATCH_DISTRIBUTION
error e r + SBATCH_ERROR
exclude x r +
exclusive - o - SBATCH_EXCLUSIVE
export - r + SBATCH_EXPORT
export-file - r + @22.05,23.02,24.05,25.05
external - n + @25.05
extra - r + @23.02,23.11,24.05,25.05
extra-node-info B r -
get-user-env - n + SBATCH_GET_USER_ENV
gid - r +
gpu-bind - r - SBATCH_GPU_BIND
gpu-freq - r - SBATCH_GPU_FREQ
gpus G r - SBATCH_GPUS
gpus-per-node - r - SBATCH_GPUS_PER_NODE
gpus-per-socket - r - SBATCH_GPUS_PER_SOCKET
gpus-per-task - r - SBATCH_GPUS_PER_TASK
gres - r - SBATCH_GRES
gres-flags - r - SBATCH_GRES_FLAGS
help h n +
hint - r + SLURM_HINT SBATCH_HINT
hold H n +
ignore-pbs - n + SBATCH_IGNORE_PBS
input i r + SBATCH_INPUT
job-name J r + SBATCH_JOB_NAME
kill-on-invalid-dep - r +
licenses L r -
mail-type - r -
mail-user - r -
mcs-label - r +
mem - r + SBATCH_MEM_PER_NODE
mem-bind - r - SBATCH_MEM_BIND
mem-per-cpu - r - SBATCH_MEM_PER_CPU
mem-per-gpu - r - SBATCH_MEM_PER_GPU
mincpus - r -
network - r - SBATCH_NETWORK
nice - o +
no-kill k o + SBATCH_NO_KILL
no-requeue - n + SBATCH_NO_REQUEUE
nodefile F r -
nodelist w r -
nodes N r -
ntasks n r -
ntasks-per-core - r -
ntasks-per-gpu - r -
ntasks-per-node - r -
ntasks-per-socket - r -
ntasks-per-tres - r -
oom-kill-step - o + @25.05
open-mode - r + SBATCH_OPEN_MODE
output o r + SBATCH_OUTPUT
overcommit O n - SBATCH_OVERCOMMIT
oversubscribe s n -
parsable - n +
partition p r - SBATCH_PARTITION
power - r - @22.05,23.02,23.11 SBATCH_POWER
prefer - r +
priority - r +
profile - r + SBATCH_PROFILE
propagate - o +
qos q r + SBATCH_QOS
quiet Q n +
reboot - n +
requeue - n + SBATCH_REQUEUE
reservation - r + SBATCH_RESERVATION
resv-ports - o - @24.05,25.05
segment - r - @24.05,25.05 SBATCH_SEGMENT_SIZE
signal - r + SBATCH_SIGNAL
sockets-per-node - r -
spread-job - n - SBATCH_SPREAD_JOB
stepmgr - n + @24.05,25.05
switches - r -
tasks-per-node - r -
test-only - n +
thread-spec - r - SBATCH_THREAD_SPEC
threads-per-core - r - SBATCH_THREADS_PER_CORE
time t r + SBATCH_TIMELIMIT
time-min - r +
tmp - r -
tres-bind - r - @23.11,24.05,25.05 SBATCH_TRES_BIND
tres-per-task - r - @23.02,23.11,24.05,25.05 SBATCH_TRES_PER_TASK
uid - r +
usage - n +
use-min-nodes - n - SBATCH_USE_MIN_NODES
verbose v n + SBATCH_DEBUG
version V n +
wait W n + SBATCH_WAIT
wait-all-nodes - r + SBATCH_WAIT_ALL_NODES
wckey - r + SBATCH_WCKEY
wrap - r +
"""
ARGUMENTS = {"n": "none", "o": "optional", "r": "required"}
SAME = {"tasks-per-node": "ntasks-per-node"}
"""Second names of an option; Slurm reports the first."""


def _option(line: str) -> Option:
    name, short, argument, inherited, *rest = line.split()
    is_dated = bool(rest) and rest[0].startswith("@")
    versions = tuple(rest[0][1:].split(",")) if is_dated else VERSIONS
    short = "" if short == "-" else short
    return Option(name, short, ARGUMENTS[argument], inherited == "+", versions, tuple(rest[is_dated:]))


OPTIONS = {option.name: option for option in map(_option, TABLE.splitlines())}
BY_LETTER = {option.short: option for option in OPTIONS.values() if option.short}
GROUPS = (("exclusive", "oversubscribe"), ("requeue", "no-requeue"))
"""Options that write to one place: the last of a group decides for all of it (observed on Slurm 22.05.8)."""
EARLY = frozenset("help quiet usage verbose version wrap".split())
"""Options that count on the command line alone: sbatch ignores them in a script (observed on Slurm 22.05.8)."""


def version_of(text: str) -> str:
    """The newest version of the table that is not newer than what `sbatch --version` printed.

    >>> version_of("slurm 24.11.3"), version_of("slurm-wlm 22.05.8"), version_of("unknown"), version_of("slurm 20.11")
    ('24.05', '22.05', '22.05', '22.05')
    """
    words = [word for word in text.split() if word[:1].isdigit()]
    return max((version for version in VERSIONS if words and version <= words[-1]), default=VERSIONS[0])


@lru_cache(maxsize=4096)
def candidates(name: str, version: str) -> tuple[str, ...]:
    """The long options that `--name` may mean: an exact one alone, otherwise every one that begins so.

    >>> candidates("gpus", "22.05"), candidates("mem-per", "22.05"), candidates("extra", "22.05")
    (('gpus',), ('mem-per-cpu', 'mem-per-gpu'), ('extra-node-info',))
    """
    known = [option.name for option in OPTIONS.values() if version in option.versions]
    return (name,) if name in known else tuple(each for each in known if each.startswith(name))
