"""MLflow's filters and orders: what each means, and what is refused with the place where it was not understood."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.mlflow.answers import Code, Refused
from portal.mlflow.grammar import EXPERIMENTS, RUNS, Clause, Kind, Name, Order, parsed_filter, parsed_orders
from portal.mlflow.matching import like, sorted_by, test_of
from tests.processes import patience

METRIC, PARAM, TAG, ATTRIBUTE = Kind.METRIC, Kind.PARAM, Kind.TAG, Kind.ATTRIBUTE
test_of.__test__ = False  # a function of the product, no test


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("metrics.loss < 0.5", Clause(Name(METRIC, "loss"), "<", 0.5)),
        ("metric.loss<=-1e-3", Clause(Name(METRIC, "loss"), "<=", -0.001)),
        ("metrics.`val loss` != .5", Clause(Name(METRIC, "val loss"), "!=", 0.5)),
        ('metrics."val/loss" <> 5.', Clause(Name(METRIC, "val/loss"), "!=", 5.0)),
        ("`metrics`.a.b-c = +1", Clause(Name(METRIC, "a.b-c"), "=", 1.0)),
        ("params.net = 'vit'", Clause(Name(PARAM, "net"), "=", "vit")),
        ('parameter.net = "it\'s"', Clause(Name(PARAM, "net"), "=", "it's")),
        ("param.net = 'it''s AND more'", Clause(Name(PARAM, "net"), "=", "it's AND more")),
        ("params.net in ('a', \"b\")", Clause(Name(PARAM, "net"), "IN", ("a", "b"))),
        ("params.net IS  NULL", Clause(Name(PARAM, "net"), "IS NULL")),
        ("tags.mlflow.user ILike '%LI_E'", Clause(Name(TAG, "mlflow.user"), "ILIKE", "%LI_E")),
        ("tag.`mlflow.source.name` is not null;", Clause(Name(TAG, "mlflow.source.name"), "IS NOT NULL")),
        ("status = 'RUNNING'", Clause(Name(ATTRIBUTE, "status"), "=", "RUNNING")),
        ("attributes.status NOT  IN ('FAILED',)", Clause(Name(ATTRIBUTE, "status"), "NOT IN", ("FAILED",))),
        ("attr.start_time >= 1795177800000", Clause(Name(ATTRIBUTE, "start_time"), ">=", 1795177800000.0)),
        ("run.created > 1", Clause(Name(ATTRIBUTE, "start_time"), ">", 1.0)),
        ("`Run name` LIKE 'a%'", Clause(Name(ATTRIBUTE, "run_name"), "LIKE", "a%")),
    ],
)
def test_a_comparison_is_read(text: str, clause: Clause) -> None:
    assert parsed_filter(text, RUNS) == [clause]


def test_comparisons_are_joined_by_and() -> None:
    found = parsed_filter("metrics.a > 1 AND params.b = 'x' and  tags.c != 'y'", RUNS)
    assert [clause.name.key for clause in found] == ["a", "b", "c"]
    assert parsed_filter("", RUNS) == parsed_filter(None, RUNS) == parsed_filter("  ", RUNS) == []


@pytest.mark.parametrize(
    "text",
    [
        "metrics.loss",
        "metrics.loss <",
        "metrics.loss < 'a'",
        "metrics.loss < 1 OR metrics.loss > 2",
        "metrics.loss < 1 AND",
        "metrics.loss < 1 metrics.loss > 2",
        "metrics.loss LIKE 'a'",
        "metrics.loss < 1abc",
        "params.net = vit",
        "params.net = 'vit",
        "params.net > 'a'",
        "params.net IN ()",
        "params.net IN ('a' 'b')",
        "params.net IN 'a'",
        "(params.net = 'a')",
        "status IS NULL",
        "attributes.color = 'red'",
        "dataset.name = 'a'",
        "start_time = 'today'",
        "= 1",
        "'",
        "x" * 5001,
        " AND ".join(["metrics.a > 1"] * 51),
    ],
)
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        parsed_filter(text, RUNS)
    assert refused.value.code is Code.INVALID_PARAMETER_VALUE


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("metrics.loss", Order(Name(METRIC, "loss"))),
        ("metrics.`val loss` desc", Order(Name(METRIC, "val loss"), is_ascending=False)),
        ("attributes.start_time ASC", Order(Name(ATTRIBUTE, "start_time"))),
        ('params."net" DESC', Order(Name(PARAM, "net"), is_ascending=False)),
    ],
)
def test_an_order_is_read(text: str, order: Order) -> None:
    assert parsed_orders([text], RUNS) == [order]


@pytest.mark.parametrize("texts", [["metrics.loss UP"], [""], ["metrics.loss DESC, start_time"], ["start_time"] * 21])
def test_what_is_no_order_is_refused(texts: list[str]) -> None:
    with pytest.raises(Refused):
        parsed_orders(texts, RUNS)


def test_only_attributes_and_tags_of_experiments_are_searched() -> None:
    assert parsed_filter("experiment_id = '7' AND tags.a = 'b'", EXPERIMENTS)
    with pytest.raises(Refused, match="params"):
        parsed_filter("params.a = 'b'", EXPERIMENTS)


@given(st.text(max_size=60) | st.text(alphabet="metrics.params tags'\"`()<>=,AND1e-", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parsed_filter(text, RUNS)
        parsed_orders([text], RUNS)
    except Refused as error:
        str(error).encode()


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("vit", ["vit"], ["vit2", "avit", "ViT", ""]),
        ("vit%", ["vit", "vit-b"], ["avit"]),
        ("%vit", ["vit", "a vit"], ["vit2"]),
        ("%a%b%", ["ab", "xaxbx", "a\nb"], ["ba", "a"]),
        ("a_c", ["abc", "a\nc"], ["ac", "abbc"]),
        ("a%a", ["aa", "aba"], ["a"]),
        ("%", ["", "x"], []),
        ("", [""], ["x"]),
        ("%_b", ["ab", "xab"], ["b"]),
        (".*", [".*"], ["ab"]),
    ],
)
def test_a_pattern_of_sql_fits_as_in_sql(pattern: str, fitting: list[str], others: list[str]) -> None:
    fits = like(pattern)
    assert [text for text in (*fitting, *others) if fits(text)] == fitting


def test_no_pattern_takes_long() -> None:
    """As a regular expression this one would try more ways than there are seconds."""
    began = time.monotonic()
    assert not like("%a" * 1000 + "%b")("a" * 8000)
    assert time.monotonic() - began < patience(5)


def test_the_comparisons_of_values() -> None:
    name, signs = Name(METRIC, "a"), ("=", "!=", "<", "<=", ">", ">=")
    tests = {sign: test_of(Clause(name, sign, 1.0)) for sign in signs}
    found = {sign: [value for value in (1.0, 2.0, None) if fits(value)] for sign, fits in tests.items()}
    assert found == {"=": [1.0], "!=": [2.0], "<": [], "<=": [1.0], ">": [2.0], ">=": [1.0, 2.0]}
    assert test_of(Clause(name, "NOT IN", ("a",)))("b")
    assert not test_of(Clause(name, "NOT IN", ("a",)))(None)
    assert test_of(Clause(name, "ILIKE", "A%"))("abc")


def test_what_has_no_value_comes_last_in_both_directions() -> None:
    values = {"a": 2.0, "b": None, "c": float("nan"), "d": 1.0, "e": 2.0}
    order = Name(METRIC, "loss")
    up = sorted_by(list(values), [Order(order)], lambda each, _: values[each])
    down = sorted_by(list(values), [Order(order, is_ascending=False)], lambda each, _: values[each])
    assert (up, down) == (["d", "a", "e", "c", "b"], ["a", "e", "d", "c", "b"])
