"""Which program the name of a job tells, for sums over many works and for rows that other sites get."""

from collections.abc import Callable
from functools import partial

from education.recognition import program_code, recognised
from education.selectors import current_programs


def program_titles() -> Callable[[str], str]:
    """From the name of a job to the title of its program, empty where it tells none; the programs are read once."""
    programs = current_programs()

    def title(job_name: str) -> str:
        found = recognised(job_name, programs)
        return found.lesson.title if found else ""

    return title


def program_codes() -> Callable[[str], str]:
    """The same to the code of the program, which is the same at every site that has it: `gromacs`."""
    return partial(program_code, programs=current_programs())
