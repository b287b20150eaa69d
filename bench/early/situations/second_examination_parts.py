"""Second examination: GPUs that were never used, beside others that work or beside busy cores."""

from __future__ import annotations

from bench.early.situations.build import idle, line, silent_from, steps, work
from bench.early.situations.second_examination_readings import Side, card, case, wave

_NAN = float("nan")

CPU_ONLY = (
    case("gromacs_without_its_gpus", "GROMACS was built without HIP and computes on 52 cores.",
        "c Ci", card(8, idle(12)), Side(52, 12), limit_h=24, state="CANCELLED", job="md_npt"),
    case("torch_for_another_vendor", "The wheel of PyTorch knows no AMD GPU; training runs on seven cores.",
        "c Ci", card(1, idle(9)), Side(6.7, 11), limit_h=24, state="CANCELLED", job="finetune_bert"),
    case("vasp_of_the_cores", "The CPU build of VASP on four GPU nodes.",
        "c Ci", [card(8, idle(6.5))] * 4, Side(55, 140), limit_h=12, job="vasp_relax"),
    case("cp2k_of_the_cores_no_power", "CP2K without GPUs on two nodes that report no power.",
        "c Ci", [card(8, idle(8), has_power=False)] * 2, Side(50, 88), limit_h=8, state="TIMEOUT", job="cp2k_geo"),
    case("boosted_trees", "A grid of boosted trees with the histogram of the cores, on two GPUs.",
        "c Ci", card(2, idle(5)), Side(wave(11, 14, 0.7), 40), limit_h=10, job="xgb_grid"),
    case("jax_fell_back", "JAX found no GPU and went on with a warning.",
        "c Ci", card(4, idle(10)), Side(21, 35), limit_h=10, state="TIMEOUT", job="jax_vit"),
    case("icon_for_the_wrong_partition", "ICON as built for the CPU partition, on sixteen GPU nodes.",
        "c Ci", [card(8, idle(4.5))] * 16, Side(54, 160), limit_h=8, job="icon_amip"),
    case("nine_hours_of_tokens", "Tokens of a whole corpus are made on a GPU node.",
        "c Ci", card(8, idle(9)), Side(wave(38, 54, 1.3), 210), limit_h=12, job="tokenize"),
    case("foam_on_the_cores", "A CFD solver that never learned to use GPUs, on a shared node.",
        "c Ci", card(4, idle(11)), Side(27, 60), limit_h=24, job="pimpleFoam"),
    case("one_core_of_seven", "A script in one thread beside a GPU that it never touches.",
        "- ci", card(1, idle(7)), Side(1.0, 6), limit_h=8, job="postproc"),
    case("tables_in_a_notebook", "Tables in a notebook with one GPU, for the whole working day.",
        "- ci", card(1, idle(6)), Side(wave(1.5, 6, 0.9), 24), limit_h=8, job="sys/dashboard/sys/ood_jupyter"),
)

SEEMING_CPU_ONLY = (
    case("mesh_then_solver", "A mesh is split on 56 cores for 70 minutes; the solver works on the GPUs after that.",
        "-", card(8, idle(1.22), work(8, 82, 28, 140)), Side(steps((1.22, 53), (8, 16)), 150), limit_h=12, job="cfd_les"),
    case("classes_then_polishing", "20 minutes of classes on the GPUs, then five hours of polishing on the cores.",
        "- I", card(4, work(0.35, 80, 30), idle(5.4, 0.1)), Side(steps((0.35, 8), (5.4, 26)), 90), limit_h=8,
        job="relion_polish"),
    case("environments_take_the_cores", "Physics on all cores, a small policy on the GPU.",
        "-", card(1, work(11, 5, 4, 80)), Side(6.9, 30), limit_h=12, job="mujoco_sac"),
    case("augmentation_takes_the_cores", "Images are decoded on all cores; the GPUs get 12 percent to do.",
        "-", card(8, work(10, 12, 22)), Side(55, 190), limit_h=12, job="resnet_raw_jpeg"),
    case("twenty_five_minutes_of_shards", "All cores pack shards for 25 minutes, then training.",
        "-", card(8, idle(0.42), work(7, 94, 48)), Side(steps((0.42, 54), (7, 12)), 120), limit_h=10),
    case("diagonalises_now_and_then", "Quantum chemistry on the cores; the GPUs diagonalise, 8 percent of the time.",
        "-", card(8, work(9, 8, 6, 120)), Side(50, 300), limit_h=24, job="orca_like_dft"),
    case("two_hours_of_assembly", "A matrix is assembled on the cores for 2.6 hours, then solved on the GPUs.",
        "- ci -", card(4, idle(2.6), work(7, 88, 45)), Side(steps((2.6, 26), (7, 6)), 170), limit_h=12, job="fem_solve"),
    case("host_not_read_and_late", "The host was not read; the GPUs begin after 52 minutes.",
        "-", card(8, idle(0.87), work(9, 92, 41)), None, limit_h=12),
    case("screening_feeds_the_gpu", "Cores prepare ligands all the time, the GPU docks them in short bursts.",
        "-", card(1, *(part for n in range(18) for part in (idle(0.4 + 0.5 * n), work(0.5 + 0.5 * n, 70, 5)))),
        Side(6, 20), limit_h=12, job="docking"),
)

