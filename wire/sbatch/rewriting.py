"""A script with other options: only the lines that set them change, everything else stays byte for byte."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from wire.sbatch.header import MAGIC
from wire.sbatch.looking import place
from wire.sbatch.reading import GROUP_OF, encoded, read_script
from wire.sbatch.script import Component, Line, Script, Setting
from wire.sbatch.table import OPTIONS
from wire.sbatch.values import ValueRefused, normal
from wire.sbatch.words import BLANKS, Word, quoted, words_of

CHARACTERS_MAX = 1 << 18
"""A longer script is not rewritten: each change reads it again."""
UNREAD = frozenset("open_quote colon unknown ambiguous no_argument missing_value not_an_option value".split())
"""Codes of refusals of a word. Those of combinations may come and go between the changes."""
ELSEWHERE = ("environment", "arguments", "PBS", "LSF")


class Change(NamedTuple):
    """One option as it is and as wanted: the fields of `jobs.sbatch.OptionChange`, whose objects serve as well.

    An empty `recommended` leaves the option out, an empty `requested` adds it.
    """

    option: str
    requested: str
    recommended: str


class NotChanged(NamedTuple):
    """A change that could not be made, and why, for people."""

    option: str
    reason: str


class Rewritten(NamedTuple):
    """The new script, and the changes that are not in it."""

    script: bytes
    not_changed: tuple[NotChanged, ...]


class _Edit(NamedTuple):
    """`text` instead of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def rewritten(script: Script, component: int, changes: Iterable[Change]) -> Rewritten:
    """The script with the changes made in one component.

    `script` is read by `read_script` without or with environment and arguments; what these set, or a PBS or LSF line,
    cannot be changed here and is in `not_changed`, as is what Slurm would refuse. Later components keep what they
    inherited: where needed a line is added to them.
    """
    missed: list[NotChanged] = []
    now = _own_reading(script.text, script)
    for change in changes:
        reason = _why_not(script, now, component, change)
        done = None if reason else _with_change(now, component, change)
        if done is None:
            missed.append(NotChanged(change.option, reason or "No change of the lines gives this and nothing else."))
        else:
            now = done
    return Rewritten(encoded(now.text), tuple(missed))


def unified_diff(before: bytes, after: bytes, name: str = "job.sbatch") -> str:
    """The difference as `diff -u` prints it, without times, so that `patch` takes it; "" where there is none."""
    lines = difflib.unified_diff(_lines(before), _lines(after), name, name, n=2)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(content: bytes) -> list[str]:
    """With their ends; no line follows the last one."""
    *whole, last = content.decode("utf-8", "replace").split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _own_reading(text: str, script: Script) -> Script:
    return read_script(text, version=script.version)


def _name(change: Change) -> str:
    return change.option.lstrip("-")


def _why_not(script: Script, now: Script, component: int, change: Change) -> str:
    """Why a change cannot be made; "" where it can. `now` is the script alone, with the changes before this one."""
    name = _name(change)
    if name not in OPTIONS:
        return "This is no option of sbatch."
    if len(script.text) > CHARACTERS_MAX:
        return "The script is too long to be rewritten."
    if component >= len(now.components):
        return "The script has no such component."
    if re.search(r"[\0\r\n]", change.recommended):
        return "A value cannot hold a line break or NUL."
    if change.recommended:
        try:
            normal(name, change.recommended, script.version)
        except ValueRefused as refused:
            return f"The value {change.recommended[:40]} {refused.reason}."
    winner = script.components[component].winner.get(name)
    if winner is not None and winner.source in ELSEWHERE:
        return f"The value comes from {place(winner)}."
    if winner is None and not change.recommended and name in script.components[component].inherited:
        return "The value is inherited from an earlier component."
    if change.recommended and name not in now.components[component].options and _is_taken_over(now, component, name):
        return "A later component would inherit it."
    return ""


def _is_taken_over(script: Script, index: int, name: str) -> bool:
    """Whether the next component inherits the option, as it sets none itself."""
    later = script.components[index + 1 : index + 2]
    return OPTIONS[name].is_inherited and any(name not in component.winner for component in later)


def _with_change(script: Script, index: int, change: Change) -> Script | None:
    """The script with one change: of several ways the first after which everything else reads as before, if any."""
    component = script.components[index]
    name = _name(change)
    places = [each for each in component.settings if each.option == name and each.source == "script"]
    kept = _kept_for_later(script, index, name)
    ways: list[list[_Edit]] = []
    if not change.recommended:
        ways.append(_without(script, places))
    elif places:
        ways.extend([_other_value(script, places[-1], change.recommended, is_plain)] for is_plain in (False, True))
    else:
        line = quoted(f"--{name}={change.recommended}")
        ways.extend([_added(script, component, line, is_first)] for is_first in (False, True))
    wanted = _wanted(script, index, change)
    results = (_own_reading(_edited(script.text, edits + kept), script) for edits in ways)
    return next((found for found in results if _reads_as(found, script, wanted, name)), None)


