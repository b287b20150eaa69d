"""The words that people read: plain, literal phrases in place of old ones, in every template, message and document."""

from __future__ import annotations

import ast
import html
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("analysis", "cli", "collector", "education", "jobs", "metrics", "portal", "reports", "wire")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md")

# What is not written -> what is written instead. Matched without regard to case, over line ends.
PHRASES = {
    r"\b(told|says|said)\b": "reported, shows, states",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bask(s|ed|ing)? for\b": "request",
    r"\b(it|jobs?|runs?|work) held\b": "allocated",
    r"\bsettings? works?\b": "apply",
    r"\bdoors?\b": "access check",
    r"\bhouses?\b": "package",
    r"\bagainst the (last|month before)\b": "compared with last month",
    r"\bno counted (jobs?|runs?)\b": "No jobs counted",
    r"\bthe advice could save\b": "Potential savings",
    r"\b0 jobs 0\.00\b": "None yet",
    r"\bwhat would save\b": "Biggest savings",
    r"\bGPUs that do the work\b": "Request only the GPUs you use",
    r"\bwhat was observed\b": "Measurements",
    r"\bare where to start\b": "Start with the causes below",
    r"\bmay free most\b": "Most of them could be released",
    r"\bfor (their|its|your) sake\b": "No change needed",
    r"\bnothing stood out\b": "We found no clear cause",
    r"\bmeasurements name no\b": "No better request can be derived",
    r"\bthan the work filled\b": "More GPUs than needed",
    r"\bwhole nodes for part of\b": "Whole node billed, few GPUs used",
    r"\broom in the (GPU )?kernels\b": "GPU kernels could run faster",
    r"\bwasted (GPU-)?hours?\b|\b(GPU-)?hours? (were |was )?wasted\b": "unused GPU-hours",
    r"\bvery likely\b|% sure\b": "the fact",
    r"\bstood idle\b": "Idle modules used …",
    r"\bheld against\b": "this does not affect your account",
    r"\bgo(es)? evenly\b": "on track",
    r"\bnone of the jobs you may see\b": "No jobs match these filters",
    r"\bgo together\b": "Incorrect user name or password",
    r"\bwho opened this job\b|\bnobody but you\b": "Viewed by: only you",
    r"\bof the time at most\b": "95th percentile",
    r"\bby its first\b": "Power is per module, shown on its first GPU",
    r"\bdirectory is asked\b": "Automatic import is off",
    r"\bnobody knows\b|\bwhat came of it\b": "delivery unconfirmed twice; may have arrived",
    r"\bbelieved\b": "is rejected unless",
}
PATTERNS = {re.compile(pattern, re.IGNORECASE): instead for pattern, instead in PHRASES.items()}

# (file, text that holds the phrase) -> why it stays.
EXCEPTIONS: dict[tuple[str, str], str] = {}

# Sentences of the table as they are written now: each must stand somewhere that people read.
WRITTEN = (
    "compared with last month",
    "No jobs counted",
    "Potential savings",
    "None yet",
    "Biggest savings",
    "Request only the GPUs you use",
    "Suggested request",
    "Measurements",
    "Start with the causes below",
    "Most of them could be released",
    "No change needed",
    "We found no clear cause",
    "No better request can be derived",
    "More GPUs than needed",
    "Whole node billed, few GPUs used",
    "GPU kernels could run faster",
    "unused GPU-hours",
    "this does not affect your account",
    "on track",
    "No jobs match these filters",
    "Incorrect user name or password",
    "Viewed by",
    "95th percentile",
    "Power is per module, shown on its first GPU",
    "Automatic import is off",
    "delivery unconfirmed twice; may have arrived",
    "reported an impossible peak",
    "is rejected unless",
)

CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]*`")
LINK_TARGET = re.compile(r"\]\([^)]*\)")
TEMPLATE_COMMENT = re.compile(r"{#.*?#}|{% comment %}.*?{% endcomment %}", re.DOTALL)
TEMPLATE_TAG = re.compile(r"{%.*?%}|{{.*?}}", re.DOTALL)
NOT_TEXT = re.compile(r"<(script|style|code|pre)\b.*?</\1>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
SPOKEN_ATTRIBUTE = re.compile(r'\b(?:alt|aria-label|placeholder|title|content|data-empty|data-label)="([^"]*)"')
TAG = re.compile(r"<[^>]*>", re.DOTALL)


@dataclass(frozen=True)
class Text:
    """Something that people read, and the line of the file where it begins."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text without what the pattern finds; its lines keep their numbers."""
    return pattern.sub(lambda found: " " + "\n" * found[0].count("\n"), text)


def template_text(source: str) -> str:
    """What a template shows: the text outside tags, and the attributes that are read aloud or shown."""
    for pattern in (TEMPLATE_COMMENT, TEMPLATE_TAG, NOT_TEXT):
        source = blanked(pattern, source)
    return html.unescape(
        TAG.sub(lambda tag: f" {' '.join(SPOKEN_ATTRIBUTE.findall(tag[0]))} " + "\n" * tag[0].count("\n"), source)
    )


def markdown_text(source: str) -> str:
    """What a document says outside its code and its addresses."""
    for pattern in (CODE_BLOCK, CODE, LINK_TARGET):
        source = blanked(pattern, source)
    return source


def literals(source: str) -> Iterator[tuple[int, str]]:
    """The string literals of a module that may be sentences: no docstring, no single word, no name of a variable."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in parts | alone:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, CODE.sub(" ", text)


def lesson_texts(source: str) -> Iterator[str]:
    """Every text of a lesson's file, those of its other forms too."""

    def within(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield markdown_text(value)
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from within(part)

    return within(tomllib.loads(source))


def files(folder: str, ending: str) -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / folder).rglob(f"*{ending}")):
        if "migrations" not in path.parts:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


@cache
def everything_read() -> tuple[Text, ...]:
    """All that people read, file by file."""
    return tuple(_everything())


def _everything() -> Iterator[Text]:
    for ending in (".html", ".txt"):
        for name, source in files("templates", ending):
            yield Text(name, 1, template_text(source))
    for package in PACKAGES:
        for name, source in files(package, ".py"):
            yield from (Text(name, line, text) for line, text in literals(source))
    for folder in ("education/lessons", "education/programs"):
        for name, source in files(folder, ".toml"):
            yield from (Text(name, 1, text) for text in lesson_texts(source))
    for name, source in files("docs", ".md"):
        yield Text(name, 1, markdown_text(source))
    for name in DOCUMENTS:
        yield Text(name, 1, markdown_text((ROOT / name).read_text(encoding="utf-8")))


@cache
def everything_flat() -> tuple[str, ...]:
    """The same in small letters, each text on one line."""
    return tuple(" ".join(read.text.split()).lower() for read in everything_read())


def old_phrases(read: Text) -> Iterator[str]:
    """One line for each old phrase in a text, with the words around it and what to write."""
    text = re.sub(r"[ \t]*\n[ \t]*", "\n", read.text)
    for pattern, instead in PATTERNS.items():
        # A phrase may go over the end of a line.
        for found in pattern.finditer(text.replace("\n", " ")):
            around = " ".join(text[max(found.start() - 40, 0) : found.end() + 40].split())
            if any(read.file == file and part in around for file, part in EXCEPTIONS):
                continue
            line = read.line + text.count("\n", 0, found.start())
            yield f"{read.file}:{line}: “{found[0]}” in “…{around}…”; write: {instead}"


@pytest.mark.parametrize("place", ["templates", *PACKAGES, "docs", *DOCUMENTS])
def test_no_old_phrase_stands_in_what_people_read(place: str) -> None:
    found = [line for read in everything_read() if read.file.split("/")[0] == place for line in old_phrases(read)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("sentence", WRITTEN)
def test_the_plain_sentence_is_used(sentence: str) -> None:
    assert any(sentence.lower() in text for text in everything_flat()), sentence


OLD = (
    "Slurm told an impossible peak",
    "what the server said",
    "Mend the lesson",
    "Ask for the GPUs that do the work",
    "What to ask for next time",
    "what it held",
    "when the setting works",
    "the only door",
    "the rules of this house",
    "this month against the last",
    "No counted job",
    "GPU-hours the advice could save",
    "0 jobs 0.00",
    "What would save most",
    "What was observed",
    "The causes below are where to start",
    "A small change may free most of them",
    "Nothing needs to change for their sake",
    "Nothing stood out",
    "The measurements name no better request",
    "More GPUs than the work filled",
    "Whole nodes for part of their GPUs",
    "Room in the GPU kernels",
    "wasted GPU-hours",
    "GPU-hours wasted",
    "very likely, 93 % sure",
    "100 % sure",
    "The modules that stood idle drew 3.10 kWh",
    "nothing is held against anyone",
    "hours and time go evenly",
    "None of the jobs you may see is like that",
    "That name and password do not go together",
    "an array is always told as one",
    "Who opened this job: Nobody but you",
    "95 % of the time at most",
    "Power is told for a module of two GPUs, by its first",
    "No directory is asked by itself",
    "twice nobody knows what came of it",
    "is not believed without --force",
)


@pytest.mark.parametrize("old", OLD)
def test_each_old_phrase_is_found(old: str) -> None:
    assert list(old_phrases(Text("x.html", 1, template_text(f"<p>{old.replace(' ', chr(10), 1)}</p>"))))


def test_names_in_code_and_markup_are_no_words() -> None:
    source = (
        '"""What it said."""\nsaid = {"told": f"{said}"}\nkey = "wasted_gpu_hours"\nprint(f"{said} of {told} GPUs")\n'
    )
    assert list(literals(source)) == [(4, "… of … GPUs")]
    page = '<p class="said">{# told #}{{ told }}{% if said %}Used{% endif %}<b title="Not told">A</b></p>'
    assert template_text(page).split() == ["Used", "Not", "told", "A"]
    assert markdown_text("A `door`, a [link](house.md)\n```\nsaid\n```\n").split() == ["A", ",", "a", "[link"]


def test_the_line_of_a_phrase_is_named() -> None:
    (line,) = old_phrases(Text("page.html", 1, template_text("<p>\nOne.\n{# a\n#}\nIt <b>said</b> so.</p>")))
    assert line.startswith("page.html:5: “said” in")


def test_every_exception_is_still_needed() -> None:
    for (file, part), reason in EXCEPTIONS.items():
        texts = (" ".join(read.text.split()) for read in everything_read() if read.file == file)
        assert reason
        assert any(part in text for text in texts), (file, part)
