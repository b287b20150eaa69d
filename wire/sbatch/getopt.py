"""Words to options, as getopt_long of the GNU C library does for sbatch: prefixes, clusters, glued and next values."""

from __future__ import annotations

from wire.sbatch.script import Script, Setting
from wire.sbatch.table import BY_LETTER, EARLY, OPTIONS, SAME, Option, candidates
from wire.sbatch.value_forms import is_taken
from wire.sbatch.values import ODD_TIME, ValueRefused, normal
from wire.sbatch.words import Word

LETTERS_MAX = 4096
"""Of a longer word only so many letters are read as options."""


class Reader:
    """Reads the words of one source for the component `index`; `rest` are the words that are no options."""

    def __init__(self, script: Script, source: str, words: list[Word], index: int) -> None:
        self.script = script
        self.index = index
        self.source = source
        self.words = words
        self.settings: list[Setting] = []
        self.rest: list[Word] = []
        self.at = 0
        self._read()

    def _read(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word.text == "--":
                self.rest.extend(self.words[self.at :])
                return
            if word.text.startswith("--"):
                self._read_long(word)
            elif word.text.startswith("-") and len(word.text) > 1:
                self._read_letters(word)
            else:
                self.rest.append(word)
                if self.source == "arguments":
                    return

    def _read_long(self, word: Word) -> None:
        name, equals, _ = word.text[2:].partition("=")
        found = candidates(name, self.script.version)
        shown = f"--{name}"
        if len(found) > 1:
            possible = ", ".join(f"--{each}" for each in found[:6])
            return self._refuse("ambiguous", word, f"{shown} may mean {possible}.")
        if not found:
            return self._refuse("unknown", word, _unknown(shown, name, self.script.version))
        option = OPTIONS[found[0]]
        if option.argument == "none" and equals:
            return self._refuse("no_argument", word, f"--{option.name} allows no value.")
        if option.argument == "required" and not equals:
            return self._take_next(option, word, 0, shown)
        if equals:
            return self._set(option, word, 0, word, len(name) + 3)
        return self._set(option, word, 0, None, 0)

    def _read_letters(self, word: Word) -> None:
        for at in range(1, min(len(word.text), LETTERS_MAX)):
            option = BY_LETTER.get(word.text[at])
            shown = f"-{word.text[at]}"
            if option is None:
                return self._refuse("unknown", word, f"{shown} is no option of sbatch.")
            is_last = at + 1 == len(word.text)
            if option.argument == "required" and is_last:
                return self._take_next(option, word, at, shown)
            if option.argument != "none" and not is_last:
                return self._set(option, word, at, word, at + 1)
            self._set(option, word, at, None, 0)
        return None

    def _take_next(self, option: Option, word: Word, letter_at: int, shown: str) -> None:
        if self.at >= len(self.words):
            return self._refuse("missing_value", word, f"{shown} needs a value.")
        value = self.words[self.at]
        self.at += 1
        return self._set(option, word, letter_at, value, 0)

    def _set(self, option: Option, word: Word, letter_at: int, value_word: Word | None, value_at: int) -> None:
        line = word.line
        if option.name in EARLY:
            if self.source == "script":
                shown = f"--{option.name}"
                self.script.warn("ignored", line, f"Line {line}: Slurm ignores {shown} in a script.")
            return
        name = SAME.get(option.name, option.name)
        text = value_word.text[value_at:] if value_word else None
        value = set_value(self.script, name, text, line, "", self.index)
        origin = f"-{word.text[letter_at]}" if letter_at else f"--{option.name}"
        setting = Setting(name, value, self.source, line, origin, word, letter_at, value_word, value_at)
        self.settings.append(setting)

    def _refuse(self, code: str, word: Word, sentence: str) -> None:
        where = f"Line {word.line}: " if word.line else ""
        shown = sentence if where else sentence[:1].upper() + sentence[1:]
        self.script.refuse(code, word.line, where + shown, self.index)


def set_value(script: Script, name: str, text: str | None, line: int, variable: str, index: int) -> str | None:
    """The normal form of a value in the component `index`; None, with a refusal, where sbatch refuses it."""
    where = f"Line {line}: " if line else ""
    shown = f"{variable or '--' + name}={(text or '')[:40]}"
    try:
        value = normal(name, text, script.version)
    except ValueRefused as refused:
        script.refuse("value", line, f"{where}{shown} {refused.reason}.", index)
        return None
    if is_taken(name, value) is None:
        script.warn("not_decided", line, f"{where}{shown} is not checked here: Slurm may refuse it.")
    if name in ("time", "time-min") and ODD_TIME.match(text or ""):
        script.warn("odd_time", line, f"{where}Slurm reads {shown} as {value}.")
    return value


def _unknown(shown: str, name: str, version: str) -> str:
    option = OPTIONS.get(name)
    if option is not None:
        return f"{shown} is no option of Slurm {version}; known to {', '.join(option.versions)}."
    return f"{shown[:60]} is no option of sbatch."
