"""Files of other sites: good rows are counted, bad ones rejected one by one, and nothing in them does harm."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest

from analysis.anonymous.bands import COLUMNS
from analysis.elsewhere.long_lines import LINE_BYTES_MAX
from analysis.elsewhere.reading import FileFormatError, Imported, Rejected, read
from tests.analysis.elsewhere.files import HEAD, asba, document, lines, rows, shared

PEOPLE = ("alice", "bob", "carol", "dave", "erin")
OTHERS = ("frank", "grace", "heidi", "ivan", "judy")


def program(job_name: str) -> str:
    return job_name.partition("_")[0]


def imported(*items: object) -> Imported:
    return read(BytesIO(lines(items)), b"of this test alone", program)


def stated(found: Imported, month: str, column: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for values, count in found.months[month].items():
        counts[values[COLUMNS.index(column)]] += count
    return counts


def test_rows_of_an_institutional_file_are_taken_as_they_are() -> None:
    found = imported(*shared(*rows(5), *rows(6, 5, efficiency_class="EFFICIENT", gpu_use_percent="85-100")))
    assert (found.form, found.rows, found.rejected) == ("institutional", 11, [])
    assert stated(found, "2026-10", "efficiency_class") == {"WASTED": 5, "EFFICIENT": 6}


def test_a_combination_of_fewer_than_five_rows_is_left_out() -> None:
    found = imported(*shared(*rows(5), *rows(4, 5, gpus="9-16")))
    assert (found.rows, found.withheld, stated(found, "2026-10", "gpus")) == (9, 4, {"5-8": 5})


def test_learning_documents_are_anonymised_and_their_names_are_gone() -> None:
    efficient = [document(name) for name in OTHERS]
    for each in efficient:
        each["judgement"]["efficiency_class"] = "EFFICIENT"
        each["performance_metrics"]["gpu"]["avg_util_percent"] = 90.0
    # Nobody but mallory has 64 GPUs: she is withheld, and the count of the withheld is rounded up to 5.
    mallory = document("mallory", hardware={"gpu_name": "H100", "gpus": 64, "is_exclusive": True})
    found = imported(*(document(name) for name in PEOPLE), *efficient, mallory)
    assert (found.form, found.rows, found.rejected_count, found.withheld) == ("learning", 11, 0, 5)
    assert stated(found, "2026-10", "program") == {"gromacs": 10}
    assert stated(found, "2026-10", "efficiency_class") == {"WASTED": 5, "EFFICIENT": 5}
    assert stated(found, "2026-10", "gpu") == {"H100": 10}
    text = repr(found)
    assert not any(name in text for name in (*PEOPLE, *OTHERS, "mallory", "project_of", "gromacs_md"))


def test_learning_documents_of_four_people_leave_nothing() -> None:
    found = imported(*(document(name) for name in PEOPLE[:4] for _ in range(50)))
    assert (found.rows, found.months, found.withheld) == (200, {"2026-10": {}}, 5)


def test_runs_of_two_months_are_two_groups() -> None:
    october = [document(name) for name in PEOPLE]
    november = [document(name, end_time="2026-11-01T00:30:00Z") for name in PEOPLE]
    found = imported(*october, *november)
    assert {month: sum(groups.values()) for month, groups in found.months.items()} == {"2026-10": 5, "2026-11": 5}


def test_documents_of_asba_are_read_as_lines_as_a_list_and_indented() -> None:
    made = [asba(name) for name in PEOPLE]
    for content in (lines(made), json.dumps(made).encode(), json.dumps(made, indent=2).encode()):
        found = read(BytesIO(content), b"of this test alone", program)
        assert (found.rows, found.rejected_count) == (5, 0)
        assert stated(found, "2026-10", "program") == {"lammps": 5}
        assert stated(found, "2026-10", "run_time_h") == {"1-4": 5}
        assert stated(found, "2026-10", "efficiency_class") == {"UNKNOWN": 5}
    alone = json.dumps(made[0], indent=2).encode()
    assert read(BytesIO(alone), b"of this test alone", program).rows == 1


def test_asba_documents_that_call_everybody_anonymous_are_of_one_person() -> None:
    made = [asba("anonymous") for _ in range(9)]
    assert imported(*made).months == {"2026-10": {}}


def test_each_bad_row_of_an_institutional_file_is_named_and_nothing_of_it_is_taken() -> None:
    good = rows(6)
    bad = (
        *({**good[5], "gpus": "8 of alice"}, {**good[5], "key": "0" * 15}, {**good[5], "finding": "<b>"}),
        *(b"{", b"[]", b"\xff\xfe", b'{"key": NaN}', good[0]),
    )
    with pytest.raises(FileFormatError, match="8 of 13 rows cannot be used: the file is damaged") as raised:
        imported(*shared(*good[:5], *bad))
    assert raised.value.rejected == [
        Rejected(7, "Invalid enum value - at `$.gpus`"),
        Rejected(8, "Expected `str` matching regex '^[0-9a-f]{16}(?![\\\\s\\\\S])' - at `$.key`"),
        Rejected(9, "Expected `str` matching regex '^[a-z0-9_]{1,40}(?![\\\\s\\\\S])' - at `$.finding`"),
        Rejected(10, "not valid JSON of an object"),
        Rejected(11, "Expected `object`, got `array`"),
        Rejected(12, "not valid JSON of an object"),
        Rejected(13, "not valid JSON of an object"),
        Rejected(14, "the key is that of an earlier row - at `$.key`"),
    ]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("execution_duration_s", 1e300),
        ("execution_duration_s", -1.0),
        ("node_count", 10**400),
        ("hardware", {"gpus": 2**80}),
        ("hardware", {"gpu_name": "H100\x1b[2J"}),
        ("hardware", {"gpu_name": "H" * 65}),
        ("end_time", "0001-01-01T00:00:00Z"),
        ("end_time", "yesterday"),
        ("state", "X" * 65),
    ],
)
def test_values_that_no_run_has_reject_their_document_alone(member: str, value: object) -> None:
    found = imported(*(document(name) for name in PEOPLE), document("mallory", **{member: value}))
    assert (found.rows, found.rejected_count, found.rejected[0].line) == (6, 1, 6)


def test_deep_nesting_and_infinite_numbers_reject_their_line_alone() -> None:
    deep = b'{"job_metadata":' + b'{"a":[' * 20_000 + b"]}" * 20_000 + b"}"
    infinite = json.dumps(document("mallory")).replace("7200.0", "1e999").encode()
    found = imported(*(document(name) for name in PEOPLE), deep, infinite)
    assert (found.rows, found.rejected_count) == (7, 2)


def test_a_line_of_any_length_costs_no_memory(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    with file.open("wb") as written:
        written.write(lines(map(document, PEOPLE)))
        for _ in range(200):
            written.write(b"x" * LINE_BYTES_MAX)  # 50 MB without a line break
        written.write(b"\n" + lines([document("mallory")]))
    tracemalloc.start()
    try:
        with file.open("rb") as opened:
            found = read(opened, b"of this test alone", program)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.rows, found.rejected) == (7, [Rejected(6, "the line is too long")])
    assert peak_bytes < 10 * LINE_BYTES_MAX


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (gzip.compress(lines(shared(*rows(5))), mtime=0), "compressed with gzip: unpack it first"),
        (b"hello", "No row can be used; line 1"),
        (b'{"schema": "kaiku-institutional/2", "month": "2026-10"}', "Line 1"),
        (lines([HEAD | {"month": "2026-13"}, *rows(5)]), "Line 1"),
        (lines([HEAD | {"month": "2026-10\n"}, *rows(5)]), "Line 1"),
        (lines([HEAD, {"key": "1"}]), "No row can be used; line 2"),
        (b'{"schema": "node-summary/1"}', "No row can be used; line 1"),
    ],
)
def test_a_file_of_which_nothing_can_be_used_is_an_error(content: bytes, said: str) -> None:
    with pytest.raises(FileFormatError, match=said):
        read(BytesIO(content), b"of this test alone", program)


def test_only_the_first_rejected_rows_are_kept() -> None:
    found = imported(*map(document, PEOPLE), *({"key": "x"} for _ in range(100)))
    assert (found.rows, found.rejected_count, len(found.rejected)) == (105, 100, 20)


def test_a_file_that_has_not_the_rows_that_it_states_is_not_whole() -> None:
    """Of 31 rows 17 are left, the last of them cut in the middle: 16 good ones and a rejected one were read."""
    whole = lines(shared(*rows(31)))
    cut = b"\n".join(whole.split(b"\n")[:18])[:-9]
    with pytest.raises(FileFormatError, match="states 31 rows, and 17 were found: the file is not whole") as raised:
        read(BytesIO(cut), b"of this test alone", program)
    assert [each.line for each in raised.value.rejected] == [18]
    with pytest.raises(FileFormatError, match="states 5 rows, and 6 were found"):
        imported(*shared(*rows(6), rows=5))
    assert read(BytesIO(whole), b"of this test alone", program).rows == 31


def test_a_list_without_its_end_was_cut_off() -> None:
    listed = b"[\n" + b",\n".join(json.dumps(document(name)).encode() for name in PEOPLE) + b"\n]\n"
    assert read(BytesIO(listed), b"of this test alone", program).rows == 5
    with pytest.raises(FileFormatError, match="cut off"):
        read(BytesIO(listed[:-3]), b"of this test alone", program)


def test_a_byte_order_mark_is_read_past() -> None:
    for content, count in (
        (lines(shared(*rows(5))), 5),
        (lines(map(document, PEOPLE)), 5),
        (json.dumps(asba("alice"), indent=2).encode(), 1),
    ):
        found = read(BytesIO(b"\xef\xbb\xbf" + content), b"of this test alone", program)
        assert (found.rows, found.rejected) == (count, [])
