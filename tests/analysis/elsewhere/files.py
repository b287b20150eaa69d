"""Files of other sites, as they would arrive."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

HEAD = {
    **{"schema": "kaiku-institutional/1", "site": "Elsewhere", "month": "2026-10", "rows": 10},
    **{"people_min": 5, "projects_min": 5, "withheld": [{"reason": "few_people", "people_at_most": 5}]},
}
ROW = {
    **{"program": "gromacs", "science_field": "Physics", "gpu": "H100", "partition_type": "shared", "gpus": "5-8"},
    **{"run_time_h": "1-4", "ending": "completed", "efficiency_class": "WASTED", "gpu_use_percent": "5-15"},
    **{"gpu_memory_percent": "25-50", "finding": "none"},
}


def rows(count: int, first: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Equal rows with keys of their own."""
    return [{"key": f"{number:016x}", **ROW, **changes} for number in range(first, first + count)]


def shared(*items: Any, **changes: Any) -> list[Any]:
    """An institutional file that states as many rows as it has."""
    return [HEAD | {"rows": len(items)} | changes, *items]


def document(user: str, project: str = "", **execution: Any) -> dict[str, Any]:
    """A learning document of a completed run on eight GPUs for two hours, used by 8 %."""
    ran: dict[str, Any] = {
        **{"success": True, "state": "COMPLETED", "execution_duration_s": 7200.0, "node_count": 1},
        **{"end_time": "2026-10-15T12:00:00Z"},
        "hardware": {"gpu_name": "H100", "gpus": 8, "is_exclusive": False},
    }
    return {
        "schema": "kaiku-learning/1",
        "job_metadata": {
            **{"job_id": "1", "user_id": user, "project_id": project or f"project_of_{user}", "job_name": "gromacs_md"},
            "actual_execution": ran | execution,
        },
        "performance_metrics": {"gpu": {"avg_util_percent": 8.0}, "memory": {"peak_gpu_mem_fraction": 0.3}},
        "judgement": {"efficiency_class": "WASTED", "findings": []},
        "cost_analysis": {"gpu_hours": 8.0},
    }


def asba(user: str) -> dict[str, Any]:
    """A document as ASBA's export writes it, with members that are read past."""
    return {
        "job_metadata": {
            **{"job_id": "7", "job_name": "lammps_melt", "user_id": user, "project_id": f"NSF-{user}"},
            "partition": "aws-gpu",
            "actual_execution": {
                **{"instance_types_used": ["p5.48xlarge"], "actual_cost_usd": 12.45, "execution_duration": "2h0m0s"},
                **{"success": True, "node_count": 4},
                **{"start_time": "2026-10-15T10:00:00Z", "end_time": "2026-10-15T12:00:00.5+00:00"},
            },
        },
        "prediction_validation": {"cost_accuracy": 0.94},
        "aws_performance_metrics": {"efa_utilization": 0.89, "provisioning_time": 300000000000},
        "cost_analysis": {"total_cost_usd": 12.75},
        "execution_context": {"environment_variables": {"HOME": "/home/alice"}},
    }


def lines(items: Iterable[Any]) -> bytes:
    """JSON lines; bytes are written as they are."""
    return b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in items)
