"""Time limits far above the use, and limits that only look so."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.readings import Node
from bench.noisy.requests_drawing import Load, Rng, Seen, bursts, from_util, host, node
from bench.noisy.requests_records import codes, hours, shared, whole


def _open_shell(rng: Rng) -> list[Node]:
    """An interactive shell on one GPU: seven tests of a minute or two within three hours."""
    util = bursts(rng, int(rng.integers(1100, 1500)), 1, count=9, length=0.035)
    cpu = host(rng, 0.9, 12, 7, 60, 1, 9)
    return [from_util(rng, hours(2.9), util, Load((90,), (34,), start=0.01), cpu, Seen(gpu_ids=(3,)))]


CASES: tuple[Case, ...] = (
    Case(
        name="walltime_two_days_for_three_hours",
        source="LUMI responsible use 2023-08: realistic walltime helps backfill; max walltime by habit",
        story="A healthy training requested the partition's two days and took three hours.",
        record=whole(1, 3.02, 48, job_name="train_gnn", asked={"--time": "2-00:00:00"}),
        draw=lambda rng: [node(rng, hours(3.02), Load((91,) * 8, (43,) * 8), host(rng, 9.7, 99))],
        efficiency_class="EFFICIENT",
        must=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(8,), walltime_min_s=hours(3.1)),
    ),
    Case(
        name="walltime_three_days_for_forty_minutes",
        source="LUMI user guide: small-g allows 3 days; max walltime by habit",
        story="One GPU, well used for 43 minutes of 72 hours.",
        record=shared(1, 0.71, 72, job_name="predict", asked={"--time": "3-00:00:00"}),
        draw=lambda rng: [
            node(rng, hours(0.71), Load((88,), (19,), start=0.05), host(rng, 2.9, 18, 7, 60, 1, 10), Seen(gpu_ids=(4,)))
        ],
        efficiency_class="EFFICIENT",
        must=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(0.74)),
    ),
    Case(
        name="walltime_a_day_for_two_hours_on_eight_nodes",
        source="job_defense_shield excessive-time alert; the 20 % reserve is theirs",
        story="64 GPUs, efficient, 1.9 of 24 hours. A shorter limit would start earlier by backfill.",
        record=whole(8, 1.9, 24, job_name="cosmo_icon"),
        draw=lambda rng: [
            node(rng, hours(1.9), Load((89,) * 8, (28,) * 8, start=0.04), host(rng, 8.5, 110), Seen(steps=950))
            for _ in range(8)
        ],
        efficiency_class="EFFICIENT",
        must=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(64,), walltime_min_s=hours(2)),
    ),
    Case(
        name="walltime_of_an_array_task",
        source="LUMI user guide: each array task counts as one job; job_defense_shield percent-used 80 %",
        story="One trial of a sweep: 31 of 720 minutes, the same limit in each of 60 tasks.",
        record=shared(
            1,
            0.52,
            12,
            job_name="optuna_sweep",
            array_job_id=699000,
            array_task_id=17,
            asked={"--gpus-per-node": None, "--gpus": "1"},
        ),
        draw=lambda rng: [
            node(rng, hours(0.52), Load((85,), (14,), start=0.06), host(rng, 3.3, 15, 7, 60, 1, 12), Seen(gpu_ids=(7,)))
        ],
        efficiency_class="EFFICIENT",
        must=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(0.55)),
    ),
    Case(
        name="walltime_known_though_nothing_was_measured",
        source="peers: with utilisation missing, time advice should still be given (jobstats suppresses it)",
        story="No summary came. The record alone tells: completed after 2 of 48 hours.",
        record=whole(2, 2.05, 48, job_name="vasp_relax"),
        draw=lambda rng: [],
        efficiency_class="UNKNOWN",
        must=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(16,), walltime_min_s=hours(2.1)),
    ),
    Case(
        name="walltime_and_two_of_four_gpus",
        source="peers: measured head-to-head, several notes at once (jobstats suppresses all but one)",
        story="Two real problems: two processes on four GPUs, and 90 minutes of 36 hours.",
        record=shared(4, 1.52, 36, tasks=2, cores=28, job_name="train_duo"),
        draw=lambda rng: [
            node(
                rng,
                hours(1.52),
                Load((94, 93, 0, 0), (33, 33, 0.01, 0.01)),
                host(rng, 4.1, 41, 28, 240, 2, 12),
                Seen(gpu_ids=(0, 1, 2, 3), lost=(0.01, 0.02)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("walltime_overrequest", "parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(
            gpus=(2,), cores_min=4, memory_min_gb=41, walltime_min_s=hours(1.55), is_ready_to_resubmit=False
        ),
    ),
    Case(
        name="interactive_shell_left_early",
        source="peers: cBio/cbio-cluster#261, no walltime warning for interactive jobs",
        story="srun --pty bash, eight hours asked, closed after 50 busy minutes. Sessions are not criticised for that.",
        record=shared(1, 0.84, 8, tasks=1, job_name="bash", asked={"--mem": "60G", "--gpus-per-node": "1"}),
        draw=lambda rng: [
            node(rng, hours(0.84), Load((87,), (24,), start=0.07), host(rng, 2.7, 20, 7, 60, 1, 9), Seen(gpu_ids=(0,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(0.84)),
    ),
    Case(
        name="dashboard_session_left_early",
        source="LUMI web interface (Open OnDemand): sessions are named sys/dashboard/sys/…",
        story="A notebook that trained nearly all the time, closed after one hour of twelve. Healthy.",
        record=shared(1, 1.15, 12, tasks=1, job_name="sys/dashboard/sys/ood-vscode"),
        draw=lambda rng: [
            node(rng, hours(1.15), Load((90,), (41,), start=0.08), host(rng, 3.1, 31, 7, 60, 1, 40), Seen(gpu_ids=(6,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(1.15)),
    ),
    Case(
        name="interactive_shell_with_a_few_tests",
        source="LUMI user guide, interactive jobs with salloc; jobstats treats interactive low use apart",
        story="Nine short tests in three hours of a 10-hour session. Low use, nothing waited; no word on the limit.",
        record=shared(1, 2.9, 10, tasks=1, job_name="interactive"),
        draw=_open_shell,
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="walltime_four_fifths_used",
        source="job_defense_shield: target 80 % of the limit",
        story="A limit with a reasonable reserve. Healthy.",
        record=shared(4, 9.4, 12, job_name="train_dino"),
        draw=lambda rng: [
            node(
                rng,
                hours(9.4),
                Load((93,) * 4, (52,) * 4),
                host(rng, 12.8, 150, 28, 240, 4, 9),
                Seen(gpu_ids=(4, 5, 6, 7)),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,), walltime_min_s=hours(9.4)),
    ),
    Case(
        name="walltime_of_a_quick_test",
        source="jobstats: no time note for runs under 15 minutes",
        story="Twelve of twenty minutes: nobody can ask for less. Healthy.",
        record=shared(1, 0.205, 0.3333, partition="dev-g", job_name="smoke_test"),
        draw=lambda rng: [
            node(rng, 738, Load((86,), (12,), start=0.08), host(rng, 2.5, 11, 7, 60, 1, 8), Seen(gpu_ids=(1,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), walltime_min_s=738),
    ),
    Case(
        name="walltime_of_a_run_of_four_minutes",
        source="Site policy: runs under 5 minutes are not judged",
        story="A four-minute benchmark with one hour requested. Too short to teach anything about GPUs.",
        record=shared(8, 0.0661, 1, job_name="rccl_tests"),
        draw=lambda rng: [node(rng, 238, Load((91,) * 8, (9,) * 8, start=0.12, dips=0), host(rng, 9.0, 30))],
        efficiency_class="EFFICIENT",
        may=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(8,), walltime_min_s=238),
    ),
)
