from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from onbeat.device import ModuleConfig
from onbeat.device.config import Provenance
from onbeat.health.check import Evidence, Verdict
from onbeat.health.own import OWN, judge_recording
from onbeat.loop import RECORD_DTYPE, Flag
from onbeat.motion import Outcome, Waypoint
from onbeat.read.streams import Batch, StreamRecording
from onbeat.record import Recorder, read_recording

MS = 1_000_000


def no_rows() -> Iterator[Batch]:
    return iter(())


def chunk(ready_ns: int, kinds: str, by_ms: int) -> list[Outcome]:
    names = {"k": "kept", "d": "dropped", "l": "late", "s": "stretched"}
    return [
        Outcome(
            Waypoint(ready_ns + k * 100 * MS, np.zeros(2)), names[c], 0 if c == "k" else by_ms * MS, ready_ns + (k - 1) * 100 * MS
        )
        for k, c in enumerate(kinds)
    ]


def said_of(tmp_path: Path, chunks: Sequence[tuple[str, int]]) -> list[Verdict]:
    with Recorder(tmp_path / "run.mcap", "manual", threaded=False) as recorder:
        for n, (kinds, by_ms) in enumerate(chunks):
            recorder.add_outcomes("arm", chunk(n * 500 * MS, kinds, by_ms), n * 500 * MS)
    return list(judge_recording(read_recording(tmp_path / "run.mcap")))


def cycles(**changed: tuple[int, int]) -> np.ndarray:
    """A thousand sends at 250 Hz; of one of them a field is changed."""
    table = np.zeros(1000, RECORD_DTYPE)
    for name in ("deadline_ns", "wake_ns", "sent_ns", "done_ns", "t_eff_ns"):
        table[name] = np.arange(1000) * 4 * MS
    table["wake_ns"] += 20_000
    for name, (row, value) in changed.items():
        table[name][row] = value
    return table


def loop_said(tmp_path: Path, table: np.ndarray) -> list[Verdict]:
    with Recorder(tmp_path / "run.mcap", "manual", threaded=False) as recorder:
        recorder.add_cycles("arm", table)
    return list(judge_recording(read_recording(tmp_path / "run.mcap")))


def test_waypoints_in_time_are_not_spoken_of(tmp_path: Path) -> None:
    assert said_of(tmp_path, [("kkkkkkkk", 0)] * 20) == []


def test_first_rows_that_are_past_are_a_note(tmp_path: Path) -> None:
    (note,) = said_of(tmp_path, [("ddkkkkkk", 130)] * 20)
    assert note.level == "note"
    assert note.figures["past rows"].value == pytest.approx(0.25)
    assert "100 % of the chunks" in note.sentence


def test_chunk_that_is_past_as_a_whole_is_a_finding(tmp_path: Path) -> None:
    (found,) = said_of(tmp_path, [("ddkkkkkk", 130)] * 19 + [("dddddddd", 900)])
    assert (found.level, found.fault, found.streams) == ("finding", "late_waypoints", ("arm",))
    assert "1 of 20 chunks" in found.sentence
    assert found.figures["worst"].value == pytest.approx(0.9)
    assert found.plot is not None


@pytest.mark.parametrize(("kinds", "words"), [("kklkkkkk", "sent late"), ("kkskkkkk", "max_speed"), ("dddddkkk", "usual chunk")])
def test_rows_that_do_not_fit_the_robot_are_a_finding(tmp_path: Path, kinds: str, words: str) -> None:
    (found,) = said_of(tmp_path, [(kinds, 40)] * 20)
    assert found.level == "finding"
    assert words in found.sentence


def test_loop_on_its_beat_is_not_spoken_of(tmp_path: Path) -> None:
    assert loop_said(tmp_path, cycles()) == []


def test_missed_deadlines_are_counted_with_the_worst(tmp_path: Path) -> None:
    table = cycles(skipped=(500, 3), flags=(500, int(Flag.SKIPPED | Flag.NO_FIFO)))
    (found,) = loop_said(tmp_path, table)
    assert (found.level, found.fault) == ("finding", "deadline_misses")
    assert "3 of 1003 deadlines missed at 250 Hz, the worst 12.0 ms" in found.sentence
    assert "without real-time priority" in found.sentence
    assert found.plot is not None
    assert found.plot.marks[0].x == pytest.approx(2.0)


def test_late_send_and_a_device_that_does_not_take_are_named(tmp_path: Path) -> None:
    table = cycles(wake_ns=(10, 40 * MS + 3 * MS), flags=(10, int(Flag.LATE | Flag.WOULD_BLOCK)))
    (found,) = loop_said(tmp_path, table)
    assert "1 send more than half a period late, 1 target that the device did not take" in found.sentence
    assert found.figures["worst"].value == pytest.approx(3e-3)


def test_figures_that_nobody_measured_are_a_note(tmp_path: Path) -> None:
    config = ModuleConfig(
        "arm",
        "a:B",
        250.0,
        action_latency=0.1,
        receive_latency=0.003,
        provenance={"action_latency": Provenance("copied", 0.1), "receive_latency": Provenance("measured", 0.003, 1e-4, 90)},
    )
    with Recorder(tmp_path / "run.mcap", "manual", threaded=False) as recorder:
        recorder.add_config(config, 0)
    (note,) = judge_recording(read_recording(tmp_path / "run.mcap"))
    assert note.level == "note"
    assert "action_latency (copied)" in note.sentence
    assert "receive_latency" not in note.sentence


def test_recording_of_another_program_is_left_alone_and_a_broken_one_is_unjudged(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(b"nothing of the kind")
    assert list(OWN.judge(Evidence(StreamRecording(path, "CSV", no_rows), {}))) == []
    (said,) = OWN.judge(Evidence(StreamRecording(path, "MCAP", no_rows, onbeat=True), {}))
    assert said.level == "unjudged"
    assert "not an MCAP file" in said.sentence
    (said,) = OWN.judge(Evidence(StreamRecording(tmp_path / "none", "MCAP", no_rows, onbeat=True), {}))
    assert said.level == "unjudged"


def test_recording_that_ends_early_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    said_of(tmp_path, [("dddddddd", 900)] * 400)
    path = tmp_path / "run.mcap"
    path.write_bytes(path.read_bytes()[:-300])
    (found,) = OWN.judge(Evidence(StreamRecording(path, "MCAP", no_rows, onbeat=True), {}))
    assert found.level == "finding"