def _reads_as(found: Script, before: Script, wanted: list[dict[str, str]], name: str) -> bool:
    """Whether the options are the wanted ones; another of the same group follows the changed one."""
    is_read = _unread(found) <= _unread(before)
    options = [dict(component.options) for component in found.components]
    for other in set(GROUP_OF.get(name, ())) - {name}:
        for each in (*options, *wanted):
            each.pop(other, None)
    return is_read and options == wanted


def _unread(script: Script) -> int:
    """How many words sbatch cannot read."""
    return sum(refusal.code in UNREAD for refusal in script.refusals)


def _wanted(script: Script, index: int, change: Change) -> list[dict[str, str]]:
    """The options of all components as they should be afterwards."""
    name, options = _name(change), [dict(component.options) for component in script.components]
    if not change.recommended:
        options[index].pop(name, None)
    else:
        options[index][name] = normal(name, change.recommended, script.version)
    return options


def _kept_for_later(script: Script, index: int, name: str) -> list[_Edit]:
    """The line that keeps an inherited value in the next component, where this one's changes."""
    if index + 1 >= len(script.components) or not OPTIONS[name].is_inherited:
        return []
    later = script.components[index + 1]
    if name not in later.options or any(each.option == name for each in later.settings) or not later.lines:
        return []
    line = f"--{name}" if OPTIONS[name].argument == "none" else quoted(f"--{name}={later.options[name]}")
    return [_added(script, later, line, False)]


def _added(script: Script, component: Component, words: str, is_first: bool) -> _Edit:
    """A new directive behind the last one of the component, or behind its first line."""
    text = script.text
    lines = component.lines
    if not lines or (is_first and not component.index):
        end = text.find("\n")
        after = Line(1, 0, len(text) if end < 0 else end)
    else:
        after = lines[0 if is_first else -1]
    ending = "\r\n" if text[after.start : after.end].endswith("\r") else "\n"
    if after.end >= len(text):
        return _Edit(after.end, after.end, f"{ending}#SBATCH {words}")
    return _Edit(after.end + 1, after.end + 1, f"#SBATCH {words}{ending}")


def _other_value(script: Script, setting: Setting, value: str, is_plain: bool) -> _Edit:
    """Another value in the place of a setting: spelling and quotes stay, unless `is_plain` writes the word anew."""
    word = setting.value_word or setting.word
    if word is None:
        return _Edit(0, 0, "")
    if setting.value_word is None:
        return _Edit(word.end, word.end, value if setting.letter_at else f"={value}")
    before = word.text[: setting.value_at]
    if not is_plain:
        raw = script.text[word.start : word.end]
        old = word.text[setting.value_at :]
        at = raw.find(old, setting.value_at) if old else -1
        new = raw[:at] + value + raw[at + len(old) :] if at >= 0 else raw + value
        words, _ = words_of(new, 0, len(new), 1, script.version)
        if [each.text for each in words] == [before + value]:
            return _Edit(word.start, word.end, new)
    return _Edit(word.start, word.end, quoted(before + value))


def _without(script: Script, settings: Iterable[Setting]) -> list[_Edit]:
    """The edits that leave settings out; a line without anything else goes as a whole."""
    kept: dict[Word, set[int]] = {}
    for setting in settings:
        for word, letters in _letters(setting):
            kept[word] = kept.get(word, set(range(len(word.text)))) - letters
    whole = [word for word, places in kept.items() if not _is_something(word, places)]
    return [
        _left_out(script.text, word, whole)
        if word in whole
        else _Edit(word.start, word.end, quoted("".join(word.text[place] for place in sorted(places))))
        for word, places in kept.items()
    ]


def _letters(setting: Setting) -> list[tuple[Word, set[int]]]:
    """The words of a setting, and which of their letters belong to it."""
    word, value = setting.word, setting.value_word
    found = []
    if word is not None:
        own = {setting.letter_at} if setting.letter_at else set(range(len(word.text)))
        found.append((word, own))
    if value is not None:
        found.append((value, set(range(setting.value_at, len(value.text)))))
    return found


def _is_something(word: Word, places: set[int]) -> bool:
    """Whether an option remains of a word; a dash alone is none."""
    return "".join(word.text[place] for place in sorted(places)) not in ("", "-")


def _left_out(text: str, word: Word, gone: Sequence[Word]) -> _Edit:
    """The edit without one word and the blanks before it, or without its line where nothing else stands there."""
    start = text.rfind("\n", 0, word.start) + 1
    end = text.find("\n", word.end)
    end = len(text) if end < 0 else end + 1
    line = text[start:end]
    for each in sorted((each for each in gone if start <= each.start < end), reverse=True, key=attrgetter("start")):
        line = line[: each.start - start] + line[each.end - start :]
    if line.strip(BLANKS) in MAGIC:
        return _Edit(start, end, "")
    first = word.start
    while first > start and text[first - 1] in BLANKS:
        first -= 1
    return _Edit(first, word.end, "")


def _edited(text: str, edits: Iterable[_Edit]) -> str:
    for edit in sorted(set(edits), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
