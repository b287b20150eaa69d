"""Which program the name of a job tells, for sums over many works."""

from __future__ import annotations

from collections.abc import Callable

from education.recognition import recognised
from education.selectors import current_programs


def program_titles() -> Callable[[str], str]:
    """From the name of a job to the title of its program, empty where it tells none; the programs are read once."""
    programs = current_programs()

    def title(job_name: str) -> str:
        found = recognised(job_name, programs)
        return found.lesson.title if found else ""

    return title
