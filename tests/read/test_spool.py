from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput, Damaged
from onbeat.read import Batch, Series, StreamInfo, StreamRecording, gather, row_dtype

INFO = StreamInfo("imu", "rotation", columns=("x", "y", "z"))
DTYPE = row_dtype(("stamp_ns", "seq"), 3)


def rows(first: int, last: int) -> np.ndarray:
    made = np.zeros(last - first, dtype=DTYPE)
    made["stamp_ns"] = np.arange(first, last) * 1000
    made["seq"] = np.arange(first, last)
    made["value"] = np.arange(first, last)[:, None]
    return made


@pytest.mark.parametrize("n", [10, 200_000])
def test_rows_come_back_as_they_were_also_from_disk(n: int) -> None:
    series = Series(INFO, DTYPE)
    for first in range(0, n, 999):
        series.append(rows(first, min(first + 999, n)))
    assert len(series) == n
    np.testing.assert_array_equal(series.rows(3, 7), rows(3, 7))
    np.testing.assert_array_equal(series.rows(-2), rows(n - 2, n))
    np.testing.assert_array_equal(np.concatenate(list(series.blocks(777))), rows(0, n))
    series.append(rows(0, 1))
    assert series.rows(n)["seq"].tolist() == [0]
    series.close()


def test_rows_of_another_type_are_refused() -> None:
    with pytest.raises(BadInput, match="changed its rows"):
        Series(INFO, DTYPE).append(np.zeros(1, dtype=row_dtype(("stamp_ns",))))


def recording(read_all: bool) -> StreamRecording:
    def read() -> Iterator[Batch]:
        if read_all:
            yield Batch(INFO, rows(0, 5))
            yield Batch(INFO, rows(5, 5))
            yield Batch(INFO, rows(5, 8))
        raise Damaged("x.mcap ends early at byte 17; 8 rows could be read")

    return StreamRecording(Path("x.mcap"), "MCAP", read)


def test_what_could_be_read_of_a_damaged_file_is_kept_and_the_damage_said() -> None:
    with gather(recording(True)) as gathered:
        assert gathered.damage == "x.mcap ends early at byte 17; 8 rows could be read"
        assert len(gathered.series["imu"]) == 8


def test_a_file_of_which_nothing_could_be_read_is_refused() -> None:
    with pytest.raises(Damaged, match="byte 17"):
        gather(recording(False))


def extreme(**changes: tuple[int, float]) -> StreamRecording:
    made = rows(0, 8)
    for name, (row, value) in changes.items():
        made[name][row] = value
    return StreamRecording(Path("x.npz"), "npz", lambda: iter([Batch(INFO, made)]))


@pytest.mark.parametrize("value", [1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63)])
def test_number_that_no_clock_reaches_costs_its_row(value: int) -> None:
    with gather(extreme(stamp_ns=(3, value), seq=(5, value))) as gathered:
        assert gathered.series["imu"].rows()["seq"].tolist() == [0, 1, 2, 4, 6, 7]
        said = "x.npz: stream 'imu' has stamp_ns beyond 2^62 in 1 row(s), which were left out, and so do 1 more streams or fields"
        assert gathered.damage.startswith(said)


def test_value_that_no_sensor_gives_is_missing() -> None:
    with gather(extreme(value=(3, 1.7e308))) as gathered:
        assert np.isnan(gathered.series["imu"].rows()["value"][3]).all()
        assert "value(s) beyond 1e+100, which no sensor gives" in gathered.damage
    with gather(extreme(value=(3, np.inf))) as gathered:
        assert np.isnan(gathered.series["imu"].rows()["value"][3]).all()
        assert gathered.damage == ""


def test_recording_of_such_numbers_alone_is_refused() -> None:
    only = np.zeros(2, DTYPE)
    only["stamp_ns"] = -(1 << 63)
    with pytest.raises(Damaged, match="in 2 row"):
        gather(StreamRecording(Path("x.npz"), "npz", lambda: iter([Batch(INFO, only)])))
