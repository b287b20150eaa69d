"""`manage.py check_site`: the profile against captured and written output of scontrol, and against a command."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jobs.hardware import clusters
from jobs.site_check import ScontrolFormatError, differences, slurm_nodes, slurm_partitions
from jobs.site_profile import Cluster, bundled_site

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
CAPTURED = (SAMPLES / "scontrol-show-partition.txt", SAMPLES / "scontrol-show-node.txt")
CAMPUS = bundled_site("example_a100").clusters["campus"]

# As `--oneliner` prints it, cut to the fields that are read; MaxTime in Slurm's spelling of the profile's seconds.
PARTITIONS = """\
PartitionName=gpu QoS=N/A MaxNodes=4 MaxTime=3-00:00:00 Nodes=g[1-2] OverSubscribe=NO TotalNodes=2 DefMemPerNode=32768\
 TRES=cpu=128,mem=1000G,node=2,billing=128,gres/gpu=8
PartitionName=gpu-whole QoS=N/A MaxNodes=16 MaxTime=2-00:00:00 OverSubscribe=EXCLUSIVE TotalNodes=2\
 DefMemPerNode=UNLIMITED TRES=cpu=128,mem=1000G,node=2,billing=128,gres/gpu=8
PartitionName=mig QoS=N/A MaxNodes=UNLIMITED MaxTime=1-00:00:00 OverSubscribe=NO TotalNodes=1 DefMemPerNode=16384\
 TRES=cpu=64,mem=500G,node=1,billing=64,gres/gpu=28
PartitionName=cpu QoS=N/A MaxNodes=UNLIMITED MaxTime=UNLIMITED OverSubscribe=NO TotalNodes=9 DefMemPerCPU=2048\
 TRES=cpu=576,mem=2304G,node=9,billing=576
"""
# 66 cores less two for the system; 516096 MB less 4096 for the system are 500 GB.
NODES = """\
NodeName=g1 CoresPerSocket=33 CPUTot=66 Gres=gpu:a100:4(S:0,1),nvme:1 RealMemory=516096 Sockets=2 Boards=1\
 CoreSpecCount=2 CPUSpecList=32,65 MemSpecLimit=4096 ThreadsPerCore=1 Partitions=gpu,gpu-whole
NodeName=g2 CoresPerSocket=33 CPUTot=66 Gres=gpu:a100:4 RealMemory=516096 Sockets=2 Boards=1\
 CoreSpecCount=2 CPUSpecList=32,65 MemSpecLimit=4096 ThreadsPerCore=1 Partitions=gpu,gpu-whole Reason=was RealMemory=1
NodeName=m1 CoresPerSocket=32 CPUTot=64 Gres=gpu:1g.10gb:28 RealMemory=512000 Sockets=2 Boards=1 ThreadsPerCore=1\
 Partitions=mig
