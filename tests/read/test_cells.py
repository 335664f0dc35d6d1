"""Cells of a block: where they stand, and what they hold, to the nanosecond and the last bit."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.errors import BadInput
from onbeat.read.cells import Cells, instants, numbers, split_cells, texts, wholes


def cells(text: str, columns: int, delimiter: str | None = ",") -> Cells:
    return split_cells(np.frombuffer(text.encode(), dtype=np.uint8), delimiter, columns)


def column(*words: str) -> Cells:
    return cells("".join(f"{word},\n" for word in words), 2)


def test_cells_are_found_without_blanks_and_quotes() -> None:
    found = cells(' a , "b,c" ,3\r\n\n# no row, at, all\nd,[1, 2],\n', 3)
    assert [[found.text(row, k) for k in range(3)] for row in range(2)] == [["a", "b,c", "3"], ["d", "[1, 2]", ""]]
    assert found.empty(2).tolist() == [False, True]
    assert found.line_count == 2


def test_blanks_separate_a_table_of_blanks() -> None:
    found = cells("  1 2\t 3 \n# 7 8 9\n4  5 6\r\n", 3, None)
    assert [[found.text(row, k) for k in range(3)] for row in range(2)] == [["1", "2", "3"], ["4", "5", "6"]]


def test_lines_with_another_number_of_cells_are_named() -> None:
    found = cells("1,2\n3\n4,5\n6,7,8\n", 2)
    assert found.lines.tolist() == [0, 2]
    assert found.odd_lines.tolist() == [1, 3]
    assert found.odd_counts.tolist() == [1, 3]
    assert found.odd_starts.tolist() == [4, 10]


def test_quote_that_never_ends_spoils_its_line_only() -> None:
    found = cells('1,2\n3,"4,5\n6,7\n', 2)
    assert [found.text(k, 1) for k in range(3)] == ["2", "4,5", "7"]


def test_line_without_an_end_is_refused() -> None:
    with pytest.raises(BadInput, match="newline"):
        cells("1,2", 2)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**17), 10**17).map(float), min_size=1))
def test_numbers_are_read_to_the_last_bit(values: list[float]) -> None:
    read, good = numbers(column(*map(repr, values)), 0)
    assert good.all()
    assert read.tolist() == values


@pytest.mark.parametrize("word", ["nan", "inf", "x", "1_0", "1.2.3", "-", ".", "+", "1e", "--1", "0x10", "1 2", "9" * 80])
def test_what_is_no_finite_number_is_said_to_be_none(word: str) -> None:
    values, good = numbers(column("1.5", word), 0)
    assert good.tolist() == [True, False]
    assert values[0] == 1.5
    assert not wholes(column(word), 0)[1].any()


@given(st.decimals(-9, 9, places=18).map(lambda d: d.scaleb(9)) | st.decimals(-4, 4, places=12).map(lambda d: d.scaleb(9)))
def test_instants_are_exact_and_ties_go_to_even(seconds: Decimal) -> None:
    t_ns, good = instants(column(f"{seconds:f}"), 0, 1_000_000_000)
    assert good.all()
    assert t_ns[0] == int((seconds * 1_000_000_000).to_integral_value())


@pytest.mark.parametrize(
    ("word", "scale", "t_ns"),
    [
        ("1520530308189679351", 1, 1520530308189679351),
        ("1.40363657975856E+018", 1, 1403636579758560000),
        ("1305031098.6659", 10**9, 1305031098665900000),
        ("0.30000000000000004", 10**9, 300_000_000),
        ("-0.5", 1000, -500),
        ("2.5", 1, 2),
        ("3.5", 1, 4),
        ("2026-05-01T12:00:00.123456789Z", 0, 1777636800123456789),
        ("2026-05-01 12:00:00", 0, 1777636800000000000),
        ("2026-05-01 14:00:00.5+02:00", 0, 1777636800500000000),
    ],
)
def test_instants_of_real_files(word: str, scale: int, t_ns: int) -> None:
    read, good = instants(column(word), 0, scale)
    assert good.tolist() == [True]
    assert read.tolist() == [t_ns]


@pytest.mark.parametrize(
    ("word", "scale"), [("9" * 19, 1), ("99999999999", 10**9), ("nan", 1), ("soon", 0), ("2026", 0), ("2026-13-01", 0)]
)
def test_instant_that_is_none_or_does_not_fit_is_not_invented(word: str, scale: int) -> None:
    assert not instants(column(word), 0, scale)[1].any()


def test_whole_numbers() -> None:
    values, good = wholes(column("7", "7.0", "7.5", "-3", ""), 0)
    assert good.tolist() == [True, True, False, True, False]
    assert values[[0, 1, 3]].tolist() == [7, 7, -3]


def test_texts() -> None:
    assert texts(column("imu", "", "caméra"), 0).tolist() == ["imu", "", "caméra"]
