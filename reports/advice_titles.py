"""What each kind of advice is called where many jobs are summed up; the reason for one job is `reports.advice`."""

from __future__ import annotations

ADVICE_TITLES = {
    "active_gpus": "Ask for the GPUs that do the work",
    "gpu_memory": "Ask for the GPUs whose memory you fill",
    "no_gpu_use": "Try one GPU before you ask for more",
    "overscaling": "Ask for fewer GPUs and keep them busier",
    "own_scaling": "Stay at the number of GPUs that still scales",
    "peak_memory": "Ask for the host memory you use",
    "busy_cores": "Ask for the CPU cores you use",
    "host_share": "Ask for the cores and host memory you use",
    "out_of_memory": "Ask for the host memory that comes with your GPUs",
    "run_time": "Ask for a time limit near the run time",
    "own_runs": "Ask for a time limit near that of your earlier runs",
}
