"""Healthy runs that do not look it: idle samples, pauses, warm-up, small memory, busy hosts, other people's I/O.

Sources: facts/lumi.md (sections 1, 2, 6), facts/peers.md (users' complaints about false alarms), real traces.
"""

from __future__ import annotations

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.examiner_draw import (
    HALF_MODULE,
    Pace,
    Setup,
    Span,
    host,
    job,
    node,
    pauses,
    stages,
    wander,
)
from bench.noisy.readings import Node

SHARE = {"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G", "--partition": "small-g"}
WHOLE = {"--nodes": "1", "--gpus-per-node": "8", "--ntasks-per-node": "8", "--cpus-per-task": "7"}


def _lora(rng: np.random.Generator) -> list[Node]:
    span = Span(4.2)
    load = pauses(rng, span, stages(span, (0.02, 0.0), (0.98, 0.96)), every_s=1500, lasting_s=60, to=0.25)
    cpu = host(rng, 7, 1.6, 24, 60, threads=7)
    return [node(rng, span, [load], [47.0], Pace(0.9, 0.3), cpu, HALF_MODULE)]


def _validation(rng: np.random.Generator) -> list[Node]:
    span = Span(5.5)
    shared = pauses(rng, span, stages(span, (0.012, 0.02), (0.988, 0.97)), every_s=1700, lasting_s=100, to=0.55)
    loads = [wander(rng, span, shared, 0.02) for _ in range(8)]
    cpu = host(rng, 56, 19, 170, 480, ranks=8, threads=7)
    return [node(rng, span, loads, [51.5] + [49.0] * 7, Pace(0.7), cpu)]


def _long_batches(rng: np.random.Generator) -> list[Node]:
    span = Span(3.1)
    load = wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.785)), 0.02)
    return [node(rng, span, [load], [34.0], Pace(4.5, 0.35), host(rng, 7, 5.6, 31, 60, threads=7), HALF_MODULE)]


def _replicas(rng: np.random.Generator) -> list[Node]:
    span = Span(7.5, 2.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.90 + 0.01 * (number % 3))), 0.01) for number in range(8)]
    cpu = host(rng, 56, 9.2, 12, 480, ranks=8, threads=1)
    return [node(rng, span, loads, [1.4] * 8, Pace(0.12), cpu, Setup(die_w=128.0))]


def _lattice(rng: np.random.Generator) -> list[Node]:
    span = Span(3.0, 2.0)
    drawn = []
    for slow in (0.0, 0.0, 0.055, 0.0):
        loads = [wander(rng, span, stages(span, (0.03, 0.1), (0.97, 0.875 - slow)), 0.015) for _ in range(8)]
        cpu = host(rng, 56, 9.0, 60, 480, ranks=8, threads=7)
        drawn.append(node(rng, span, loads, [22.0] * 8, Pace(0.4), cpu))
    return drawn


def _lossy(rng: np.random.Generator) -> list[Node]:
    span = Span(6.4)
    load = pauses(rng, span, stages(span, (1.0, 0.95)), every_s=2400, lasting_s=45)
    cpu = host(rng, 14, 4.0, 50, 120, ranks=2, threads=7)
    setup = Setup(lost_fraction=0.12, offset_s=45.0)
    return [node(rng, span, [load, load], [44.0, 43.0], Pace(0.5), cpu, setup)]


def _tuning_warm_up(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0)
    load = wander(rng, span, stages(span, (0.042, 0.08), (0.958, 0.935)), 0.02)
    return [node(rng, span, [load], [58.0], Pace(0.25), host(rng, 7, 3.1, 28, 60, threads=7), HALF_MODULE)]


def _short_staging(rng: np.random.Generator) -> list[Node]:
    span = Span(2 / 3)
    load = stages(span, (0.213, 0.0), (0.787, 0.975))
    cpu = host(rng, 7, 1.9, 40, 60, threads=7, iowait=0.03, pressure_io_s=95.0)
    return [node(rng, span, [load], [27.0], Pace(0.3), cpu, HALF_MODULE)]


def _merge_at_the_end(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0)
    loads = [wander(rng, span, stages(span, (0.94, 0.93), (0.06, 0.0)), 0.015) for _ in range(4)]
    cpu = host(rng, 28, 9.5, 110, 240, ranks=4, threads=7)
    return [node(rng, span, loads, [39.0] * 4, Pace(0.35), cpu)]


def _notebook(rng: np.random.Generator) -> list[Node]:
    span = Span(1.25)
    load = wander(rng, span, stages(span, (0.05, 0.0), (0.95, 0.86)), 0.06, over_s=240)
    return [node(rng, span, [load], [18.0], Pace(1.3, 0.5), host(rng, 7, 2.4, 22, 60, threads=7), HALF_MODULE)]


def _two_half_modules(rng: np.random.Generator) -> list[Node]:
    span = Span(9.0, 2.0)
    load = pauses(rng, span, stages(span, (1.0, 0.93)), every_s=3600, lasting_s=120)
    cpu = host(rng, 14, 3.6, 55, 120, ranks=2, threads=7)
    return [node(rng, span, [load, load], [36.0, 36.0], Pace(0.8), cpu, Setup(gpu_ids=(1, 2)))]


