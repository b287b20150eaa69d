"""Cases of the noisy library whose mechanical truth would be doubtful, set by hand after their stories."""

from __future__ import annotations

HANGS = frozenset(
    {
        "timeout_spinning_in_a_collective",
        "examiner sixteen gpus spin in a collective for eleven hours",
        "inspector_h100_hang_seen_by_power",
        "inspector_hung_collective_to_the_limit",
        "deadlock_in_a_collective",
        "first_all_reduce_of_a_new_group",
        "one_rank_dead_seven_spin",
        "silent_wedge_on_64_nodes",
        "lattice_qcd_deadlock_until_the_limit",
        "gyrokinetics_hang_cancelled_by_hand",
    }
)
"""Runs whose kernels wait for something that never comes: nothing proceeds any more."""

BUSY_BUT_WAITING = frozenset(
    {
        "othersite_spinning_at_low_power",
        "examiner tiny batch, always busy at a third of the power",
        "examiner collectives over sockets on four nodes",
        "collectives_over_plain_sockets",
        "tensor_parallel_decode_of_single_prompts",
        "lattice_qcd_spins_in_reductions_on_16_nodes",
        "pic_persistent_kernels_poll_for_messages",
        "gpu_aware_mpi_waits_on_the_device",
    }
)
"""Runs that proceed, slowly, while their GPUs mostly wait: a word is true, though it is no hang."""

PAGE_CACHE = frozenset({"host_memory_full_of_page_cache"})
"""Cases whose host memory is mostly page cache, which the kernel gives back: no memory in use."""

OWN_WORDS: dict[str, dict[str, str]] = {
    # A server loaded its model and waits on a spinning core: its GPUs are idle, but it did not start on the CPU alone.
    "server_that_nobody_asked": {"all_gpus_idle": "must", "cpu_only": "may"},
    # The open context shows 1 % now and then: whether that is "never used" is a matter of reading.
    "federated_learning_on_the_cpu": {"cpu_only": "may", "all_gpus_idle": "may"},
    # The cache of keys and values is reserved by design and filled with the prompts.
    "inspector_mi300x_inference": {"gpu_memory_full": "wrong"},
    # The memory of a healthy run wobbles near its end.
    "inspector_checkpoints_of_a_big_model": {"gpu_memory_full": "wrong"},
    # GPUs fell off the bus: the node is at fault, the owner can only wait or requeue.
    "node_fail_with_a_stuck_node": {"all_gpus_idle": "may"},
}
"""Verdicts by case and code, with the reason before each."""
