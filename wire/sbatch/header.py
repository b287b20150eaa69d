"""The header of a script: its directive lines by component, and lines that only look like directives.

Observed on Slurm 22.05.8: the header ends at the first line that is neither blank nor a comment; an indented `#SBATCH`
is a comment; `hetjob` as the first word of a line begins a component, and what stands behind it is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wire.sbatch.script import REMARKS_MAX, Component, Line, Script
from wire.sbatch.words import BLANKS, Word, words_of

BYTES_MAX = 4 * 1024**2
"""sbatch refuses a longer script (slurm.conf(5), SchedulerParameters: max_script_size)."""
BOM = "\ufeff"
WORDS_MAX = 50_000
"""Of a longer header the rest is not read, so that a hostile script takes no time."""
COMPONENTS_MAX = 128
"""Of a heterogeneous job (slurm.h, MAX_HET_JOB_COMPS)."""
MAGIC = ("#SBATCH", "#SLURM")
SEPARATORS = ("hetjob", "packjob")
LATE = re.compile(r"^#SBATCH", re.MULTILINE)
COMMAND = re.compile(r"^[ \t\v\f\r]*[^# \t\n\v\f\r]", re.MULTILINE)
DIRECTIVE = re.compile(r"^(?P<blanks>[ \t]*)(?P<magic>#(?:SBATCH|SLURM))[^\n]*", re.MULTILINE | re.IGNORECASE)
VARIABLE = re.compile(r"\$\{?[A-Za-z_]")


def lines_of(text: str, end: int) -> Iterator[Line]:
    """The lines of `text[:end]`."""
    start, number = 0, 1
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield Line(number, start, stop)
        start, number = stop + 1, number + 1


def check_file(script: Script) -> None:
    """Refusals that concern the file as a whole."""
    text = script.text
    if not text:
        script.refuse("empty", 0, "The script is empty.")
    elif not text.strip(BLANKS):
        script.refuse("blank", 0, "The script contains only blanks.")
    elif text.startswith(BOM):
        script.refuse(
            "bom", 1, "Line 1 begins with a byte order mark, so Slurm does not find #!. Save the file without it."
        )
    elif not text.startswith("#!"):
        script.refuse(
            "no_interpreter", 1, "Line 1 does not begin with #! and the path of an interpreter, such as #!/bin/bash."
        )
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        script.refuse("nul", line, f"Line {line} contains a NUL character.")
    if "\r\n" in text:
        line = text.count("\n", 0, text.index("\r\n")) + 1
        script.refuse("dos", line, f"Line {line} ends as on DOS (CR LF). `dos2unix` fixes the whole file.")


def read_header(script: Script) -> list[list[Word]]:
    """The words of each component's directives; fills `script.components` with their lines."""
    text = script.text
    command = COMMAND.search(text, len(BOM) if text.startswith(BOM) else 0)
    header_end = command.start() if command else len(text)
    words: list[list[Word]] = [[]]
    is_old_word, left = False, WORDS_MAX
    number, at = 1, 0
    for found_line in DIRECTIVE.finditer(text, 0, header_end):
        number += text.count("\n", at, found_line.start())
        at = found_line.start()
        line, magic = Line(number, *found_line.span()), found_line["magic"]
        if found_line["blanks"] or magic not in MAGIC:
            _look_at_comment(script, line, found_line)
            continue
        if magic == "#SLURM" and not is_old_word:
            is_old_word = True
            script.warn("old_word", line.number, f"Line {line.number}: write #SBATCH instead of #SLURM.")
        found = _words_of_line(script, line, line.start + len(magic))
        left -= len(found or ()) + 1
        if left < 0:
            script.warn_not_read(line.number, WORDS_MAX)
            break
        if found is None and len(words) == COMPONENTS_MAX:
            what = f"the header has more than {COMPONENTS_MAX} components"
            script.refuse("too_many", line.number, f"Line {line.number}: {what}.")
            break
        if found is None:
            words.append([])
            script.components.append(Component(len(words) - 1))
        else:
            words[-1].extend(found)
        script.components[-1].lines.append(line)
    if command:
        _look_for_late(script, header_end)
    return words


def _look_at_comment(script: Script, line: Line, found: re.Match[str]) -> None:
    number = line.number
    if found["magic"] == "#SBATCH":
        script.warn("indented", number, f"Line {number} is a comment to Slurm: #SBATCH is not at its beginning.")
    elif not found["blanks"] and found["magic"].upper() == "#SBATCH":
        script.warn("lower_case", number, f"Line {number} is a comment to Slurm: #SBATCH needs capitals.")


def _words_of_line(script: Script, line: Line, start: int) -> list[Word] | None:
    """The words of a directive that count; None where it begins a component."""
    text = script.text
    words, cut = words_of(text, start, line.end, line.number, script.version)
    for place, word in enumerate(words):
        if text[word.start : word.end].lower() not in SEPARATORS:
            continue
        name = text[word.start : word.end].lower()
        if name == "packjob" and not place:
            script.warn("packjob", line.number, f'Line {line.number}: write "hetjob" instead of "packjob".')
        if place:
            script.warn(
                "hetjob_not_first",
                line.number,
                f"Line {line.number}: {name} must be the first word of its line. Slurm begins no component here and"
                " ignores the rest of the line.",
            )
            return words[:place]
        if len(words) > 1:
            script.warn("behind_hetjob", line.number, f"Line {line.number}: Slurm ignores what follows {name}.")
        return None
    if cut is not None:
        _look_at_cut(script, line, cut.reason, cut.at, bool(text[cut.at : line.end].strip(BLANKS + "\"'\\")))
    if any(VARIABLE.search(word.text) for word in words):
        script.warn(
            "variable", line.number, f"Line {line.number}: Slurm does not replace shell variables in directives."
        )
    return words


def _look_at_cut(script: Script, line: Line, reason: str, at: int, is_more: bool) -> None:
    number, index = line.number, len(script.components) - 1
    if reason == "quote":
        script.refuse("open_quote", number, f"Line {number}: a quote is never closed.", index)
    elif reason == "colon":
        script.refuse(
            "colon", number, f"Line {number}: a colon may not stand alone. Components are separated by hetjob.", index
        )
    elif reason == "hash_in_word":
        script.warn(
            "hash_in_word", number, f"Line {number}: # inside a word cuts the value and the rest of the line. Quote it."
        )
    elif reason == "empty" and script.text[at] == "\\":
        script.warn(
            "continuation", number, f"Line {number}: a directive cannot be continued on the next line with a backslash."
        )
    elif reason == "empty" and is_more:
        script.warn("empty_word", number, f"Line {number}: Slurm ignores what follows the empty quotes.")


def _look_for_late(script: Script, header_end: int) -> None:
    text = script.text
    first = text.count("\n", 0, header_end) + 1
    number, at = first, header_end
    for found in LATE.finditer(text, header_end):
        if len(script.warnings) >= REMARKS_MAX:
            return
        number += text.count("\n", at, found.start())
        at = found.start()
        script.warn(
            "late",
            number,
            f"Line {number}: Slurm ignores this directive, because it follows the first command (line {first}).",
        )