def _preallocated(rng: np.random.Generator) -> list[Node]:
    span = Span(2.4)
    load = pauses(rng, span, stages(span, (0.02, 0.05), (0.98, 0.92)), every_s=900, lasting_s=25)
    cpu = host(rng, 7, 6.75, 47, 60, threads=7)
    return [node(rng, span, [load], [48.0], Pace(0.5), cpu, Setup(die_w=None, fill_s=8.0))]


CASES: tuple[Case, ...] = (
    Case(
        "examiner lora on one gcd with slow evaluations",
        "LUMI AI guide, chapter 1; habits in facts/lumi.md section 2",
        "The usual one-GCD fine-tuning: model download, then 96 % with a minute of evaluation every 25.",
        job("lora-mistral", 4.2, 6, spelled=SHARE | {"--time": "06:00:00"}),
        _lora,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=2, memory_min_gb=28),
    ),
    Case(
        "examiner eight gcds with validation and checkpoints",
        "LUMI AI guide, chapter 5",
        "Data parallel on a whole node. All GPUs dip together for 100 s every half hour: validation and a checkpoint, "
        "6 % of the time. That is how training looks, not a stall.",
        job("vit-l16_run7", 5.5, 8, 8, partition="standard-g", spelled=WHOLE | {"--time": "08:00:00"}),
        _validation,
        "EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        "examiner batches of five seconds read as 0 or 100",
        "facts/amd-gpus.md on the busy counter; facts/lumi.md, CSC: num_workers=7",
        "Speech model with batches of 4.5 s: each reading is 0 or 100, the mean is 78. The loader keeps 5.6 of 7 cores "
        "busy and keeps up. No stall, no CPU limit.",
        job("wav2vec_ft", 3.1, 4, spelled=SHARE | {"--time": "4:00:00"}),
        _long_batches,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=6),
    ),
    Case(
        "examiner eight molecular replicas with tiny memory",
        "GROMACS ensembles, one replica for each GCD; facts/lumi.md section 2",
        "1.4 GB of 64 in use and about one core for each GPU, at 91 %: molecular dynamics needs no memory. Fewer GPUs "
        "would make it slower at the same price.",
        job("md_ensemble", 7.5, 12, 8, partition="standard-g"),
        _replicas,
        "EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        "examiner four nodes with one slow node",
        "facts/lumi.md section 1: a node-level limiter may hold a loaded module below its cap",
        "Lattice QCD on 32 GCDs, one node six points below the others. Within what a machine of this size does.",
        job("hmc-48x96", 3.0, 4.7, 32, 4, "standard-g", ntasks=32, spelled={"--nodes": "4", "--gpus-per-node": "8"}),
        _lattice,
        "EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        "examiner an eighth of the samples lost",
        "facts/amd-gpus.md: stale snapshots, a daemon that was not scheduled",
        "Two GCDs at 93 %, started 45 s apart as the counter sees it, with clumps of lost samples. 88 % was measured, "
        "which is enough to call it healthy.",
        job("dimenet", 6.4, 8, 2),
        _lossy,
        "EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        "examiner convolution search before the first epoch",
        "LUMI-EasyBuild-docs PyTorch: MIOpen builds its kernel database first",
        "Twelve minutes at 8 % while MIOpen searches kernels, then 93 % for almost five hours: 4 % of the run.",
        job("unet3d-fold0", 5.0, 7, spelled=SHARE | {"--time": "7:00:00"}),
        _tuning_warm_up,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        "examiner eight minutes of unpacking in a short run",
        "domain.md section 3: late_start needs 20 % and 10 minutes; /tmp is memory on LUMI",
        "Data is unpacked to /tmp for 8.5 of 40 minutes, then 97 %. More than a fifth, but under ten minutes.",
        job("finetune-detr", 2 / 3, 1, spelled=SHARE | {"--time": "01:00:00"}),
        _short_staging,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,), memory_min_gb=44),
    ),
    Case(
        "examiner results merged in the last twenty minutes",
        "peers.md: idle after a burst",
        "The trajectory is merged on the cores for the last 6 % of a six-hour run. Not worth a second job.",
        job("pmemd-merge", 6.0, 8, 4),
        _merge_at_the_end,
        "EFFICIENT",
        sensible=Sensible(gpus=(4,), cores_min=12),
    ),
    Case(
        "examiner notebook that ends after a third of its time",
        "domain.md: interactive sessions are never flagged for walltime; cBio/cbio-cluster#261",
        "A Jupyter session of the web interface, busy while it lasted, closed after 75 minutes of four hours.",
        job("sys/dashboard/sys/ood_jupyter", 1.25, 4),
        _notebook,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        "examiner two dies of two modules",
        "facts/lumi.md section 2: `--gpus` on a shared node; power only for whole modules",
        "Slurm gave dies 1 and 2. Power cannot be attributed; the use is 90 % and more.",
        job("esm2-embed", 9.0, 12, 2, spelled={"--gpus": "2", "--ntasks": "2", "--cpus-per-task": "7"}),
        _two_half_modules,
        "EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        "examiner jax takes three quarters of memory at once",
        "JAX documentation: XLA_PYTHON_CLIENT_MEM_FRACTION is 0.75",
        "48 GB are held from the first second and 6.75 of 7 cores decode images. The GPU is at 88 %: it is fed.",
        job("jax_resnet_v3", 2.4, 3.5, spelled=SHARE | {"--time": "3:30:00"}),
        _preallocated,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=7, memory_min_gb=50),
    ),
)
