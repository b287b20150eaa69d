"""Which program a job runs, as far as its name tells: never by a command line, which is not stored.

A wrong guess costs more than none. A name counts as a whole word, words for builds and analyses exclude a job, and a
job whose name has the words of two programs is none's. Words that jobs of all kinds have in their names are refused
where staff write them (`name_problem`). How often it is right: `tests/samples/programs`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from education.lesson import PROGRAM, LessonContent, Programs

NAME_CHARACTERS_MAX = 200
"""More of a job's name is not looked at."""

NAMES_MAX, NAME_WORDS_MAX = 20, 3
PREFIX_LENGTH_MIN, WORD_LENGTH_MIN = 4, 3

WORD = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
NAME_WORD = re.compile(r"[a-z0-9]+\*?")

NOT_A_RUN = frozenset(
    "build building builds compile compiling configure install installation installing make cmake easybuild spack"
    " setup download convert conversion analysis analyse analyze postprocess postprocessing plot plots plotting"
    " mmpbsa mmgbsa".split()
)
"""Words of jobs that build a program, or work on what it wrote."""

PACKAGE = re.compile(r"\w@[0-9]")
"""A package with its version, as Spack and scripts that build it write it: `namd@2.14`."""

COMMON = (
    "amber analysis array base batch bench benchmark bert build check clean cluster code compute config"
    " convert data debug demo dense diffusion distill download energy eval evaluate example exp experiment"
    " extract fine finetune full gpu grid icon infer inference inter job large latest launch llama llm load"
    " main merge mini mixed model mpi multi name network node notebook optim parallel param part pipeline post"
    " pre predict prep preprocess pretrain process prod production project python quick qwen relax resnet"
    " restart result retrain run sample script search seed serve server setup sft sim simulation single slurm"
    " small solvent stage start static submit sweep system task teacher temp test token tokenize train trainer"
    " training trial tune update user valid validate version vision whisper work workflow"
).split()
"""Words that jobs of all kinds have in their names; some are also names of programs."""


@dataclass(frozen=True)
class Recognised:
    """A program that a job probably runs, and the word of its name that says so."""

    code: str
    lesson: LessonContent
    word: str


def recognised(job_name: str, programs: Programs) -> Recognised | None:
    """The program that the name of a job tells; None where it tells none, or several.

    >>> programs = {"program-gromacs": LessonContent("GROMACS", "", names=("gromacs*", "gmx"))}
    >>> recognised("GMX_min_2", programs).word, recognised("gmx_MMPBSA", programs), recognised("train", programs)
    ('gmx', None, None)
    """
    whole, parts = _words(job_name)
    if NOT_A_RUN & {*whole, *parts} or PACKAGE.search(job_name[:NAME_CHARACTERS_MAX]):
        return None
    found = [
        Recognised(code, lesson, word)
        for code, lesson in programs.items()
        if (word := _first_match(lesson.names, whole) or _first_match(lesson.names, parts))
    ]
    return found[0] if len(found) == 1 else None if not found else _longer(found, programs, whole)


def program_code(job_name: str, programs: Programs) -> str:
    """The code of the program in letters, digits and `_`, as exports have it; empty where the name tells none.

    >>> program_code("qe_scf", {"program-quantum-espresso": LessonContent("Quantum ESPRESSO", "", names=("qe",))})
    'quantum_espresso'
    """
    found = recognised(job_name, programs)
    return found.code.removeprefix(PROGRAM).replace("-", "_") if found else ""


def _longer(found: Sequence[Recognised], programs: Programs, whole: Sequence[str]) -> Recognised | None:
    """Of programs that the same word names the one whose name says more of it: torchtitan before torch."""
    if len({each.word for each in found}) > 1:
        return None
    said = {each.code: max(len(name) for name in each.lesson.names if _match(name, whole)) for each in found if whole}
    best = max(said.values())
    first = [each for each in found if said[each.code] == best]
    return first[0] if len(first) == 1 else None


def _words(job_name: str) -> tuple[list[str], list[str]]:
    """The words of a name in lower case: as written, and divided where capital letters begin words."""
    name = job_name[:NAME_CHARACTERS_MAX]
    whole = WORD.findall(name)
    parts = [part for word in whole for part in CAMEL.split(word)]
    return [word.lower() for word in whole], [part.lower() for part in parts]


def _first_match(names: Sequence[str], words: Sequence[str]) -> str:
    return next((word for name in names if (word := _match(name, words))), "")


def _match(name: str, words: Sequence[str]) -> str:
    """The first words that a name stands for, in their order and side by side; empty where none does.

    >>> _match("gmx", ["run", "gmx2024"]), _match("ddp", ["ddpm"]), _match("amber md", ["amber", "md", "2"])
    ('gmx2024', '', 'amber md')
    """
    wanted = name.split()
    for first in range(len(words) - len(wanted) + 1):
        part = words[first : first + len(wanted)]
        if wanted and all(map(_is_word, wanted, part)):
            return " ".join(part)
    return ""


def _is_word(wanted: str, word: str) -> bool:
    """Whether a word is this one, perhaps with a version behind it; one that ends in * is only how it begins."""
    if wanted.endswith("*"):
        return word.startswith(wanted[:-1])
    return word == wanted or (word.startswith(wanted) and word[len(wanted) :].isdecimal())


def name_problem(name: str) -> str:
    """Why a name would recognise jobs of other programs; empty where nothing speaks against it.

    >>> name_problem("gromacs*"), name_problem("tr*")
    ('', '“tr*” is too short: at least 4 letters or digits before the *.')
    """
    words = name.split()
    if not 0 < len(words) <= NAME_WORDS_MAX or not all(NAME_WORD.fullmatch(word) for word in words):
        return f"“{name}” is not one to {NAME_WORDS_MAX} words of letters a to z and digits, with a * only at an end."
    if any(word.endswith("*") and len(word) <= PREFIX_LENGTH_MIN for word in words):
        short = next(word for word in words if word.endswith("*") and len(word) <= PREFIX_LENGTH_MIN)
        return f"“{short}” is too short: at least {PREFIX_LENGTH_MIN} letters or digits before the *."
    if len(words) == 1 and len(words[0]) < WORD_LENGTH_MIN:
        return f"“{name}” is too short: at least {WORD_LENGTH_MIN} letters or digits."
    common = next((word for word in COMMON if len(words) == 1 and _is_word(words[0], word)), "")
    return f"“{name}” would match “{common}”, which jobs of all kinds have in their names." if common else ""
