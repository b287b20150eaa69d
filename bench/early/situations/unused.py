"""Some GPUs never used while others work: forgotten ones, and ones whose turn comes later."""

from __future__ import annotations

from bench.early.situations.build import gap, gpus, host, idle, silent_from, situation, without_timeline, work

_U = "600 ?some_gpus_unused | 4200 some_gpus_unused | 11400 some_gpus_unused"
_HOST = host(8, 4, 50)

UNUSED = (
    situation("one_process_on_eight", "Started without a launcher: GPU 0 of eight works, on a billed node.",
        _U, gpus("u1", 8, work(8, (95,) + (0,) * 7)), _HOST),
    situation("second_gpu_of_two", "Two GPUs asked by habit, one used.", _U,
        gpus("u2", 2, work(8, (94, 0))), host(8, 2, 20, 120, 14), partition="small-g"),
    situation("one_die_of_each_module", "Four ranks on 0, 2, 4 and 6: four modules meant, eight GPUs billed.", _U,
        gpus("u3", 8, work(8, (92, 0) * 4)), _HOST),
    situation("second_node_never_joined", "The launcher started on the first of two nodes only.", _U,
        [gpus("u4a", 8, work(8)), gpus("u4b", 8, idle(8))], [_HOST, host(8, 0.05, 2)]),
    situation("seven_ranks_on_eight", "Seven members of an ensemble, one GPU left over.", _U,
        gpus("u5", 8, work(8, (95,) * 7 + (0,))), _HOST),
    situation("memory_taken_on_all_used_on_one", "TensorFlow holds 58 GB on four GPUs and computes on one.", _U,
        gpus("u6", 4, work(8, (90, 0, 0, 0), 58)), host(8, 3, 30, 240, 28), partition="small-g"),
    situation("unused_without_power", "Half of the GPUs unused; no power was read.", _U,
        gpus("u7", 8, work(8, (88,) * 4 + (0,) * 4), has_power=False), None),
    situation("unused_without_timelines", "Three of four GPUs unused; only totals were sent.", _U,
        without_timeline(gpus("u18", 4, work(8, (90, 0, 0, 0)))), host(8, 3, 30, 240, 28), partition="small-g"),
    situation("one_idle_node_of_four", "A host file with three names for four nodes.", _U,
        [*(gpus(f"u8{n}", 8, work(8)) for n in range(3)), gpus("u8x", 8, idle(8))], [*(_HOST,) * 3, host(8, 0.02, 1)]),
    situation("ranks_start_one_after_another", "Each rank compiles its kernels in turn; the last begins after an hour.",
        "600 - | 1800 - | 3000 - | 4500 -",
        gpus("u9", 8, *(work(0.14 * (n + 1), (90,) * (n + 1) + (0,) * (7 - n)) for n in range(7)), work(8)), _HOST),
    situation("one_gpu_prepares_the_rest_follow", "GPU 0 tokenises and embeds for 50 minutes, then all eight train.",
        "600 - | 1800 - | 4200 -", gpus("u10", 8, work(0.83, (80,) + (0,) * 7), work(9)), host(9, 9, 60)),
    situation("two_stage_pipeline_of_a_day", "Four GPUs generate for three hours, then the other four rank. Planned, "
        "though the waiting half is paid.",
        "600 ?some_gpus_unused | 4200 ?some_gpus_unused | 7800 ?some_gpus_unused | 15000 -",
        gpus("u11", 8, work(3, (90,) * 4 + (0,) * 4), work(8)), _HOST),
    situation("second_trial_after_the_first_results", "The tuner fills a GPU when the first trials end.",
        "600 ?some_gpus_unused | 4200 - | 7800 -",
        gpus("u12", 4, work(1.6, (93, 93, 93, 0)), work(7)), host(7, 5, 40, 240, 28), partition="small-g"),
    situation("light_rank_for_input_and_output", "One GPU of eight only gathers output: three percent, not unused.",
        "600 - | 4200 - | 11400 -", gpus("u13", 8, work(8, (93,) * 7 + (4,))), _HOST),
    situation("one_gpu_not_read", "The readings of one node are gone from the start, its GPUs work all the same.",
        "600 - | 4200 -",
        [gpus("u14a", 8, work(8)), gpus("u14b", 8, gap(8))], [_HOST, None]),
    situation("stopped_early_but_was_used", "Unequal shards: four GPUs are done after half an hour.",
        "600 - | 4200 - | 7800 -", gpus("u15", 8, work(0.5), work(4, (93,) * 4 + (0,) * 4)), host(4, 6, 50)),
    situation("silent_node_beside_a_working_one", "The second node worked and then fell silent.",
        "600 - | 4200 - | 7800 -", [gpus("u16a", 8, work(8)), silent_from(gpus("u16b", 8, work(8)), 0.5)], _HOST),
    situation("unused_pair_at_the_end_of_a_run", "Two of four GPUs unused, and the run ends 20 minutes after the cut.",
        "600 ?some_gpus_unused | 4200 ?some_gpus_unused",
        gpus("u17", 4, work(1.5, (91, 91, 0, 0))), host(1.5, 4, 30, 240, 28), partition="small-g"),
)  # fmt: skip
