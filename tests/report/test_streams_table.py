from dataclasses import replace

from onbeat.report.streams_table import clock_sentences, stream_data, stream_table
from tests.report.made_check import EVIL, facts


def test_a_stream_is_one_row() -> None:
    header, (row,) = stream_table([facts()])
    assert dict(zip(header, row, strict=True)) == {
        "stream": "imu",
        "type": "Imu",
        "rows": "6001",
        "rate": "100 Hz",
        "declared": "200 Hz",
        "longest gap": "13 ms",
        "log - stamp": "19676 days",
        "stamps": "to 10 ms",
    }


def test_counted_stamps_episodes_and_none_are_said() -> None:
    _, rows = stream_table([replace(facts(), counted=True, segments=3), replace(facts(), stamp=None), facts(EVIL * 9)])
    assert rows[0][-1] == "counted, to 10 ms, 3 segments"
    assert rows[1][-1] == "none"
    assert len(rows[2][0]) == 40
    assert "\x1b" not in rows[2][0]


def test_columns_without_a_word_are_left_out() -> None:
    bare = replace(facts(), declared_hz=None, log=None, log_minus_stamp_s=None)
    assert stream_table([bare])[0] == ["stream", "type", "rows", "rate", "longest gap", "stamps"]


def test_the_clocks_are_said_once_for_all_streams() -> None:
    assert clock_sentences([facts(), facts("camera")]) == [
        "stamps are no dates but count from a start: 1 s to 61 s",
        "log times are dates: 2023-11-14T22:13:20Z to 2023-11-14T22:14:20Z",
    ]
    mixed = [facts(), replace(facts("camera"), stamp=facts().log)]
    assert clock_sentences(mixed)[0] == "stamps are dates: 2023-11-14T22:13:20Z to 2023-11-14T22:14:20Z (camera)"


def test_data_is_in_seconds_and_whole_nanoseconds() -> None:
    data = stream_data(facts())
    assert data["stamp"] == {"first_ns": 10**9, "last_ns": 61 * 10**9, "dated": False, "step_ns": 10_000_000}
    assert (data["n"], data["rate_hz"], data["longest_gap_s"]) == (6001, 100.0, 0.013)