UNUSED = (
    case("python_without_torchrun", "One process on eight GPUs: the others are never used.",
        "u U", card(8, work(14, (92, *[0] * 7), 30)), Side(8, 60), limit_h=14, state="TIMEOUT"),
    case("four_processes_on_eight", "Four processes were asked for, eight GPUs are paid.",
        "u U", card(8, work(9, (91, 93, 92, 90, 0, 0, 0, 0), 44)), Side(22, 100), limit_h=12),
    case("second_node_forgotten", "The launcher started on the first node alone.",
        "u U", [card(8, work(11, 94, 52)), card(8, idle(11))], [Side(14, 90), Side(0.1, 4)], limit_h=24, job="llama_sft"),
    case("one_rank_two_gpus", "GROMACS with one rank on two GPUs.",
        "u U", card(2, work(7, (85, 0), 2)), Side(7, 5), limit_h=12, job="md_single"),
    case("tensor_parallel_of_four", "An inference server splits a model over four of eight GPUs.",
        "u U", card(8, idle(0.12, 10), work(8, (55, 54, 56, 55, 0, 0, 0, 0), 57)), Side(4, 70), limit_h=8,
        state="TIMEOUT", job="vllm_tp4"),
    case("six_members_on_eight", "Six members of an ensemble on a node with eight GPUs.",
        "u U", card(8, work(10, (80, 81, 79, 80, 82, 80, 0, 0), 20, 140)), Side(40, 90), limit_h=12, job="ens_members"),
    case("fifteen_of_sixteen_nodes", "Sixteen nodes for 120 members: the last node got none.",
        "u U", [card(8, work(6, 76, 17, 130))] * 15 + [card(8, idle(6))], [Side(40, 90)] * 15 + [Side(0.1, 3)],
        limit_h=8, job="ens_forecast"),
    case("one_of_four_no_power", "One process on four GPUs of a node without power readings.",
        "u U", card(4, work(8, (88, 0, 0, 0), 36), has_power=False), Side(6, 30), limit_h=10),
    case("three_unused_host_not_read", "Five ranks of CP2K on eight GPUs; the host was not read.",
        "u U", card(8, work(6, (48, 50, 47, 52, 49, 0, 0, 0), 9, 120)), None, limit_h=12, job="cp2k_md"),
    case("model_on_cuda_zero", "A notebook for four people's course: all code says the first GPU.",
        "u u U", card(4, idle(0.1), work(5, (60, 0, 0, 0), 15)), Side(5, 30), limit_h=8, job="course_project"),
)

SEEMING_UNUSED = (
    case("second_half_starts_later", "Four members start when their initial state is ready, after 80 minutes.",
        "-", card(8, work(1.33, (82, 80, 81, 83, 0, 0, 0, 0), 20), work(9, 81, 20)), Side(30, 80), limit_h=12,
        job="ens_lagged"),
    case("stages_of_a_pipeline", "Three hours on four GPUs, then on all eight.",
        "- u -", card(8, work(3.0, (90, 91, 90, 92, 0, 0, 0, 0), 30), work(10, 92, 40)), Side(14, 70), limit_h=12),
    case("members_end_one_by_one", "Eight members of different length; none was without work from the start.",
        "-", card(8, work(2.4, 85, 12), work(3.1, (85, 85, 85, 85, 85, 0, 0, 0), 12), work(4.6, (85, 85, *[0] * 6), 12)),
        Side(20, 40), limit_h=6, job="ens_uneven"),
    case("light_last_stage", "Pipeline parallel with a last stage that has little to do.",
        "-", card(8, work(10, (90, 91, 89, 90, 88, 87, 60, 7), 50)), Side(10, 80), limit_h=12, job="pp8_pretrain"),
    case("evaluator_works_each_hour", "The eighth GPU scores checkpoints for six minutes each hour.",
        "-", card(8, *(part for n in range(9) for part in
            (work(0.05 + n, (*[92] * 7, 0), 40), work(0.15 + n, (*[92] * 7, 80), 40), work(1.0 + n, (*[92] * 7, 0), 40)))),
        Side(16, 90), limit_h=10, job="train_and_eval"),
    case("replicas_in_reserve", "A server with four replicas; the fourth gets a request now and then.",
        "-", card(4, work(11, (62, 48, 25, 4), 55)), Side(4, 60), limit_h=11, state="TIMEOUT", job="serve_replicas"),
    case("second_node_never_heard", "The second node's collector does not run; the training works on both.",
        "-", [card(8, work(8, 95, 51)), silent_from(card(8, work(8, 95, 51)), 0.05)], [Side(12, 70), None], limit_h=10),
    case("one_gpu_not_read", "The busy percent of the fourth GPU cannot be read; it works like the others.",
        "-", card(8, work(7, (93, 92, 93, _NAN, 94, 92, 93, 92), 45)), Side(12, 70), limit_h=10),
    case("learner_and_actors", "A learner on four GPUs, the others answer its actors, a few percent.",
        "-", card(8, work(9, (70, 72, 71, 70, 4, 5, 4, 5), 20, 110)), Side(44, 150), limit_h=12, job="impala"),
    case("teacher_joins_after_an_hour", "The teacher of a distillation is loaded onto its own GPUs after 75 minutes.",
        "-", card(4, work(1.25, (88, 89, 0, 0), 30), work(8, (90, 91, 55, 54), 40)), Side(10, line((0, 30), (1.2, 90))),
        limit_h=10, job="distill"),
)
