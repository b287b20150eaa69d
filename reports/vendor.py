"""Names of tools by the vendor of a run's GPUs: reports on NVIDIA hardware name no ROCm tool, and vice versa.

Sources: ROCm documentation (rocm-smi, rocprofv3, RCCL), NVIDIA documentation (nvidia-smi, Nsight Systems, NCCL),
srun(1) for `--overlap`.
"""

from dataclasses import dataclass

from jobs.hardware import clusters, site, vendor_of

SHIPPED_SITE = "LUMI"
"""The site that the lessons which come with Kaiku are written for."""
SHORT_TEST_PARTITION = "dev-g"


@dataclass(frozen=True)
class Tools:
    """Phrases for use within a sentence; `look` is a command for a running job, with JOBID for its number.

    `monitor` is the program that shows the GPUs, empty where it is not known.
    """

    look: str
    monitor: str
    profiler: str
    collectives: str
    runtime: str
    select_gpu: str


AMD = Tools(
    look="srun --overlap --jobid=JOBID rocm-smi",
    monitor="rocm-smi",
    profiler="rocprofv3 or the PyTorch profiler",
    collectives="RCCL",
    runtime="HIP",
    select_gpu="with ROCR_VISIBLE_DEVICES=$SLURM_LOCALID for example",
)
NVIDIA = Tools(
    look="srun --overlap --jobid=JOBID nvidia-smi",
    monitor="nvidia-smi",
    profiler="Nsight Systems (nsys profile) or the PyTorch profiler",
    collectives="NCCL",
    runtime="CUDA",
    select_gpu="with CUDA_VISIBLE_DEVICES=$SLURM_LOCALID for example",
)
ANY = Tools(
    look="srun --overlap --jobid=JOBID --pty bash and the GPU monitor of your system",
    monitor="",
    profiler="a GPU profiler or the PyTorch profiler",
    collectives="the collective library",
    runtime="the GPU runtime",
    select_gpu="by its local rank",
)
BY_VENDOR = {"amd": AMD, "nvidia": NVIDIA}


def tools_of(cluster: str, partition: str) -> Tools:
    """The tools for the GPUs of a partition; neutral words where the vendor is not known.

    >>> tools_of("lumi", "small-g").collectives, tools_of("lumi", "lumid").collectives
    ('RCCL', 'the collective library')
    """
    return BY_VENDOR.get(vendor_of(cluster, partition), ANY)


def is_shipped_site(cluster: str, partition: str) -> bool:
    """Whether the lessons that come with Kaiku, their commands and links, apply to this partition.

    >>> is_shipped_site("lumi", "standard-g"), is_shipped_site("lumi", "lumid")
    (True, False)
    """
    return site().name == SHIPPED_SITE and vendor_of(cluster, partition) == "amd"


def short_test(cluster: str) -> str:
    """Where to repeat something within minutes.

    >>> short_test("lumi"), short_test("elsewhere")
    ('a short test on dev-g', 'a short test job')
    """
    known = clusters().get(cluster)
    has_partition = known is not None and SHORT_TEST_PARTITION in known.partitions
    return f"a short test on {SHORT_TEST_PARTITION}" if has_partition else "a short test job"
