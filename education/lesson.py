"""The parts of a lesson: a micro-lesson of two or three sentences, an explanation, a hint and links.

The names and situations of a program are lines of text where they are stored, edited and compared.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from analysis.findings import FindingCode

DEFAULT_LANGUAGE = "en"
# The official languages of the LUMI consortium's countries (lumi-supercomputer.eu, 2026-11).
LANGUAGES = {
    "en": "English",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "is": "Icelandic",
    "it": "Italian",
    "nb": "Norwegian",
    "nl": "Dutch",
    "pl": "Polish",
    "sv": "Swedish",
}
TITLE_CHARACTERS_MAX, MICRO_CHARACTERS_MAX = 120, 700
EXPLANATION_CHARACTERS_MAX, HINT_CHARACTERS_MAX = 10_000, 2_000
LINKS_MAX, URL_CHARACTERS_MAX = 8, 500
PROGRAM = "program-"
"""The code of a lesson about a program begins with this: `program-gromacs`; of the others it is a finding code."""


@dataclass(frozen=True)
class Link:
    """One page for further reading."""

    title: str
    url: str


@dataclass(frozen=True)
class Situation:
    """What a lesson about a program adds where a run has the finding `code`; plain text."""

    code: str
    text: str


@dataclass(frozen=True)
class LessonContent:
    """One lesson; `micro` is plain text, `explanation` and `hint` are Markdown, the first link is the main one.

    A lesson about a program also has the `names` by which a job that runs it is recognised (`education.recognition`).
    """

    title: str
    micro: str
    explanation: str = ""
    hint: str = ""
    links: tuple[Link, ...] = ()
    is_active: bool = True
    names: tuple[str, ...] = ()
    situations: tuple[Situation, ...] = ()

    @property
    def url(self) -> str:
        """The main page for further reading; empty when there is none."""
        return self.links[0].url if self.links else ""


Code = TypeVar("Code", bound=str)
Lessons = Mapping[FindingCode, LessonContent]
Programs = Mapping[str, LessonContent]
"""Lessons about programs by their code."""

# The names under which the specification's table looks lessons up, where they are not the finding's own code.
OTHER_NAMES = {
    "io_or_sync": FindingCode.IO_OR_SYNC_STALL,
    "mpi_mismatch": FindingCode.PARALLELISM_MISMATCH,
    "rccl_network": FindingCode.BUSY_BUT_WAITING,
    "rocm_hip_tuning": FindingCode.KERNEL_TUNING,
    "gpu_memory": FindingCode.GPU_MEMORY_PRESSURE,
    "host_memory": FindingCode.HOST_OUT_OF_MEMORY,
    "cpu_binding": FindingCode.HOST_OVERSUBSCRIPTION,
    "billing_share": FindingCode.CORES_OR_MEMORY_BEYOND_SHARE,
    "partition_choice": FindingCode.EXCLUSIVE_NODE_UNDERUSED,
    "walltime": FindingCode.WALLTIME_OVERREQUEST,
    "checkpointing": FindingCode.TIMEOUT,
    "throttling": FindingCode.THROTTLED,
    "find_the_cause": FindingCode.LOW_USE_UNEXPLAINED,
}


def link_table(lessons: Lessons) -> dict[str, str]:
    """The specification's table, name to address: every code, then the other names; none without an address.

    >>> link_table({FindingCode.TIMEOUT: LessonContent("", "", links=(Link("", "https://lumi.example/"),))})
    {'timeout': 'https://lumi.example/', 'checkpointing': 'https://lumi.example/'}
    """
    table = {code.value: lesson.url for code, lesson in lessons.items()}
    table |= {name: lessons[code].url for name, code in OTHER_NAMES.items() if code in lessons}
    return {name: url for name, url in table.items() if url}


def matching(lessons: Mapping[Code, LessonContent], query: str) -> dict[Code, LessonContent]:
    """The lessons that contain every word of the query, ignoring case; all of them for an empty query.

    >>> list(matching({FindingCode.TIMEOUT: LessonContent("Save your work", "")}, "WORK save"))
    [<FindingCode.TIMEOUT: 'timeout'>]
    """
    words = query.casefold().split()
    texts = {code: _all_text(code, lesson) for code, lesson in lessons.items()}
    return {code: lesson for code, lesson in lessons.items() if all(word in texts[code] for word in words)}


def _all_text(code: str, lesson: LessonContent) -> str:
    names = [str(code), str(code).replace("_", " ")]
    texts = [lesson.title, lesson.micro, lesson.explanation, lesson.hint, *(link.title for link in lesson.links)]
    return "\n".join([*names, *texts, *(each.text for each in lesson.situations)]).casefold()


def names_of(text: str) -> tuple[str, ...]:
    """The names in the lines of a text, in lower case with one blank between words.

    >>> names_of("GROMACS*\\n\\n quantum  espresso ")
    ('gromacs*', 'quantum espresso')
    """
    names = (" ".join(line.lower().split()) for line in text.splitlines())
    return tuple(dict.fromkeys(name for name in names if name))


def situations_of(text: str) -> tuple[Situation, ...]:
    """The situations in the lines of a text; a line without a colon has an empty text.

    >>> situations_of("idle_gpus: Start one rank for each GPU.")
    (Situation(code='idle_gpus', text='Start one rank for each GPU.'),)
    """
    parts = (line.partition(":") for line in text.splitlines() if line.strip())
    return tuple(Situation(code.strip(), " ".join(said.split())) for code, _, said in parts)


def names_text(names: Iterable[str]) -> str:
    """One name in each line."""
    return "\n".join(names)


def situations_text(situations: Iterable[Situation]) -> str:
    """One situation in each line.

    >>> situations_text([Situation("timeout", "Save more often.")])
    'timeout: Save more often.'
    """
    return "\n".join(f"{each.code}: {each.text}" for each in situations)
