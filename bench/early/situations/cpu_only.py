"""Started on the CPU alone: programs without a GPU build, and workflows whose first part needs no GPU by design."""

from __future__ import annotations

from bench.early.situations.build import gap, gpus, host, idle, situation, spin, steps, work

_C = "600 ?cpu_only | 4200 cpu_only ?all_gpus_idle | 7800 cpu_only ?all_gpus_idle"

CPU_ONLY = (
    situation("torch_for_another_vendor", "A wheel for CUDA: is_available() is False, seven cores train.", _C,
        gpus("c1", 1, idle(9)), host(9, 6.8, 15, 60, 7), partition="small-g", state="TIMEOUT", limit_h=9),
    situation("mpi_code_without_hip", "56 ranks of a plain MPI build on a whole GPU node.", _C,
        gpus("c2", 8, idle(20)), host(20, 55, 200), job="openfoam"),
    situation("wrf_on_two_gpu_nodes", "112 cores, sixteen idle GPUs.", _C,
        [gpus("c3a", 8, idle(7)), gpus("c3b", 8, idle(7))], host(7, 55, 150), job="wrf_d02"),
    situation("one_core_computes", "A serial Python script with a GPU because the template had one.", _C,
        gpus("c4", 1, idle(8)), host(8, 1.0, 4, 60, 7), partition="small-g"),
    situation("tokenising_a_corpus", "Text work on 50 cores of a node, 12 hours.", _C,
        gpus("c5", 8, idle(12)), host(12, 50, 90), job="tokenise"),
    situation("wrong_container", "Eight ranks fell back to the CPU without a word.", _C,
        gpus("c6", 8, idle(10)), host(10, 44, 120), state="CANCELLED"),
    situation("federated_on_the_cpu", "Clients train on 22 cores, the model was never moved.", _C,
        gpus("c7", 2, idle(13)), host(13, 22, 60, 120, 28), partition="small-g"),
    situation("cpu_only_without_power", "A CPU build; no power was read.", _C,
        gpus("c8", 4, idle(8), has_power=False), host(8, 27, 40, 240, 28), partition="small-g"),
    situation("alphafold_msa_first", "MSA with jackhmmer for 3.5 hours on 16 cores, then the GPU folds. Planned, and "
        "still three hours of a paid GPU: a word is welcome to some, due to none.",
        "600 - | 4200 ?cpu_only ?all_gpus_idle | 7800 ?cpu_only ?all_gpus_idle "
        "| 11400 ?cpu_only ?all_gpus_idle | 15000 -",
        gpus("c9", 1, idle(3.5), work(5)), host(5, steps((3.5, 15), (5, 1.5)), 40, 120, 16), partition="small-g",
        job="alphafold"),
    situation("preparation_for_eighty_minutes", "Meshing on the cores, then the GPUs solve. At 35 minutes a word would "
        "come shortly before the work.",
        "600 - | 2100 - | 4200 - | 7800 -",
        gpus("c10", 8, idle(1.35), work(9)), host(9, steps((1.35, 30), (9, 9)), 100)),
    situation("unpacking_for_forty_minutes", "Archives to /tmp on four cores, then training.",
        "600 - | 1800 - | 4200 -",
        gpus("c11", 4, idle(0.68), work(9)), host(9, steps((0.68, 4), (9, 6)), 60, 240, 28), partition="small-g"),
    situation("compiles_for_twenty_minutes", "The first start compiles all kernels on the cores.",
        "600 - | 4200 -", gpus("c12", 8, idle(0.33), work(8)), host(8, steps((0.33, 50), (8, 9)), 60)),
    situation("gpus_not_read_host_busy", "The GPUs could not be read at all; the host computes. Nobody knows.",
        "600 - | 4200 - | 7800 -", gpus("c13", 8, gap(8)), host(8, 30, 60)),
    situation("idle_host_idle_gpus", "Nothing computes anywhere: no work on the CPU either.",
        "600 - | 4200 all_gpus_idle | 7800 all_gpus_idle", gpus("c14", 8, idle(8)), host(8, 0.05, 3),
        state="TIMEOUT", limit_h=8),
    situation("cores_busy_and_gpus_low", "Starved GPUs at eight percent with all cores busy: used, if badly.",
        "600 - | 4200 - | 7800 -", gpus("c15", 8, work(9, 9, 6)), host(9, 55, 90)),
    situation("cpu_phase_after_gpu_work", "Twenty minutes of GPU work, then analysis on the cores to the end.",
        "600 - | 4200 all_gpus_idle | 7800 all_gpus_idle",
        gpus("c16", 2, work(0.33), idle(6)), host(6, steps((0.33, 3), (6, 12)), 40, 120, 14), partition="small-g"),
    situation("host_polls_while_the_gpus_spin", "Cores busy and GPUs at 100 percent at low power: a hang.",
        "600 - | 4200 spinning | 7800 spinning", gpus("c17", 8, spin(6)), host(6, 50, 60), state="CANCELLED"),
    situation("short_cpu_run", "A CPU test of 50 minutes on one GPU: true, but done before anybody reads.",
        "600 ?cpu_only | 2400 ?cpu_only ?all_gpus_idle",
        gpus("c18", 1, idle(0.83)), host(0.83, 6, 8, 60, 7), partition="dev-g", limit_h=1),
)  # fmt: skip
