"""What to learn from each finding: a micro-lesson of a few sentences and the page to read on.

Addresses: LUMI user guide (docs.lumi-supercomputer.eu), LUMI training materials and CSC's guides, as of 2026-11.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.findings import FindingCode

GUIDE = "https://docs.lumi-supercomputer.eu/"
TRAINING = "https://lumi-supercomputer.github.io/LUMI-training-materials/"
AI_GUIDE = "https://github.com/Lumi-supercomputer/LUMI-AI-Guide/tree/main/"
CSC = "https://docs.csc.fi/support/tutorials/"


@dataclass(frozen=True)
class Lesson:
    """One micro-lesson; `slug` is its stable name, several findings may share one."""

    slug: str
    title: str
    url: str
    text: str


MPI_MISMATCH = Lesson(
    "mpi_mismatch",
    "One rank for each GPU",
    GUIDE + "runjobs/scheduled-jobs/lumig-job/#mpi-based-job",
    "Reserving GPUs does not make a program use them: each process works on the GPU it selects, by default the"
    " first. Start as many ranks as GPUs (--ntasks-per-node equal to --gpus-per-node) and let each see its own with"
    " ROCR_VISIBLE_DEVICES=$SLURM_LOCALID. PyTorch needs torchrun or srun with one process per GPU.",
)
GPU_MEMORY = Lesson(
    "gpu_memory",
    "Fit into 64 GB a GPU",
    AI_GUIDE + "05-multi-gpu-and-node#readme",
    "A GPU on LUMI-G, half a module, has 64 GB of its own. When a run comes close to that, use a smaller batch with"
    " gradient accumulation, mixed precision or activation checkpointing, or share the model among more GPUs (FSDP,"
    " tensor parallelism). rocm-smi --showmeminfo vram in the job shows how full it is.",
)
LESSONS = {
    FindingCode.NO_GPU_USE: Lesson(
        "no_gpu_use",
        "Is the program built for AMD GPUs?",
        TRAINING + "2p3day-20250303/M501-Porting_to_GPU/",
        "A program without GPU code, or one built for CUDA, runs on the CPU cores of a GPU node and gives no warning."
        " Check in a short job that the GPUs are seen (rocm-smi; in PyTorch torch.cuda.is_available()). Work for CPUs"
        " belongs on LUMI-C, which is billed in cheaper CPU-core-hours.",
    ),
    FindingCode.PARALLELISM_MISMATCH: MPI_MISMATCH,
    FindingCode.IDLE_GPUS: MPI_MISMATCH,
    FindingCode.CPU_BOTTLENECK: Lesson(
        "cpu_bottleneck",
        "Feed the GPUs from more cores",
        CSC + "gpu-ml/#using-multiple-cpus-for-data-pre-processing",
        "Seven cores come with each GPU on LUMI-G; a loader that works in one process leaves six of them idle while the"
        " GPU waits. Give the loader workers (num_workers=7 per GPU in PyTorch), ask for --cpus-per-task=7, and move"
        " decoding and augmentation out of the training step or onto the GPU.",
    ),
    FindingCode.OVERSCALING: Lesson(
        "overscaling",
        "As many GPUs as the problem fills",
        TRAINING + "User-Updates/Update-202308/responsible-use/",
        "When every GPU is lightly used and its memory nearly empty, the work is spread too thin and the time goes into"
        " communication. Run the same input on 1, 2, 4 and 8 GPUs once and keep the largest number that still shortens"
        " the run by a good part; or give each GPU more work, such as a larger batch.",
    ),
    FindingCode.IO_OR_SYNC_STALL: Lesson(
        "io_or_sync",
        "When the GPUs wait for data or for each other",
        GUIDE + "storage/parallel-filesystems/lustre/#file-striping",
        "Many small files are slow on Lustre: pack them (SquashFS, HDF5, LMDB), stripe large shared files, and read"
        " ahead. If the host is quiet too, the ranks wait for each other: look for one slow rank, for output or"
        " checkpoints written by rank 0 alone, and across nodes for RCCL without the Slingshot plugin.",
    ),
    FindingCode.HOST_OUT_OF_MEMORY: Lesson(
        "host_memory",
        "Host memory comes with the GPUs",
        TRAINING + "User-Updates/Update-202308/responsible-use/#core-and-memory-use-on-small-g-and-dev-g",
        "A GPU on LUMI-G comes with 60 GB of host memory; Slurm ends a job that passes its request. Read data in"
        " parts, use fewer loader workers, or ask for more with --mem-per-gpu: above 60 GB per GPU it is billed like"
        " another GPU.",
    ),
    FindingCode.TIMEOUT: Lesson(
        "checkpointing",
        "Let a job end well",
        TRAINING + "User-Updates/Update-202308/responsible-use/",
        "Work since the last checkpoint is lost when the time limit ends a job. Write checkpoints at fixed intervals,"
        " ask Slurm for a signal before the end (--signal=B:USR1@300) to write a last one, and continue in a job that"
        " starts from it (--dependency=afterany).",
    ),
    FindingCode.WALLTIME_OVERREQUEST: Lesson(
        "walltime",
        "A realistic time limit starts sooner",
        TRAINING + "User-Updates/Update-202308/responsible-use/",
        "Only the time that a job runs is billed, but Slurm plans with the time it asked for: a short limit fits into"
        " gaps (backfill) where a long one has to wait. The usual run time and a fifth is a good --time.",
    ),
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: Lesson(
        "partition_choice",
        "Whole nodes only for whole-node work",
        GUIDE + "runjobs/scheduled-jobs/partitions/#small-partitions",
        "standard-g gives whole nodes and bills all eight GPUs of each, whatever a job asks for. A job that fills fewer"
        " than eight belongs on small-g, which bills by GPU: one GPU there costs an eighth. standard-g is for"
        " jobs that use every GPU of their nodes.",
    ),
    FindingCode.LOAD_IMBALANCE: Lesson(
        "load_imbalance",
        "Give every GPU the same work",
        GUIDE + "runjobs/scheduled-jobs/distribution-binding/#gpu-binding",
        "The slowest GPU sets the pace of a step that all of them finish together. Check that domain or batch are"
        " divided evenly, that no rank does extra work (validation, output), and, on a full node, that each rank runs"
        " on the cores next to its GPU (--cpu-bind=map_cpu:49,57,17,25,1,9,33,41).",
    ),
    FindingCode.HOST_OVERSUBSCRIPTION: Lesson(
        "cpu_binding",
        "As many threads as cores",
        GUIDE + "runjobs/scheduled-jobs/distribution-binding/#openmp-thread-affinity",
        "Threads that share a core take turns and push each other out of its caches. Set OMP_NUM_THREADS to"
        " $SLURM_CPUS_PER_TASK, keep loader workers times ranks within the cores, and remember that numerical libraries"
        " start threads of their own. Seven cores come with each GPU.",
    ),
    FindingCode.LATE_START: Lesson(
        "late_start",
        "Prepare before the GPUs are held",
        AI_GUIDE + "03-file-formats#readme",
        "GPUs are billed from the first second of a job. Install software into a container once, unpack and convert"
        " data in a job on CPU nodes (--dependency=afterok links the two), and load the first batches while the rest is"
        " still being read.",
    ),
    FindingCode.IDLE_TAIL: Lesson(
        "idle_tail",
        "End the job when the GPU work ends",
        GUIDE + "runjobs/scheduled-jobs/interactive/#using-srun-to-check-running-jobs",
        "A job holds its GPUs until its last process ends: after a crash of one rank, while results are compressed or"
        " copied, or when a process waits for ever. Use srun --kill-on-bad-exit=1, move the work after the GPU part"
        " into a job on CPU nodes, and look into a running job with srun --interactive --pty --jobid=<id> rocm-smi.",
    ),
    FindingCode.BUSY_BUT_WAITING: Lesson(
        "rccl_network",
        "Busy is not yet working",
        "https://lumi-supercomputer.github.io/LUMI-EasyBuild-docs/a/aws-ofi-rccl/",
        "A kernel that waits for another GPU shows as 100 % busy at little power; a fully loaded module draws close to"
        " 500 W. Across nodes RCCL needs the Slingshot plugin: NCCL_DEBUG=INFO should say that the provider is cxi. Set"
        " NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3, and look for a rank that never reaches the collective.",
    ),
    FindingCode.KERNEL_TUNING: Lesson(
        "rocm_hip_tuning",
        "Look into the kernels",
        TRAINING + "paow-20260511/M301_Best_Practices_GPU_Optimization/",
        "GPUs that are steadily half busy at half power often launch many small kernels or wait for memory. Profile a"
        " short run with rocprof first, then rocprof-compute for the longest kernels. Larger batches, fused operations,"
        " mixed precision and matrix sizes in multiples of 64 are the usual gains.",
    ),
    FindingCode.THROTTLED: Lesson(
        "throttling",
        "When the hardware slows down",
        GUIDE + "helpdesk/",
        "A node limits the clocks of its GPUs when they get too hot or draw too much power. A program cannot do much"
        " about it and it is not held against you. If one node keeps doing it, tell the helpdesk its name and the job"
        " id; --exclude keeps a job off it.",
    ),
    FindingCode.GPU_MEMORY_PRESSURE: GPU_MEMORY,
    FindingCode.GPU_OUT_OF_MEMORY: GPU_MEMORY,
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: Lesson(
        "billing_share",
        "Seven cores and 60 GB a GPU",
        GUIDE + "runjobs/lumi_env/billing/#gpu-billing",
        "On small-g and dev-g a job is billed for the largest of its GPUs, its cores in eights and its host memory in"
        " slices of 64 GB. Up to 7 cores and 60 GB for each GPU cost nothing more: --cpus-per-task=7 --mem-per-gpu=60G."
        " 256 GB beside one GPU cost as much as four.",
    ),
}


def lesson_for(code: FindingCode) -> Lesson:
    """The lesson that answers a finding.

    >>> lesson_for(FindingCode.TIMEOUT).slug
    'checkpointing'
    """
    return LESSONS[code]
