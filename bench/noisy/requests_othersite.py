"""Runs of a cluster that Kaiku has no profile of: NVIDIA A100, one GPU for each power reading, other shares."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.requests_drawing import A100, Load, Seen, host, node
from bench.noisy.requests_records import codes, hours, othersite

# A truly busy A100 draws about 300-360 W of its 400 W, 240-300 W above idle.
BUSY_W = 270.0
SEEN = Seen(site=A100)

CASES: tuple[Case, ...] = (
    Case(
        name="othersite_four_busy_gpus",
        source="job_defense_shield documentation, Princeton A100 nodes",
        story="Four A100 at work with 62 of 79 GB: healthy anywhere.",
        record=othersite(4, 10.4, 12),
        draw=lambda rng: [
            node(rng, hours(10.4), Load((95,) * 4, (62,) * 4, watts=BUSY_W), host(rng, 11.7, 140, 64, 500, 4, 16), SEEN)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="othersite_more_cores_than_anybody_would_guess",
        source="job_defense_shield#9: shares differ by site and must not be guessed",
        story="One A100 with 32 cores and 250 GB. No share is known there, so none can be exceeded: healthy.",
        record=othersite(1, 8.6, 10, asked={"--cpus-per-task": "32", "--mem": "250G"}, memory_requested_gb=250.0)
        | {"cpus_per_task": 32, "cpus_allocated": 32},
        draw=lambda rng: [
            node(rng, hours(8.6), Load((93,), (44,), watts=BUSY_W), host(rng, 6.1, 50, 32, 250, 1, 19), SEEN)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="othersite_idle_gpus_all_day",
        source="Princeton zero-gpu alert; traces wb-d (real)",
        story="Four A100 at idle power without a single busy spell.",
        record=othersite(4, 9.1, 11, job_name="cpu_by_mistake"),
        draw=lambda rng: [
            node(rng, hours(9.1), Load((0,) * 4, (0.4,) * 4, watts=BUSY_W), host(rng, 4.5, 33, 64, 500, 4, 8), SEEN)
        ],
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="othersite_spinning_at_low_power",
        source="ai-infrastructure.net runbook: GPUs show high use while spinning in a collective",
        story="Two nodes busy at 98 % with 110 W of 400 W on every GPU for seven hours. They wait.",
        record=othersite(4, 7.3, 9, nodes=2, job_name="pretrain"),
        draw=lambda rng: [
            node(
                rng,
                hours(7.3),
                Load((98,) * 4, (51,) * 4, watts=53.0, dips=0),
                host(rng, 5.2, 120, 64, 500, 4, 12),
                SEEN,
            )
            for _ in range(2)
        ],
        efficiency_class="EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="othersite_small_model_on_eight_gpus",
        source="JDS gpu-model-too-powerful and low-gpu-efficiency alerts",
        story="Eight A100 at 21 % each with 5 GB each and a quiet host. The work is less than two full GPUs.",
        record=othersite(4, 6.6, 8, nodes=2, job_name="mnist_ddp"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.6),
                Load((21,) * 4, (5.1,) * 4, watts=BUSY_W, is_pulsing=True),
                host(rng, 4.4, 30, 64, 500, 4, 8),
                SEEN,
            )
            for _ in range(2)
        ],
        efficiency_class="INEFFICIENT",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(2, 4), is_ready_to_resubmit=False),
    ),
    Case(
        name="othersite_cores_hold_the_gpus_back",
        source="docs.csc.fi gpu-ml, data preparation; Jobanalyzer",
        story="All 32 cores busy without pause, two A100 wait two thirds of the time.",
        record=othersite(2, 7.9, 9, job_name="video_decode"),
        draw=lambda rng: [
            node(
                rng,
                hours(7.9),
                Load((32, 33), (28, 28), watts=BUSY_W, is_pulsing=True),
                host(rng, 33, 90, 32, 250, 2, 18, waits_s=(5200, 0, 30)),
                SEEN,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck"),
        may=codes("host_oversubscription"),
        sensible=Sensible(gpus=(1, 2), cores_min=31),
    ),
    Case(
        name="othersite_half_of_the_gpus_unused",
        source="LLview job 9482789 (1 of 4 GPUs): peers see low CPU load and say nothing of the GPUs",
        story="Four A100, two processes.",
        record=othersite(4, 5.7, 7, job_name="two_procs"),
        draw=lambda rng: [
            node(
                rng,
                hours(5.7),
                Load((95, 94, 0, 0), (47, 46, 0.01, 0.01), watts=BUSY_W),
                host(rng, 5.8, 60, 64, 500, 2, 20),
                Seen(site=A100, lost=(0.01, 0.02)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(gpus=(2,), cores_min=5, memory_min_gb=60, is_ready_to_resubmit=False),
    ),
    Case(
        name="othersite_memory_nearly_full",
        source="vendor data sheet: 80 GB class cards show 79.2 GB",
        story="78.9 of 79.2 GB at peak, completed. On LUMI this would be no number at all; here it is the brim.",
        record=othersite(4, 9.3, 11, job_name="sft_34b"),
        draw=lambda rng: [
            node(
                rng,
                hours(9.3),
                Load((94,) * 4, (78.3,) * 4, watts=BUSY_W, swing_gb=0.4),
                host(rng, 7.1, 160, 64, 500, 4, 14),
                SEEN,
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(4, 8)),
    ),
    Case(
        name="othersite_memory_above_what_lumi_has",
        source="peers: hard-coded capacities (jobstats shows 109 %)",
        story="66 GB used of 79: above a LUMI GPU and far from full here. Healthy.",
        record=othersite(2, 6.4, 8, job_name="sft_13b"),
        draw=lambda rng: [
            node(rng, hours(6.4), Load((92,) * 2, (65.4,) * 2, watts=BUSY_W), host(rng, 5.0, 77, 32, 250, 2, 14), SEEN)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="othersite_walltime_far_above",
        source="job_defense_shield excessive-time alert",
        story="Well used, 1.4 of 48 hours.",
        record=othersite(1, 1.4, 48, job_name="lora"),
        draw=lambda rng: [
            node(rng, hours(1.4), Load((93,), (30,), watts=BUSY_W), host(rng, 3.9, 29, 16, 125, 1, 10), SEEN)
        ],
        efficiency_class="EFFICIENT",
        must=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(1.45)),
    ),
)
