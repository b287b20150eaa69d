"""What each kind of advice is called where many jobs are summed up; the reason for one job is `reports.advice`."""

from __future__ import annotations

ADVICE_TITLES = {
    "active_gpus": "Request only the GPUs you use",
    "gpu_memory": "Request only the GPUs whose memory you fill",
    "no_gpu_use": "Try one GPU before you request more",
    "cpu_work": "Move work without GPUs to a CPU partition",
    "smaller_gpu": "Request a part of a GPU",
    "overscaling": "Request fewer GPUs and keep them busier",
    "own_scaling": "Stay at the number of GPUs that still scales",
    "peak_memory": "Request only the host memory you use",
    "busy_cores": "Request only the CPU cores you use",
    "host_share": "Request only the cores and host memory you use",
    "out_of_memory": "Request the host memory that comes with your GPUs",
    "more_memory": "Request more host memory",
    "more_time": "Request more time for work that was cut off",
    "own_longer_runs": "Request the time that your earlier runs took",
    "run_time": "Request a time limit near the run time",
    "own_runs": "Request a time limit near that of your earlier runs",
}
