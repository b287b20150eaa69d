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
}


def lesson_for(code: FindingCode) -> Lesson:
    """The lesson that answers a finding.

    >>> lesson_for(FindingCode.TIMEOUT).slug
    'checkpointing'
    """
    return LESSONS[code]
