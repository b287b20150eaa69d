"""Made-up headers of batch scripts, the same for the same seed: plain ones, odd spellings, and what Slurm refuses."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

VALUES = {
    "time": "5 90 1:30 90:30 1:30:01 1-6 1-06:30 0 UNLIMITED infinite -1 1h :5 1-2-3 00:00:30 2-12:00:00 -5".split(),
    "nodes": "1 2 3 1-3 2-2 -3 4-2 x 2k 007".split(),
    "ntasks": "1 2 8 16 0 x 4k 03".split(),
    "ntasks-per-node": "1 2 4 8 -1".split(),
    "ntasks-per-gpu": "1 2 x".split(),
    "cpus-per-task": "1 4 7 14 0".split(),
    "cpus-per-gpu": "2 7".split(),
    "gpus": "1 2 3 4 8 mi250:2 mi250:8 0 mi250:x a:1,b:2".split(),
    "gpus-per-node": "1 2 4 8 mi250:4 9".split(),
    "gpus-per-task": "1 2 mi250:1".split(),
    "gres": "gpu gpu:2 gpu:mi250:4 gpu:8 gres:gpu:1 gpu=2 none gpu:1,".split(),
    "mem": "0 60G 480g 2000 1024 1536M 60GB 2000000K 1T 1.5G 64Gi".split(),
    "mem-per-cpu": "1G 2000 1025K".split(),
    "mem-per-gpu": "60G 8g".split(),
    "partition": ["small-g", "standard-g", "small-g,standard-g"],
    "job-name": ["train", "a-b_c", "my job", 'say "hi"', "a#b", "x:y", "täst", "a\\b", ""],
    "comment": ["one", "two words", "a # b", "it's"],
    "array": "0-9 0-9:3%2 1,3,7-8 3-0 x 5% [1-3] 1,2,2".split(),
    "account": ["project_465000001"],
    "qos": ["normal"],
    "mail-type": "END ALL begin,fail NONE x".split(),
    "signal": "USR1 B:USR1@120 10@60 x".split(),
    "open-mode": "append truncate x".split(),
    "hint": "nomultithread multithread x".split(),
    "time-min": "1 10 1-0".split(),
    "tmp": "5G 1025K".split(),
    "nice": "5 x".split(),
    "threads-per-core": "1 2".split(),
    "begin": "now+1hour tomorrow 16:00 yesterdayy 25:00 now+5min".split(),
    "distribution": "block cyclic:block pack foo fcyclic block,x".split(),
    "extra-node-info": "2 1:4 *:*:* x 2x 2:x".split(),
    "switches": "1 2@10 1@1:00 x 0 2k".split(),
    "gpu-bind": "closest none single:2 foo single verbose".split(),
    "mem-bind": "local none map_mem:0,1 foo yes help".split(),
    "profile": "none task all,network foo filesystem x".split(),
    "dependency": "singleton afterok:1 afterany:1:2,afternotok:3 foo afterok:x before:1".split(),
    "delay-boot": "10 1:00 0 x 5x soon".split(),
    "cpu-freq": "low high 2000 foo x :Performance".split(),
    "gpu-freq": "high medium,memory=high 900 foo x memory".split(),
    "acctg-freq": "30 task=30 task=5,energy=10 foo x task=".split(),
    "gres-flags": "disable-binding enforce-binding Disable-Binding foo x disable".split(),
    "propagate": "ALL NONE STACK,CORE foo stack x".split(),
    "uid": ["0"],
    "core-spec": ["0"],
    "wait-all-nodes": ["0", "1", "", "2"],
}
LETTERS = {
    **{"time": "t", "nodes": "N", "ntasks": "n", "cpus-per-task": "c", "gpus": "G", "partition": "p"},
    **{"job-name": "J", "array": "a", "account": "A", "qos": "q"},
}
FLAGS = "--exclusive --exclusive=user --oversubscribe -s --requeue --no-requeue --contiguous -O --nice -k".split()
BROKEN = (
    "--gpuz=2|--gpu=2|-Z 1|foo|--|-|--exclusive user|--requeue=1|--time|--job-name='open|-n1 : -n2|--nodes|--hol=x|"
    "--mem|-J"
).split("|")
ODD = (
    "|--part=small-g|--cpus-per-t 3|--job-nam=x|--tasks=2|--comment '' --gpus=2|--comment=\"\"|-sN2|-Osn3|\\|-Q|-v|"
    "--tasks-per-node=4|--wrap=x|--parsable|--comment hetjob|-n2 hetjob -n3|-J a\\ b"
).split("|")
BETWEEN = ("", "   ", "# a comment", "  # indented", "##SBATCH --gpus=8", "# SBATCH -n9", "#sbatch -n9", " #SBATCH -n9")
FOREIGN = (
    "#PBS -N pbs|#PBS -l walltime=01:00:00|#PBS -l nodes=2:ppn=4|#PBS -q small-g|#PBS -l mem=4gb|#BSUB -J lsf|"
    "#BSUB -W 60|#BSUB -n 4|#PBS -l select=2:ncpus=8:mpiprocs=4|#PBS -m abe|#BSUB -x|#PBS -t 1-3"
).split("|")
VARIABLES = {
    "SBATCH_TIMELIMIT": ["33", "soon", "1:0:0"],
    "SBATCH_GPUS": ["2", "mi250:4", ""],
    "SBATCH_DISTRIBUTION": ["block", "x"],
    "SBATCH_MEM_BIND": ["local", "x"],
    "SBATCH_PROFILE": ["task", "x"],
    "SBATCH_GPU_BIND": ["none", "x"],
    "SBATCH_DELAY_BOOT": ["5", "x"],
    "SBATCH_PARTITION": ["standard-g"],
    "SBATCH_EXCLUSIVE": ["", "user"],
    "SBATCH_MEM_PER_GPU": ["8G"],
    "SBATCH_MEM_PER_NODE": ["5G"],
    "SBATCH_REQUEUE": ["", "0", "yes"],
    "SBATCH_JOB_NAME": ["outside"],
    "SBATCH_NTASKS": ["7"],
    "SLURM_NTASKS": ["5"],
    "SBATCH_IGNORE_PBS": ["1"],
}
INTERPRETERS = ("#!/bin/bash", "#!/usr/bin/env python3", "#! /bin/sh -e")


@dataclass
class Header:
    """A script with the variables and arguments of its submission."""

    script: bytes
    environment: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)


def headers(count: int, seed: int) -> list[Header]:
    source = random.Random(seed)
    return [header(source) for _ in range(count)]


def header(source: random.Random) -> Header:
    """One script: often plain, sometimes with a broken or odd line."""
    lines = [source.choice(INTERPRETERS)]
    for _ in range(source.randint(1, 6)):
        lines.append(line(source))
        if source.random() < 0.15:
            lines.append(source.choice(BETWEEN))
    is_het = source.random() < 0.15
    if is_het:
        lines.insert(source.randint(1, len(lines)), source.choice(["#SBATCH hetjob", "#SBATCH HETJOB -n4"]))
    if source.random() < 0.12:
        lines.insert(source.randint(1, len(lines)), source.choice(FOREIGN))
    if source.random() < 0.1:
        lines.insert(source.randint(1, len(lines)), source.choice(["set -e", ": # nothing", '"""text"""']))
    names = source.sample(sorted(VARIABLES), source.randint(1, 3)) if source.random() < 0.3 else []
    given = [option(source, is_argument=True) for _ in range(source.randint(1, 2))] if source.random() < 0.3 else []
    return Header(
        ("\n".join(lines) + source.choice(["\ntrue\n", "\n", ""])).encode(),
        {name: source.choice(VARIABLES[name]) for name in names},
        given,
    )


def line(source: random.Random) -> str:
    chance = source.random()
    if chance < 0.04:
        return f"#SBATCH {source.choice(BROKEN)}"
    if chance < 0.12:
        return f"#SBATCH {source.choice(ODD)}"
    words = [option(source) for _ in range(source.choice([1, 1, 1, 2, 3]))]
    after = source.choice(["", "", "", "  # why", " #why", "\t"])
    return f"#SBATCH{source.choice([' ', ' ', '  ', chr(9), ''])}{' '.join(words)}{after}"


def option(source: random.Random, *, is_argument: bool = False) -> str:
    """An option as a directive writes it, or as one argument."""
    if source.random() < 0.15:
        return source.choice(FLAGS)
    name = source.choice(sorted(VALUES))
    # Mostly a value that Slurm accepts: the first ones.
    values = VALUES[name]
    value = source.choice(values[:3] if source.random() < 0.85 else values)
    if is_argument:
        return f"--{name}={value}"
    if name in LETTERS and source.random() < 0.4 and value:
        return f"-{LETTERS[name]}{source.choice(['', ' '])}{shell_quoted(source, value)}"
    return f"--{name}{source.choice(['=', '=', ' '])}{shell_quoted(source, value)}"


def shell_quoted(source: random.Random, value: str) -> str:
    if value and not set(value) & set(" \"'#\\") and source.random() < 0.85:
        return value
    if "'" not in value and "\\" not in value and source.random() < 0.5:
        return f"'{value}'"
    inner = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'
