"""The forms with which staff edit lessons; rejected values stay in the fields, with the reason beside them."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator, URLValidator
from django.utils.text import slugify

from analysis.findings import FindingCode
from education.lesson import (
    DEFAULT_LANGUAGE,
    EXPLANATION_CHARACTERS_MAX,
    HINT_CHARACTERS_MAX,
    LANGUAGES,
    LINKS_MAX,
    MICRO_CHARACTERS_MAX,
    PROGRAM,
    TITLE_CHARACTERS_MAX,
    URL_CHARACTERS_MAX,
    LessonContent,
    Link,
    names_of,
    names_text,
    situations_of,
    situations_text,
)
from education.recognition import NAMES_MAX, name_problem
from reports.wording import TITLES

SITUATIONS_CHARACTERS_MAX, NAMES_CHARACTERS_MAX = 8_000, 1_000
CODES = frozenset(code.value for code in FindingCode)
EMPTY_LINKS = 2
"""Empty rows offered after the existing links."""

is_web_address = URLValidator(schemes=["http", "https"], message="An address must begin with https:// or http://.")
has_no_markup = RegexValidator(
    r"[<>\"`\\]", "An address must not contain quotes, angle brackets or backslashes.", inverse_match=True
)


class Text(forms.CharField):
    """Text of several lines, counted as the browser counts it: a line break is one character."""

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n").replace("\r", "\n").strip()


class LessonForm(forms.Form):
    """A lesson without its links; `version` is the one the editor opened."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    title = forms.CharField(max_length=TITLE_CHARACTERS_MAX)
    micro = Text(
        label="Micro-lesson",
        max_length=MICRO_CHARACTERS_MAX,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Two or three sentences of plain text. Reports, mail and the job page show them.",
    )
    explanation = Text(
        required=False,
        max_length=EXPLANATION_CHARACTERS_MAX,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text="Markdown, shown on the Learn page. HTML is shown as plain text.",
    )
    hint = Text(
        label="ROCm and HIP hint",
        required=False,
        max_length=HINT_CHARACTERS_MAX,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Markdown; leave it empty if there is no special hint.",
    )
    is_active = forms.BooleanField(
        label="Publish this lesson",
        required=False,
        help_text="A hidden lesson is not included in new reports, on any page or in the API.",
    )

    def clean_micro(self) -> str:
        return " ".join(self.cleaned_data["micro"].split())


class ProgramForm(LessonForm):
    """A lesson about a program: also how its jobs are recognised, and what it adds for single findings."""

    names = Text(
        label="Words in the name of a job",
        max_length=NAMES_CHARACTERS_MAX,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=(
            "One in each line: a word (gmx), several side by side (amber md), or how a word begins (gromacs*). Capital"
            " letters do not matter, and digits may follow. A job whose name fits two programs gets no hint."
        ),
    )
    situations = Text(
        label="For single findings",
        required=False,
        max_length=SITUATIONS_CHARACTERS_MAX,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="One in each line: the code of a finding, a colon, and what to do. For example: idle_gpus: Start one "
        "rank for each GPU.",
    )

    def clean_names(self) -> str:
        names = names_of(self.cleaned_data["names"])
        problems = [problem for name in names if (problem := name_problem(name))]
        if len(names) > NAMES_MAX:
            problems.append(f"At most {NAMES_MAX} names.")
        if problems:
            raise ValidationError(problems)
        return names_text(names)

    def clean_situations(self) -> str:
        found = situations_of(self.cleaned_data["situations"])
        unknown = [each.code for each in found if each.code not in CODES]
        empty = [each.code for each in found if each.code in CODES and not each.text]
        twice = {each.code for each in found if [other.code for other in found].count(each.code) > 1}
        problems = [f"“{code}” is not the code of a finding." for code in unknown]
        problems += [f"“{code}” has no text." for code in empty]
        problems += [f"“{code}” is there twice." for code in sorted(twice & CODES)]
        if problems:
            raise ValidationError(problems)
        return situations_text(found)


class NewProgramForm(forms.Form):
    """The name of a program that is not in the list."""

    name = forms.CharField(label="Program", max_length=40, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def clean_name(self) -> str:
        name: str = " ".join(self.cleaned_data["name"].split())
        if not slugify(name):
            raise ValidationError("The name of a program has a letter or a digit.")
        return name

    @property
    def code(self) -> str:
        """Its code, from a valid name."""
        return f"{PROGRAM}{slugify(self.cleaned_data['name'])}"


def form_of(code: str) -> type[LessonForm]:
    """The form of a lesson with this code."""
    return ProgramForm if code.startswith(PROGRAM) else LessonForm


class LinkForm(forms.Form):
    """One link; a row without an address and a title is not a link, so emptying a row removes its link."""

    order = forms.IntegerField(required=False, min_value=1, max_value=99)
    title = forms.CharField(required=False, max_length=TITLE_CHARACTERS_MAX)
    url = forms.CharField(
        label="Address",
        required=False,
        max_length=URL_CHARACTERS_MAX,
        validators=[is_web_address, has_no_markup],
        widget=forms.TextInput(attrs={"inputmode": "url"}),
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        for name, other in (("title", "url"), ("url", "title")):
            if values.get(other) and not values.get(name) and name not in self.errors:
                self.add_error(name, f"This link has only {'an address' if other == 'url' else 'a title'}.")
        return values


class LinkForms(forms.BaseFormSet):
    """All links of a lesson, in the order of their numbers; rows without a number come last."""

    def clean(self) -> None:
        addresses = [link.url for link in self.links()]
        if len(addresses) != len(set(addresses)):
            raise ValidationError("Two links have the same address.")

    def links(self) -> tuple[Link, ...]:
        rows = [form.cleaned_data for form in self.forms if getattr(form, "cleaned_data", {}).get("url")]
        ordered = sorted(rows, key=lambda row: row.get("order") or 100)
        return tuple(Link(row.get("title", ""), row["url"]) for row in ordered)


# What the factory makes extends `formset`, which its type does not say.
LinkFormSet: type[LinkForms] = forms.formset_factory(  # type: ignore[assignment]
    LinkForm, formset=LinkForms, extra=EMPTY_LINKS, max_num=LINKS_MAX, absolute_max=LINKS_MAX, validate_max=True
)


class TranslationForm(forms.Form):
    """Which lesson to translate into which language."""

    code = forms.ChoiceField(label="Lesson", choices=[(code.value, TITLES[code]) for code in FindingCode])
    language = forms.ChoiceField(choices=[item for item in LANGUAGES.items() if item[0] != DEFAULT_LANGUAGE])


def filled_forms(content: LessonContent, version: int, code: str = "") -> tuple[LessonForm, LinkForms]:
    """The forms with the lesson's current content."""
    names = ("title", "micro", "explanation", "hint", "is_active")
    initial = {name: getattr(content, name) for name in names} | {"version": version}
    initial |= {"names": names_text(content.names), "situations": situations_text(content.situations)}
    links = [{"order": n, "title": link.title, "url": link.url} for n, link in enumerate(content.links, 1)]
    return form_of(code)(initial=initial), LinkFormSet(initial=links, prefix="links")


def sent_content(form: LessonForm, links: LinkForms) -> LessonContent:
    """What an editor sent, as far as it is valid."""
    values = form.cleaned_data
    texts = {name: values.get(name, "") for name in ("title", "micro", "explanation", "hint")}
    return LessonContent(
        **texts,
        links=links.links(),
        is_active=values.get("is_active", False),
        names=names_of(values.get("names", "")),
        situations=situations_of(values.get("situations", "")),
    )
