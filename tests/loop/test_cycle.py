import numpy as np
import pytest

from onbeat.loop import RECORD_DTYPE, Flag
from onbeat.loop.cycle import as_records


def test_record_is_one_cache_line() -> None:
    assert RECORD_DTYPE.itemsize == 64


def test_rows_become_records_without_a_copy() -> None:
    rows = np.arange(16, dtype=np.int64).reshape(2, 8)
    records = as_records(rows)
    assert records["deadline_ns"].tolist() == [0, 8]
    assert records["flags"].tolist() == [7, 15]
    assert np.shares_memory(rows, records)


def test_no_rows_are_no_records() -> None:
    assert len(as_records(np.empty((0, 8), dtype=np.int64))) == 0


def test_flags_are_read_from_records() -> None:
    value = as_records(np.full((1, 8), 260, dtype=np.int64))["flags"][0]
    assert Flag(value) == Flag.HELD | Flag.STALE_PLAN


def test_what_is_not_a_number_is_not_a_flag() -> None:
    with pytest.raises(ValueError, match="not a valid Flag"):
        Flag("late")  # type: ignore[arg-type]