NodeName=c1 CoresPerSocket=32 CPUTot=64 Gres=(null) RealMemory=256000 Sockets=2 Boards=1 ThreadsPerCore=1 Partitions=cpu
"""


def found(partitions: str = PARTITIONS, nodes: str = NODES, cluster: Cluster = CAMPUS) -> tuple[str, ...]:
    return differences(cluster, slurm_partitions(partitions), slurm_nodes(nodes))


def with_partition(name: str, **changes: object) -> Cluster:
    return replace(CAMPUS, partitions={**CAMPUS.partitions, name: replace(CAMPUS.partitions[name], **changes)})


def test_a_profile_that_is_right_has_no_difference() -> None:
    assert found() == ()


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            "OverSubscribe=EXCLUSIVE",
            "OverSubscribe=NO",
            "partition gpu-whole: is_exclusive is true in the profile, false in Slurm (OverSubscribe)",
        ),
        ("MaxNodes=16", "MaxNodes=8", "partition gpu-whole: nodes_max is 16 in the profile, 8 in Slurm (MaxNodes)"),
        (
            "MaxNodes=16",
            "MaxNodes=UNLIMITED",
            "partition gpu-whole: nodes_max is 16 in the profile, no limit in Slurm (MaxNodes)",
        ),
        # 12 hours.
        (
            "MaxTime=2-00:00:00",
            "MaxTime=12:00:00",
            "partition gpu-whole: walltime_max_s is 172800 in the profile, 43200 in Slurm (MaxTime)",
        ),
        (
            "DefMemPerNode=32768",
            "DefMemPerNode=65536",
            "partition gpu: default_memory_gb is 32 GB in the profile, 64 GB in Slurm (DefMemPerNode)",
        ),
        (
            "PartitionName=cpu ",
            "PartitionName=batch ",
            "partition cpu: is the cpu_partition of gpu, gpu-whole, mig, not in Slurm",
        ),
    ],
)
def test_each_thing_of_a_partition_is_compared(before: str, after: str, line: str) -> None:
    assert PARTITIONS.count(before) == 1
    assert found(partitions=PARTITIONS.replace(before, after)) == (line,)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            "Gres=gpu:1g.10gb:28",
            "Gres=gpu:1g.10gb:14",
            "nodes of mig: gpus is 28 in the profile, 14 in Slurm (Gres): m1",
        ),
        (
            "Gres=gpu:a100:4(S:0,1),nvme:1",
            "Gres=gpu:h100:4",
            "nodes of gpu, gpu-whole: gres_type is a100 in the profile, h100 in Slurm (Gres): g1",
        ),
        (
            "Gres=gpu:1g.10gb:28",
            "Gres=gpu:1g.10gb:28,gpu:a100:1",
            "nodes of mig: gres_type is 1g.10gb in the profile, 1g.10gb and a100 in Slurm (Gres): m1",
        ),
        # 256000 / 1024 = 250.
        (
            "RealMemory=512000",
            "RealMemory=256000",
            "nodes of mig: host_memory_gb is 500 GB in the profile, 250 GB in Slurm (RealMemory - MemSpecLimit): m1",
        ),
        # 2 x 33 cores, none of which is kept for the system.
        (
            "CoreSpecCount=2 ",
            "",
            "nodes of gpu, gpu-whole: cores is 64 in the profile, 66 in Slurm"
            " (Sockets x CoresPerSocket - CoreSpecCount): g1, g2",
        ),
        (
            "CPUTot=66",
            "CPUTot=132",
            "nodes of gpu, gpu-whole: threads_per_core is 1 in the profile, 2 in Slurm"
            " (CPUTot / (Sockets x CoresPerSocket)): g1, g2",
        ),
    ],
)
def test_each_thing_of_a_node_is_compared_and_reported_once_with_its_nodes(before: str, after: str, line: str) -> None:
    assert before in NODES
    assert found(nodes=NODES.replace(before, after)) == (line,)


def test_many_nodes_with_one_difference_are_counted() -> None:
    (node,) = (line for line in NODES.splitlines() if line.startswith("NodeName=m1"))
    many = [node.replace("m1", f"m{number}").replace(":28", ":7") for number in range(1, 6)]
    (line,) = found(nodes="\n".join([*NODES.replace(node, "").splitlines(), *many]))
    assert line == "nodes of mig: gpus is 28 in the profile, 7 in Slurm (Gres): m1, m2, m3 and 2 more"


def test_partitions_with_gpus_are_on_both_sides_or_left_out_on_purpose() -> None:
    fewer = {name: CAMPUS.partitions[name] for name in ("gpu", "gpu-whole")}
    line = "partition mig: has GPUs in Slurm, is not in the profile (list it in left_out to ignore it)"
    assert found(cluster=replace(CAMPUS, partitions=fewer)) == (line,)
    assert found(cluster=replace(CAMPUS, partitions=fewer, left_out=("mig",))) == ()
    without = "\n".join(line for line in PARTITIONS.splitlines() if "=mig " not in line)
    assert found(partitions=without, nodes=NODES.replace("=mig", "=")) == (
        "partition mig: is in the profile, not in Slurm",
    )


def test_as_many_nodes_as_the_partition_has_are_no_limit() -> None:
    # The profile's one node of `mig` is all it has; with a second one the two no longer say the same.
    two = PARTITIONS.replace("OverSubscribe=NO TotalNodes=1 ", "OverSubscribe=NO TotalNodes=2 ")
    assert found(partitions=two) == ("partition mig: nodes_max is 1 in the profile, no limit in Slurm (MaxNodes)",)
    assert found(partitions=two, cluster=with_partition("mig", nodes_max=None)) == ()


def test_a_limit_may_be_the_qoss_where_the_partition_has_none() -> None:
    unlimited = PARTITIONS.replace("MaxNodes=16 MaxTime=2-00:00:00", "MaxNodes=UNLIMITED MaxTime=UNLIMITED")
    assert len(found(partitions=unlimited)) == 2
    head = "PartitionName=gpu-whole QoS="
    assert found(partitions=unlimited.replace(f"{head}N/A", f"{head}big")) == ()


def test_memory_by_cpu_is_compared_by_physical_core() -> None:
    by_cpu = PARTITIONS.replace("DefMemPerNode=32768", "DefMemPerCPU=4096")
    assert set(found(partitions=by_cpu)) == {
        "partition gpu: default_memory_gb is 32 GB in the profile, none in Slurm (DefMemPerNode)",
        "partition gpu: default_memory_per_core_gb is none in the profile, 4 GB in Slurm"
        " (DefMemPerCPU x threads_per_core)",
    }
    described = with_partition("gpu", default_memory_gb=None, default_memory_per_core_gb=4.0)
    assert found(partitions=by_cpu, cluster=described) == ()
    # Two CPUs of 4 GB make a core of 8 GB, which every node contradicts: it has one CPU for each.
    twice = replace(described, threads_per_core=2)
    assert any("is 4 GB in the profile, 8 GB in Slurm" in line for line in found(partitions=by_cpu, cluster=twice))


def test_a_real_slurm_of_made_up_nodes_differs_from_lumi_in_what_it_leaves_out() -> None:
    # Four nodes of 64 cores without low-noise mode or hardware threads, in two partitions without their limits.
    partitions, nodes = (file.read_text() for file in CAPTURED)
    assert found(partitions, nodes, clusters()["lumi"]) == (
        "partition dev-g: is in the profile, not in Slurm",
        "partition small: is the cpu_partition of small-g, dev-g, not in Slurm",
        "partition standard: is the cpu_partition of standard-g, not in Slurm",
        "partition standard-g: nodes_max is 1024 in the profile, no limit in Slurm (MaxNodes)",
        "partition small-g: default_memory_gb is 64 GB in the profile, none in Slurm (DefMemPerNode)",
        "nodes of small-g, standard-g: cores is 56 in the profile, 64 in Slurm"
        " (Sockets x CoresPerSocket - CoreSpecCount): nid005001, nid005002, nid005003 and 1 more",
        "nodes of small-g, standard-g: threads_per_core is 2 in the profile, 1 in Slurm"
        " (CPUTot / (Sockets x CoresPerSocket)): nid005001, nid005002, nid005003 and 1 more",
    )


@pytest.mark.parametrize(
    ("partitions", "nodes", "problem"),
    [
        (NODES, NODES, "no line begins with PartitionName="),
        (PARTITIONS, "", "no line begins with NodeName="),
        (PARTITIONS.replace("MaxNodes=16", "MaxNodes=many"), NODES, "PartitionName=gpu-whole: invalid literal"),
        (PARTITIONS, NODES.replace("CPUTot=64 Gres=gpu", "Gres=gpu"), "NodeName=m1: has no CPUTot"),
        (PARTITIONS, NODES.replace("CPUTot=64 Gres=gpu", "CPUTot=0 Gres=gpu"), "NodeName=m1: has no cores"),
    ],
)
def test_text_that_is_not_scontrols_is_refused(partitions: str, nodes: str, problem: str) -> None:
    with pytest.raises(ScontrolFormatError, match=f"^{problem}"):
        found(partitions, nodes)


def written(tmp_path: Path, nodes: str = NODES) -> list[str]:
    files = {"partitions.txt": PARTITIONS, "nodes.txt": nodes}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in files]


@pytest.mark.usefixtures("campus")
def test_the_command_says_that_both_agree(tmp_path: Path) -> None:
    out = io.StringIO()
    call_command("check_site", "--from-files", *written(tmp_path), stdout=out)
    assert out.getvalue() == "the profile Campus and Slurm agree on campus\n"


@pytest.mark.usefixtures("campus")
def test_the_command_prints_each_difference_and_fails_with_status_one(tmp_path: Path) -> None:
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"^differences between the profile Campus and Slurm: 1$") as failed:
        call_command("check_site", "--from-files", *written(tmp_path, NODES.replace(":28", ":7")), stdout=out)
    assert out.getvalue() == "nodes of mig: gpus is 28 in the profile, 7 in Slurm (Gres): m1\n"
    assert failed.value.returncode == 1


@pytest.mark.usefixtures("campus")
def test_the_command_asks_scontrol(tmp_path: Path) -> None:
    partitions, nodes = written(tmp_path)
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"files = {{'partition': {partitions!r}, 'node': {nodes!r}}}\n"
        "show, what, form = sys.argv[1:]\n"
        "assert (show, form) == ('show', '--oneliner')\n"
        "print(open(files[what]).read())\n"
    )
    scontrol.chmod(0o755)
    out = io.StringIO()
    call_command("check_site", "--scontrol", str(scontrol), stdout=out)
    assert out.getvalue() == "the profile Campus and Slurm agree on campus\n"


def test_the_command_names_what_it_cannot_use(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="scontrol-of-nowhere cannot be started: No such file or directory"):
        call_command("check_site", "--scontrol", "scontrol-of-nowhere")
    with pytest.raises(CommandError, match="--cluster mahti: the profile LUMI describes lumi"):
        call_command("check_site", "--cluster", "mahti", "--from-files", *written(tmp_path))
    with pytest.raises(CommandError, match=r"none\.txt: No such file or directory"):
        call_command("check_site", "--from-files", str(tmp_path / "none.txt"), str(tmp_path / "none.txt"))
    with pytest.raises(CommandError, match="not the output of scontrol: no line begins with PartitionName="):
        call_command("check_site", "--from-files", *reversed(written(tmp_path)))


def test_what_scontrol_wrote_in_several_lines_is_shown_in_one(tmp_path: Path) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\nprintf 'no configuration\\nno controller\\n' >&2\nexit 1\n")
    scontrol.chmod(0o755)
    with pytest.raises(CommandError, match=r"scontrol ended with status 1: no configuration no controller$"):
        call_command("check_site", "--scontrol", str(scontrol))


def test_a_profile_that_cannot_be_read_is_named_in_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ")
    done = subprocess.run(
        [sys.executable, "manage.py", "check_site"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "SITE_PROFILE": str(broken)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("Not started: SITE_PROFILE: ")
    assert str(broken) in line
