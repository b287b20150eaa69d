"""What the address of an experiment's page asks for: which of its runs, in which order, and which columns; pure."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from jobs.experiments.limits import KEY_LENGTH_MAX, PARAM_LENGTH_MAX, TAG_LENGTH_MAX
from jobs.experiments.status import Status
from portal.asked_numbers import finite_number

COLUMNS_MAX = 12
"""Chosen parameters, and chosen metrics: more do not fit beside each other."""

SEARCH_LENGTH_MAX, PAGE_DIGITS_MAX = 200, 6
VALUES = {"last": "last value", "least": "least value", "most": "greatest value"}
SORTS = ("started", "name", "status", "duration", "seed")
SORT_FIRST = "-started"
OF_METRIC, OF_PARAM, OF_TAG = "metric:", "param:", "tag:"
SEED_LENGTH_MAX = 64


@dataclass(frozen=True)
class RunChoices:
    """The runs that are asked for, and how they are shown.

    `param` must be `equals`, `tag` must be `is_tag`; `metric` above and below bounds, by its `value` (last, least or
    most). `sort` has a minus for the other way round. `params`, `tags`, `metrics` and the seed are columns; None where
    nothing was chosen.
    """

    status: str = ""
    q: str = ""
    param: str = ""
    equals: str = ""
    tag: str = ""
    is_tag: str = ""
    seed: str = ""
    metric: str = ""
    above: float | None = None
    below: float | None = None
    value: str = "last"
    sort: str = SORT_FIRST
    params: tuple[str, ...] | None = None
    metrics: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    has_seed: bool | None = None
    page: int = 1

    @property
    def is_narrowed(self) -> bool:
        """Whether runs are left out."""
        return bool(self.status or self.q or self.param or self.tag or self.seed or self._has_bounds)

    @property
    def is_filtered(self) -> bool:
        """Whether anything stands in the form of the filters."""
        return self.is_narrowed or bool(self.metric) or self.value != "last"

    @property
    def sorted_by(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def is_backward(self) -> bool:
        return self.sort.startswith("-")

    @property
    def _has_bounds(self) -> bool:
        return bool(self.metric) and (self.above is not None or self.below is not None)

    def address(self, **changed: str | int) -> str:
        """The query of an address that asks for the same but what is changed; the first page unless that is changed.

        >>> RunChoices(status="FAILED", sort="name", page=3).address(), RunChoices(page=3).address(page=4)
        ('status=FAILED&sort=name', 'page=4')
        """
        bounds = {name: f"{bound!r}" for name in ("above", "below") if (bound := getattr(self, name)) is not None}
        texts = ("status", "q", "param", "equals", "tag", "is_tag", "seed", "metric")
        stated: dict[str, str] = {name: getattr(self, name) for name in texts}
        stated |= bounds | {"value": self.value, "sort": self.sort} | {name: f"{to}" for name, to in changed.items()}
        usual = {"value": "last", "sort": SORT_FIRST, "page": "1"}
        pairs = [(name, value) for name, value in stated.items() if value and value != usual.get(name)]
        if self.params is not None or self.metrics is not None:
            pairs += [("columns", "chosen")]
        pairs += [("show_seed", "on")] if self.has_seed else []
        pairs += [("show_param", name) for name in self.params or ()]
        pairs += [("show_tag", name) for name in self.tags or ()]
        return urlencode(pairs + [("show_metric", name) for name in self.metrics or ()])


def choices_in(query: QueryDict) -> RunChoices:
    """What an address asks for; what is not sensible in it is left out.

    >>> choices_in(QueryDict("status=LOST&above=nan&below=0.5&metric=loss&sort=-metric:loss&page=x"))
    RunChoices(status='LOST', q='', param='', equals='', tag='', is_tag='', seed='', metric='loss', above=None, \
below=0.5, value='last', sort='-metric:loss', params=None, metrics=None, tags=None, has_seed=None, page=1)
    """
    status, sort, value = query.get("status", ""), query.get("sort", ""), query.get("value", "")
    is_chosen = "columns" in query
    return RunChoices(
        status=status if status in set(Status) else "",
        q=_text(query, "q", SEARCH_LENGTH_MAX),
        param=_text(query, "param", KEY_LENGTH_MAX),
        equals=_text(query, "equals", PARAM_LENGTH_MAX),
        tag=_text(query, "tag", KEY_LENGTH_MAX),
        is_tag=_text(query, "is_tag", TAG_LENGTH_MAX),
        seed=_text(query, "seed", SEED_LENGTH_MAX),
        metric=_text(query, "metric", KEY_LENGTH_MAX),
        above=finite_number(query.get("above", "")),
        below=finite_number(query.get("below", "")),
        value=value if value in VALUES else "last",
        sort=sort if _is_sort(sort) else SORT_FIRST,
        params=_names(query, "show_param") if is_chosen else None,
        metrics=_names(query, "show_metric") if is_chosen else None,
        tags=_names(query, "show_tag") if is_chosen else None,
        has_seed="show_seed" in query if is_chosen else None,
        page=_page(query.get("page", "")),
    )


def _text(query: QueryDict, name: str, length: int) -> str:
    return query.get(name, "").strip()[:length]


def _names(query: QueryDict, name: str) -> tuple[str, ...]:
    written = (each[:KEY_LENGTH_MAX] for each in query.getlist(name)[: 4 * COLUMNS_MAX])
    return tuple(dict.fromkeys(each for each in written if each))[:COLUMNS_MAX]


def _page(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= PAGE_DIGITS_MAX
    return max(int(text), 1) if is_number else 1


def _is_sort(text: str) -> bool:
    name = text.removeprefix("-")
    is_named = name.startswith((OF_METRIC, OF_PARAM, OF_TAG)) and len(name) <= KEY_LENGTH_MAX + len(OF_METRIC)
    return name in SORTS or is_named
