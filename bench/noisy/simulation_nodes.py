"""Whole nodes, many nodes, and which GPUs of them worked."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.simulation_draw import MEMORY_BOUND_W, Host, Plan, drawn, even
from bench.noisy.simulation_jobs import codes, job

NODE = "--gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7"
IDLE_NODE = (0.0,) * 8
# Node names as `complete_record` gives them, for runs of which some nodes stayed silent.
WITHOUT_THE_THIRD = tuple(f"nid{5200 + number:06d}" for number in range(8) if number != 2)

HEALTHY = (
    Case(
        name="sixty_four_nodes_healthy",
        source="Neko/ICON production at 512 GPUs; peers: omnistat report card averages each GPU id over all nodes",
        story="512 GPUs with a few points between them, as in every large run, and three percent of the samples lost.",
        record=job(f"--partition=standard-g --nodes=64 {NODE} --time=06:00:00", "prod_64n", 19_200),
        draw=drawn(
            Plan(
                19_200,
                even(88, 64),
                Host(9.1, threads=8, memory_gb=140, io_pressure=0.02),
                41,
                60,
                start_s=(150, 500),
                stagger_s=60,
                spread=3,
                drift=3,
                lost=0.03,
                die_w=MEMORY_BOUND_W,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(512,)),
    ),
    Case(
        name="eight_nodes_one_silent_healthy",
        source="peers: 'not measured' is not zero (reportseff bad_gpu sample); lumi.md, collector per node",
        story="Seven of eight nodes report 90 percent, the third node sent nothing. A missing node is no idle node.",
        record=job(f"--partition=standard-g --nodes=8 {NODE} --time=09:00:00", "lqcd_8n", 28_700),
        draw=drawn(
            Plan(28_700, even(91, 7), Host(8.5, threads=7, memory_gb=88), 45, 30, names=WITHOUT_THE_THIRD, lost=0.02)
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(64,)),
    ),
    Case(
        name="one_gpu_without_readings_healthy",
        source="ROCm SMI mutex errors (rocm_smi_lib#88); peers: 2 GPUs, one without utilisation: 90 percent, say so",
        story="One GPU of eight could not be read at all; the other seven show a good run.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=05:00:00", "spectral_el", 16_200),
        draw=drawn(
            Plan(
                16_200,
                even(89),
                Host(8.4, threads=8, memory_gb=64),
                37,
                errors=("gpu 5: busy counter could not be read",),
                fields={
                    5: {
                        **dict.fromkeys(
                            "avg_util p95_util active_s idle_s util_histogram_s timeline samples measured_s".split()
                        ),
                        "missing": {"avg_util": "unreadable"},
                    }
                },
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="four_nodes_cancelled_when_converged_healthy",
        source="Common practice: scancel once the residual is small enough",
        story="Four good hours, then the user stops the converged run by hand. CANCELLED is not a fault.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=12:00:00", "rans_adj", 15_100, "CANCELLED", "0:15"),
        draw=drawn(Plan(15_100, even(87, 4), Host(8.7, threads=8, memory_gb=92), 33, 10, tail_s=(0, 3))),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="first_gpu_somewhat_behind_healthy",
        source="LUMI training, questions of participants ('why is GPU 0 lower'); rank 0 does the input and output",
        story="Rank 0 also writes the logs and the monitors, so the first GPU of the first node is at 79 percent "
        "where the others are at 91. A usual, small price.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=07:00:00", "nekrs_pebble", 22_900),
        draw=drawn(
            Plan(
                22_900,
                ((79, *even(91)[0][1:]), *even(91)),
                Host(8.9, threads=8, memory_gb=71),
                42,
                10,
                die_w=MEMORY_BOUND_W,
                dip_every_s=1200,
                dip_s=(6, 20),
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="dev_g_scaling_test_healthy",
        source="LUMI docs, partitions (dev-g for short tests on several nodes)",
        story="A 25-minute scaling test on two nodes of dev-g that uses what it asked for, without power readings.",
        record=job(f"--partition=dev-g --nodes=2 {NODE} --mem=480G --time=00:30:00", "weak_2n", 1_530),
        draw=drawn(
            Plan(1_530, even(92, 2), Host(8.3, threads=8, memory_gb=40), 31, 1, start_s=(35, 80), has_power=False)
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="node_failure_in_a_good_run",
        source="Slurm state NODE_FAIL, automatic requeue on LUMI; peers: system failure is not the user's",
        story="A node dies after 55 percent of the recorded time, the other 15 wait until Slurm notices. Nothing is "
        "the user's doing and nothing is to change.",
        record=job(f"--partition=standard-g --nodes=16 {NODE} --time=24:00:00", "hmc_16n", 21_900, "NODE_FAIL", "1:0"),
        draw=drawn(
            Plan(
                21_900,
                even(93, 15),
                Host(7.6, threads=7, memory_gb=90),
                41,
                30,
                ends=0.55,
                tail_s=(0, 40),
                die_w=MEMORY_BOUND_W,
            )
        ),
        efficiency_class="ACCEPTABLE",
        sensible=Sensible(gpus=(128,)),
    ),
    Case(
        name="nothing_was_measured",
        source="peers: jobstats 'None' summaries silence every note; reportseff shows 0 instead",
        story="No node sent anything. The use is unknown, not zero.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=03:00:00", "unseen", 9_300),
        draw=drawn(Plan(9_300, ())),
        efficiency_class="UNKNOWN",
        sensible=Sensible(gpus=(16,)),
    ),
)

SMALL_PART = (
    Case(
        name="one_gpu_asked_on_standard_g",
        source="LUMI docs, partitions and billing (one GCD on standard-g costs eight times small-g)",
        story="A single-GPU solver on standard-g, asked with --gpus-per-node=1: the node is billed, one die works "
        "well.",
        record=job(
            "--partition=standard-g --nodes=1 --gpus-per-node=1 --ntasks=1 --cpus-per-task=7 --time=10:00:00",
            "gray_scott",
            31_700,
        ),
        draw=drawn(
            Plan(31_700, ((95,) + (0,) * 7,), Host(1.4, ranks=1, threads=9, memory_gb=11), 18, 15, die_w=175, spread=1)
        ),
        efficiency_class="WASTED",
        must=codes("exclusive_node_underused"),
        may=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(1,), partitions=("small-g",), is_ready_to_resubmit=False),
    ),
    Case(
        name="two_gpus_asked_on_standard_g",
        source="Public user scripts on GitHub: standard-g with --gpus-per-node=2; LUMI training, responsible-use",
        story="Two ranks on two GPUs of an exclusive node, both at 90 percent; six are billed and empty.",
        record=job(
            "--partition=standard-g --nodes=1 --gpus-per-node=2 --ntasks=2 --cpus-per-task=7 --time=04:00:00",
            "dimer_aimd",
            12_400,
        ),
        draw=drawn(
            Plan(12_400, ((91, 90, 0, 0, 0, 0, 0, 0),), Host(2.5, ranks=2, threads=8, memory_gb=37), 30, 5, drift=3)
        ),
        efficiency_class="INEFFICIENT",
        must=codes("exclusive_node_underused"),
        may=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(2,), partitions=("small-g",), memory_min_gb=38, is_ready_to_resubmit=False),
    ),
    Case(
        name="exclusive_small_g_for_three_gpus",
        source="LUMI docs, billing (--exclusive on small-g bills the whole node)",
        story="--exclusive 'to be undisturbed', three GPUs asked and at work, eight billed.",
        record=job(
            "--partition=small-g --exclusive --gpus=3 --ntasks=3 --cpus-per-task=7 --mem=480G --time=08:00:00",
            "three_bodies",
            26_100,
        ),
        draw=drawn(
            Plan(
                26_100,
                ((90, 92, 89) + (0,) * 5,),
                Host(3.4, ranks=3, threads=8, memory_gb=55),
                26,
                12,
                drift=2,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("exclusive_node_underused"),
        may=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(3, 4), partitions=("small-g",), memory_min_gb=56, is_ready_to_resubmit=False),
    ),
    Case(
        name="four_nodes_only_the_first_works",
        source="Slurm docs, srun --nodes inside sbatch; GROMACS thread-MPI stays on one node",
        story="A thread-MPI build cannot leave its node: eight GPUs of the first of four nodes work, 24 never start.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=06:00:00", "tmpi_4n", 20_100),
        draw=drawn(
            Plan(
                20_100,
                (even(91)[0], IDLE_NODE, IDLE_NODE, IDLE_NODE),
                Host(9.8, ranks=1, threads=56, memory_gb=20),
                7,
                12,
                grain=3,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("parallelism_mismatch idle_gpus exclusive_node_underused"),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        name="half_the_node_with_full_memories",
        source="Grid sizes that divide by four only; LUMI docs, lumig-job",
        story="The decomposition takes four ranks, each with 44 GB on its GPU, on a whole node of standard-g: the "
        "lower four GPUs work, the upper four do not.",
        record=job(
            "--partition=standard-g --nodes=1 --gpus-per-node=8 --ntasks-per-node=4 --cpus-per-task=7 --time=07:00:00",
            "slab4",
            22_900,
        ),
        draw=drawn(
            Plan(22_900, ((94,) * 4 + (0,) * 4,), Host(4.3, ranks=4, threads=8, memory_gb=120), 45, 12, die_w=175)
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("parallelism_mismatch idle_gpus exclusive_node_underused"),
        sensible=Sensible(gpus=(4,), memory_min_gb=121, partitions=("small-g",), is_ready_to_resubmit=False),
    ),
    Case(
        name="two_gpus_but_a_serial_code",
        source="LUMI training, responsible-use (1-GPU software with many GPUs); VASP/serial HIP codes",
        story="--gpus-per-task=2 for a code that opens only the first device it sees: the second die of the module "
        "idles.",
        record=job(
            "--partition=small-g --nodes=1 --ntasks=1 --gpus-per-task=2 --cpus-per-task=14 --mem=96G --time=05:00:00",
            "mc_ising",
            16_700,
        ),
        draw=drawn(
            Plan(16_700, ((97, 0),), Host(1.2, 14, 1, 6, 9, 96), 6, 6, gpu_ids=(2, 3), context_gb=0.3, spread=1)
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="five_ranks_on_eight_gpus",
        source="Replica counts that do not match the node (umbrella windows); LUMI docs, small-g by resource",
        story="Five independent boxes on eight GPUs of small-g: five at 93 percent, three empty from start to end.",
        record=job(
            "--partition=small-g --nodes=1 --gpus-per-node=8 --ntasks=5 --cpus-per-task=7 --mem=300G --time=10:00:00",
            "five_boxes",
            33_600,
        ),
        draw=drawn(Plan(33_600, ((93, 94, 0, 92, 93, 0, 0, 94),), Host(5.6, 35, 5, 8, 62, 300), 22, 15, stagger_s=40)),
        efficiency_class="ACCEPTABLE",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(5, 6), cores_min=5, memory_min_gb=63, is_ready_to_resubmit=False),
    ),
)

ONE_AMONG_MANY = (
    Case(
        name="sixteen_nodes_one_idle",
        source="reportseff#37 (nodes allocated, fewer used); omnistat test_multiple_loads (an idle node is invisible)",
        story="A host file with fifteen names for sixteen nodes: one whole node idles for eleven hours.",
        record=job(f"--partition=standard-g --nodes=16 {NODE} --time=14:00:00", "spec_16n", 40_800),
        draw=drawn(
            Plan(
                40_800,
                (*even(92, 9), IDLE_NODE, *even(92, 6)),
                Host(8.2, threads=8, memory_gb=101),
                36,
                60,
                die_w=MEMORY_BOUND_W,
                stagger_s=20,
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(128,)),
    ),
    Case(
        name="hundred_twenty_eight_nodes_one_idle_gpu",
        source="LUMI training E12 (no tool to see all nodes at once); LLview example of unused GPUs",
        story="1023 GPUs at 90 percent, one never starts on its node: worth a look at that node, not another job size.",
        record=job(f"--partition=standard-g --nodes=128 {NODE} --time=06:00:00", "global_1km", 18_900),
        draw=drawn(
            Plan(
                18_900,
                (*even(90, 77), (90, 90, 90, 0, 90, 90, 90, 90), *even(90, 50)),
                Host(9.6, threads=7, memory_gb=166, io_pressure=0.02),
                40,
                60,
                start_s=(240, 420),
                stagger_s=90,
                spread=2,
                lost=0.02,
                die_w=MEMORY_BOUND_W,
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(1024,)),
    ),
    Case(
        name="two_nodes_one_slow",
        source="Slow-node studies at scale; omnistat-inspect variance by node",
        story="Independent halves of a parameter sweep: the GPUs of one node work 93 percent, those of the other 30, "
        "as its inputs are far smaller. One node is far behind.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=08:00:00", "sweep_halves", 27_200),
        draw=drawn(
            Plan(27_200, (*even(93), *even(27)), Host(8.5, threads=8, memory_gb=60), 24, 15, grain=2, die_w=165)
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="two_hundred_fifty_six_nodes_start_late",
        source="Large restarts from Lustre (ICON, nekRS): reading and decomposing at scale",
        story="2048 GPUs wait 37 of 115 minutes for one reader that distributes the restart file, then run at 92 "
        "percent.",
        record=job(f"--partition=standard-g --nodes=256 {NODE} --time=02:30:00", "restart_256n", 6_900),
        draw=drawn(
            Plan(
                6_900,
                even(93, 256),
                Host(8.8, threads=7, memory_gb=190, io_pressure=0.12, iowait=0.01),
                35,
                23,
                start_s=(2_180, 2_260),
                stagger_s=60,
                die_w=MEMORY_BOUND_W,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("late_start"),
        may=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(2048,)),
    ),
    Case(
        name="good_run_cut_by_its_limit",
        source="Slurm state TIMEOUT; peers: jobstats gives no number for the time",
        story="90 percent to the last second, then the limit. Only the time was short.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=03:00:00", "cut_off", 10_822, "TIMEOUT", "0:0"),
        draw=drawn(Plan(10_822, even(90, 2), Host(8.4, threads=8, memory_gb=74), 39, 6, tail_s=(0, 2))),
        efficiency_class="EFFICIENT",
        must=codes("timeout"),
        sensible=Sensible(gpus=(16,), walltime_min_s=10_900, is_ready_to_resubmit=False),
    ),
)

CASES: tuple[Case, ...] = HEALTHY + SMALL_PART + ONE_AMONG_MANY
