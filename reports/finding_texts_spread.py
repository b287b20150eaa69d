"""The sentences of findings about how the work was spread over the GPUs; each ends with what to do."""

from analysis.thresholds import LIMITS
from reports.numbers import share
from reports.run_view import Evidence, Run
from wire.numbers import counted, duration, gigabytes, percent


def no_gpu_use(seen: Evidence, run: Run) -> str:
    measured = "" if run.gpus <= seen["gpus"] else " measured"
    subject = f"The{measured} GPU was" if seen["gpus"] == 1 else f"All {seen['gpus']:,}{measured} GPUs were"
    idle = f"{subject} idle for {share(seen['idle_fraction'])} of {run.time(seen['elapsed_s'])}."
    if run.held_memory_gb is not None:
        return f"{idle} {_held_memory(seen.get('busy_cores'), run.held_memory_gb, run)}"
    return f"{idle} {_where_it_ran(seen.get('busy_cores'))} Check in {run.short_test} that the program sees the GPUs."


def _where_it_ran(busy_cores: float | None) -> str:
    if busy_cores is None:
        return "The program probably ran only on the CPU cores, or ended before it used the GPUs."
    cores = f"{busy_cores:.1f} CPU cores were busy at the same time"
    if busy_cores > LIMITS.pinned_cores_per_rank_max:
        return f"{cores}: the work ran on the CPU cores."
    if busy_cores >= LIMITS.pinned_cores_per_rank_min:
        return "About one CPU core was busy at the same time: the program ran there, or waited."
    return f"{cores}: the program waited for something, or ended early while the job continued."


def _held_memory(busy_cores: float | None, held_gb: float, run: Run) -> str:
    """A program that allocated GPU memory has reached the GPUs."""
    where = "" if run.gpus == 1 else " on the fullest GPU"
    held = f"GPU memory was allocated ({gigabytes(held_gb)}{where}), but no GPU work was measured"
    look = f"Look at a running job with {run.tools.look}."
    if busy_cores is None:
        return f"{held}: the program reached the GPUs and then waited, or ran on the CPU cores. {look}"
    if busy_cores > LIMITS.pinned_cores_per_rank_max:
        return f"{held} while {busy_cores:.1f} CPU cores were busy: the work ran on the CPU cores. {look}"
    is_one = busy_cores >= LIMITS.pinned_cores_per_rank_min
    cores = "about one CPU core was" if is_one else f"{busy_cores:.1f} CPU cores were"
    return f"{held} while {cores} busy: the program reached the GPUs and then waited. {look}"


def parallelism_mismatch(seen: Evidence, run: Run) -> str:
    gpus, active = counted(seen["gpus"], "GPU"), seen["active_gpus"]
    pattern = seen["pattern"]
    if pattern == "in_turns":
        return (
            f"The {gpus} took turns: at any time only about {active:,} of them worked, at"
            f" {percent(seen['active_util_percent'])}. One step probably waits for the other, as in a pipeline without"
            f" overlap, or in models that run one after another. Let the steps overlap{run.or_fewer}."
        )
    worked = (
        f"{active:,} of {gpus} worked, at {percent(seen['active_util_percent'])} on average; the others were at"
        f" {percent(seen['inactive_util_percent'])}."
    )
    if pattern == "ranks_share_gpus":
        return f"{worked} {_shared(seen, run)}"
    start = f"Start one process for each GPU{run.or_fewer}."
    if pattern == "one_gpu_of_each_module" and active == 1:
        return f"{worked} The two share a module: each GPU of a module needs its own process. {start}"
    if pattern == "memory_without_work":
        return f"{worked} {MEMORY_WITHOUT_WORK}{run.or_fewer}."
    return f"{worked} {MISMATCHES[pattern]} {start}"


MISMATCHES = {
    "fewer_processes": "The job probably started fewer processes that use a GPU than it had GPUs.",
    "one_gpu_of_each_module": (
        "The working GPUs are one of each module: a module has two GPUs, and each of them needs its own process."
    ),
}
MEMORY_WITHOUT_WORK = (
    "Processes hold memory on the others but give them no work: check how the work is divided, and whether the program"
    " opens every GPU that it sees"
)


def _shared(seen: Evidence, run: Run) -> str:
    """Ranks that share GPUs: bind each rank to its own GPU, or request fewer GPUs."""
    ranks = seen["ranks"]
    shared = f"The {ranks:,} ranks on their nodes shared the working GPUs."
    if seen["ranks_per_node"] > seen["gpus_per_node"]:
        way = f"Divide the ranks evenly over the {counted(seen['gpus'], 'GPU')}"
    else:
        own = f"Bind each rank to its own GPU, {run.tools.select_gpu}, and"
        fewer = ranks < seen["gpus"]
        way = f"{own} {'request' if fewer else 'keep the'} {counted(min(ranks, seen['gpus']), 'GPU')}"
    return f"{shared} {f'Either {way[0].lower()}{way[1:]}' if run.or_fewer else way}{run.or_fewer}."


def idle_gpus(seen: Evidence, run: Run) -> str:
    verb = "was" if seen["idle_gpus"] == 1 else "were"
    return (
        f"{seen['idle_gpus']:,} of {counted(seen['gpus'], 'GPU')} {verb} idle for {share(seen['idle_fraction'])} of"
        f" {run.time(seen['elapsed_s'])} ({seen['gpu_list']}). Look at a running job with {run.tools.look} to see which"
        " process is missing there."
    )


def exclusive_node_underused(seen: Evidence, run: Run) -> str:
    nodes = (
        f"whole nodes: {counted(seen['nodes'], 'node')} with {counted(seen['gpus'], 'GPU')}, of which"
        f" {seen['active_gpus']:,} worked."
    )
    if not run.gives_whole_nodes:
        return (
            f"The job requested --exclusive, which allocates and bills {nodes} Leave out --exclusive:"
            f" {seen['partition']} then bills only the GPUs that you request."
        )
    return (
        f"{seen['partition']} allocates and bills {nodes} A partition that bills by GPU, or fewer nodes, can cost less"
        " for the same work."
    )


def load_imbalance(seen: Evidence, _: Run) -> str:
    if seen["pattern"] == "stopped_early":
        return (
            f"{seen['early_gpus']:,} of {seen['active_gpus']:,} working GPUs stopped up to {duration(seen['early_s'])}"
            f" before the last one and had no work after that ({seen['gpu_list']}). Use a shared work queue, or run"
            " each part as a separate job."
        )
    return (
        f"Of {seen['active_gpus']:,} working GPUs the least busy was at {percent(seen['lowest_util_percent'])}, the"
        f" busiest at {percent(seen['highest_util_percent'])}. The less busy ones probably waited for the others"
        f" (below the mean: {seen['gpu_list']}). Check that the work is divided evenly and that no rank has extra work,"
        " such as output."
    )


def overscaling(seen: Evidence, _: Run) -> str:
    return (
        f"All {seen['gpus']:,} GPUs were evenly used, but only {percent(seen['avg_util_percent'])} on average, and none"
        f" needed more than {gigabytes(seen['peak_memory_gb'])} ({share(seen['peak_memory_fraction'])}) of its memory."
        " The work would fit on fewer GPUs, or each GPU could take more of it. Run the same input once on"
        f" {counted(max(int(seen['gpus']) // 2, 1), 'GPU')} and compare the run times."
    )
