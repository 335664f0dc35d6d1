from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onbeat.capture import Stamp
from onbeat.health.clocks import judge_clocks
from onbeat.health.examine import examine
from onbeat.health.subtracted import changed_latency, subtracted
from onbeat.read.open import open_streams
from onbeat.record import Recorder
from tests.health.made import evidence, findings, line

MS = 1_000_000
FRAME_NS = 33_333_333


@dataclass(frozen=True)
class Frame:
    """An image, of which the stamp alone is recorded."""

    stamp: Stamp
    value: Any = field(default_factory=lambda: np.zeros((2, 2), np.uint8))


def camera(path: Path, latencies_ms: tuple[float, ...], each: int = 300, lost: slice = slice(0)) -> Path:
    """What onbeat records of a camera whose receive_latency is another one after every some frames."""
    rng = np.random.default_rng(4)
    with Recorder(path, "monotonic", threaded=False) as recorder:
        for k in np.delete(np.arange(each * len(latencies_ms)), lost).tolist():
            receive_ns = 10**12 + k * FRAME_NS + int(rng.integers(2 * MS))
            latency_ns = int(latencies_ms[k // each] * MS)
            stamp = Stamp(receive_ns - latency_ns, receive_ns, 0, 8 * MS, k, "monotonic", corrected=True)
            recorder.add_reading("camera", Frame(stamp))
    return path


def test_latency_that_was_changed_is_no_clock_that_was_set(tmp_path: Path) -> None:
    examined = examine(open_streams(camera(tmp_path / "run.mcap", (0.0, 194.0, 77.8))))
    assert findings(examined.verdicts) == []
    (note,) = [one for one in examined.verdicts if one.fault == "step"]
    assert note.level == "note"
    assert "0 ms, 194 ms from 10.0 s on, 77.8 ms from 20.0 s on; no clock was set" in note.sentence
    assert note.figures["largest change"].value == pytest.approx(0.194)


def test_latency_that_stays_is_not_spoken_of(tmp_path: Path) -> None:
    examined = examine(open_streams(camera(tmp_path / "run.mcap", (77.8,))))
    assert [one.fault for one in examined.verdicts] == []


def test_stamps_of_a_clock_of_its_own_are_judged_as_one() -> None:
    rng = np.random.default_rng(1)
    log = 10**12 + np.arange(1200) * FRAME_NS
    stamp = log - 5 * MS - rng.integers(MS, size=1200) - np.where(np.arange(1200) > 600, 50 * MS, 0)
    made = line("camera", stamp_ns=stamp, log_ns=log)
    assert subtracted(made, 10**12) is None
    alone = evidence(made)
    own = replace(alone, recording=replace(alone.recording, onbeat=True))
    assert findings(judge_clocks(own)) == ["step"]


def test_recordings_of_others_are_judged_though_their_delay_is_one_number() -> None:
    log = 10**12 + np.arange(1200) * FRAME_NS
    made = line("camera", stamp_ns=log - 5 * MS - np.where(np.arange(1200) > 600, 50 * MS, 0), log_ns=log)
    assert findings(judge_clocks(evidence(made))) == ["step"]


def test_streams_that_changed_together_are_said_once() -> None:
    note = changed_latency({"arm": [(0.0, 0), (2.0, 3 * MS)], "camera": [(0.0, 0), (2.0, 80 * MS)], "still": [(0.0, MS)]})
    assert note is not None
    assert note.streams == ("camera", "arm")
    assert "the receive_latency of camera (and of 1 more)" in note.sentence


def test_many_changes_are_counted() -> None:
    note = changed_latency({"arm": [(float(k), k * MS) for k in range(9)]})
    assert note is not None
    assert "4 ms from 4.0 s on and 4 more; no clock was set" in note.sentence


def test_no_stream_is_no_note() -> None:
    assert changed_latency({}) is None
    assert subtracted(line("camera", log_ns=np.arange(5)), 0) is None


def test_what_else_is_wrong_is_found_beside_it(tmp_path: Path) -> None:
    path = camera(tmp_path / "run.mcap", (0.0, 194.0), lost=slice(400, 430))
    assert findings(examine(open_streams(path)).verdicts) == ["gap"]
