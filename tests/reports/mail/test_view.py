"""What a message says of several jobs: its subject, its order, its lines."""

from __future__ import annotations

import dataclasses

from reports.mail.view import Told, digest, entry, subject
from tests.payloads import gpu
from tests.reports.builders import report

BUSY = [gpu(index, 90.0) for index in range(8)]
EIGHT_IDLE = [gpu(index, 0.0) for index in range(8)]


def told(job_id: int, gpus: list | None = None, **record: object) -> Told:
    return Told(report(gpus, job_id=job_id, **record), f"https://kaiku.example/jobs/lumi/{job_id}/")


def saving(job_id: int, gpu_hours: float) -> Told:
    """A job whose advice saves so much."""
    made = told(job_id)
    assert made.report.savings
    savings = dataclasses.replace(made.report.savings, gpu_hours=gpu_hours)
    return dataclasses.replace(made, report=dataclasses.replace(made.report, savings=savings))


def test_the_largest_saving_comes_first_and_without_one_what_was_not_used() -> None:
    # 3 saves 6.0; 2 and 1 save less; the last two save nothing, and leave 8.00 - 0.9 x 8.00 = 0.80 unused.
    made = digest([told(5, BUSY), saving(1, 0.5), saving(2, 2.0), saving(3, 6.0)])
    assert [item.title for item in made.entries] == ["Job 3, train", "Job 2, train", "Job 1, train", "Job 5, train"]
    assert [item.saving for item in made.entries] == ["6.00", "2.00", "0.50", ""]


def test_the_subject_is_the_sum_of_what_the_entries_state() -> None:
    # 6.24 + 6.24 + 0.80 = 13.28
    items = [told(1), told(2), told(3, BUSY)]
    made = digest(items)
    assert subject(items) == "Kaiku: 3 jobs, 13.3 GPU-hours unused"
    assert made.lead == "3 jobs, 13.3 GPU-hours unused"
    assert [item.unused for item in made.entries] == ["6.24", "6.24", "0.80"]


def test_jobs_past_the_list_are_summed_up_below_it() -> None:
    # 22 x 6.24 = 137.28 in all, 2 x 6.24 = 12.48 past the list of twenty.
    items = [told(number) for number in range(1, 23)]
    made = digest(items)
    assert subject(items) == "Kaiku: 22 jobs, 137 GPU-hours unused"
    assert (len(made.entries), made.unlisted, made.unlisted_unused) == (20, 2, ", 12.5 GPU-hours unused")


def test_efficient_jobs_are_not_named_by_what_they_left() -> None:
    assert subject([told(1, BUSY)]) == "Kaiku: job 1, train, GPU use 90.0 %"
    assert subject([told(1, BUSY), told(2, BUSY)]) == "Kaiku: 2 jobs, all efficient"


def test_what_was_not_measured_is_not_counted_in_the_subject() -> None:
    assert subject([told(1, [])]) == "Kaiku: job 1, train"
    assert subject([told(1, []), told(2, [])]) == "Kaiku: 2 jobs"
    assert subject([told(1, []), told(2)]) == "Kaiku: job 2, train, 6.24 GPU-hours unused"


def test_the_tasks_of_an_array_count_as_jobs_and_their_hours_together() -> None:
    # Two tasks of 6.24 and one job of 8.00: 20.48.
    tasks = [told(number, array_job_id=10, array_task_id=number) for number in (10, 11)]
    items = [*tasks, told(20, EIGHT_IDLE)]
    assert subject(items) == "Kaiku: 3 jobs, 20.5 GPU-hours unused"
    (array,) = (item for item in digest(items).entries if item.title.startswith("Array"))
    assert (array.jobs, array.unused, array.saving) == (2, "12.5", "12.0")


def test_an_entry_has_every_line_of_the_suggested_request() -> None:
    made = entry([told(1)])
    assert made.request_text.splitlines()[:2] == [
        "    - #SBATCH --gpus-per-node=8",
        "    + #SBATCH --gpus-per-node=2",
    ]
    assert made.suggested == "Suggested request, saves about 6.00 GPU-hours:"


def test_a_complete_request_is_introduced_as_one_and_has_no_signs() -> None:
    (made,) = digest([Told(report(request={}), "https://kaiku.example/jobs/lumi/1/")]).entries
    assert made.suggested == "Suggested request, saves about 6.00 GPU-hours. Replace your #SBATCH lines with:"
    assert made.request_text.startswith("    #SBATCH --partition=small-g\n    #SBATCH --nodes=1\n")
    assert "+ " not in made.request_text
