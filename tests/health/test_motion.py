import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.health.check import Verdict
from onbeat.health.motion import MOTION
from onbeat.read.open import open_streams
from onbeat.read.streams import Frame, StreamInfo, row_dtype
from tests.health.motion_streams import START_NS, FloatArray, evidence, position, rate, recorded, stream, tones

Made = tuple[StreamInfo, NDArray[Any]]
MOTION_TONES = tones(np.random.default_rng(11), 3)


def gyro(late_s: float = 0.0, hz: float = 200.0, span_s: float = 60.0, name: str = "gyro") -> Made:
    t_s = np.arange(0, span_s, 1 / hz)
    noise = np.random.default_rng(round(hz)).normal(0, 0.01, (len(t_s), 3))
    return stream(name, "rotation", t_s, rate(MOTION_TONES, t_s) + 0.08 + noise, late_s)


def arm(late_s: float | FloatArray = 0.0, hz: float = 50.0, span_s: float = 60.0, name: str = "joints") -> Made:
    t_s = np.arange(0.002, span_s, 1 / hz)
    made = stream(name, "joints", t_s, position(MOTION_TONES, t_s))
    made[1]["stamp_ns"] += np.rint(np.broadcast_to(late_s, t_s.shape) * 1e9).astype(np.int64)
    return made


def judged(*streams: Made) -> list[Verdict]:
    gathered, seen = evidence(recorded(*streams))
    with gathered:
        return list(MOTION.judge(seen))


def test_two_streams_of_one_time_are_no_finding() -> None:
    (note,) = judged(gyro(), arm())
    assert note.level == "note"
    assert abs(note.figures["offset"].value) < 1e-3


@pytest.mark.parametrize("late_s", [0.11, -0.043])
def test_late_stream_is_named_with_its_lateness(late_s: float) -> None:
    (found,) = judged(gyro(), arm(late_s))
    assert (found.level, found.fault) == ("finding", "offset")
    # Of two streams the one with the later stamps is to be mended.
    assert found.streams == (("joints", "gyro") if late_s > 0 else ("gyro", "joints"))
    assert found.figures["offset"].value == pytest.approx(abs(late_s), abs=2e-3)
    assert f"{found.streams[0]} is " in found.sentence
    assert found.plot is not None
    assert [len(c.x) > 10 for c in found.plot.curves] == [True] * 3


def test_lateness_of_one_period_is_the_neighbours_stamp() -> None:
    (found,) = judged(gyro(), arm(0.02))
    assert found.fault == "one_period_late"
    assert "neighbour" in found.sentence


def test_of_three_streams_the_odd_one_is_named_also_when_it_is_the_reference() -> None:
    third = gyro(hz=90.0, name="other gyro")
    said = judged(gyro(), third, arm(-0.043))
    assert [v.streams[0] for v in said if v.level == "finding"] == ["joints"]
    (found,) = [v for v in said if v.level == "finding"]
    assert found.figures["offset"].value == pytest.approx(-0.043, abs=2e-3)
    assert abs(found.figures["closure"].value) < 2e-3
    said = judged(gyro(-0.06), third, arm())
    (found,) = [v for v in said if v.level == "finding"]
    assert found.streams[0] == "gyro"
    assert found.figures["offset"].value == pytest.approx(-0.06, abs=2e-3)


def test_offset_that_wanders_is_unjudged() -> None:
    t_s = np.arange(0.002, 60, 1 / 50)
    (said,) = judged(gyro(), arm(t_s * 1e-3))
    assert said.level == "unjudged"
    assert "no single number" in said.sentence


def test_unrelated_motions_are_unjudged_with_the_reason() -> None:
    t_s = np.arange(0, 60, 1 / 50)
    other = stream("base", "joints", t_s, position(tones(np.random.default_rng(77), 3), t_s))
    (said,) = judged(gyro(), other)
    assert said.level == "unjudged"
    assert "unrelated" in said.sentence


def test_stream_at_rest_and_stream_without_motion_are_not_spoken_of() -> None:
    t_s = np.arange(0, 60, 1 / 50)
    rest = stream("rest", "joints", t_s, np.zeros((len(t_s), 3)))
    assert judged(gyro(), rest, stream("temperature", "numbers", t_s, t_s[:, None])) == []
    assert judged(gyro()) == []


def filmed(late_s: float, count: int = 500) -> tuple[Made, list[Frame]]:
    """A camera on the arm: its picture shifts as two of the joints turn."""
    t_s = np.arange(0.01, 0.01 + count / 30, 1 / 30)[:count]
    shift = 40 * position(MOTION_TONES, t_s)
    pattern = np.random.default_rng(0).uniform(0, 255, (24, 32)).repeat(12, axis=0).repeat(12, axis=1)
    pattern = np.mean([np.roll(pattern, (i, j), (0, 1)) for i in range(-6, 7, 3) for j in range(-6, 7, 3)], axis=0)
    x, y = (np.rint(shift[:, k]).astype(int) for k in (0, 1))
    frames = [Frame(k, np.roll(pattern, (y[k], x[k]), (0, 1))[80:200, 100:260].astype(np.uint8)) for k in range(count)]
    rows = np.zeros(count, row_dtype(("stamp_ns", "log_ns")))
    rows["stamp_ns"] = START_NS + np.rint((t_s + late_s) * 1e9).astype(np.int64)
    rows["log_ns"] = rows["stamp_ns"] + 1_000_000
    return (StreamInfo("wrist camera", "image"), rows), frames


def test_camera_that_is_stamped_at_delivery_is_behind_the_joints() -> None:
    pytest.importorskip("cv2")
    made, pictures = filmed(0.11)
    recording = replace(recorded(made, arm()), frames=lambda name, most: iter(pictures[:most]))
    gathered, seen = evidence(recording)
    with gathered:
        (found,) = MOTION.judge(seen)
    assert (found.fault, found.streams) == ("offset", ("wrist camera", "joints"))
    assert found.figures["offset"].value == pytest.approx(0.11, abs=4e-3)


def test_without_opencv_pictures_are_unjudged_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    made, pictures = filmed(0.0, 100)
    gathered, seen = evidence(replace(recorded(made, arm()), frames=lambda name, most: iter(pictures[:most])))
    with gathered:
        (said,) = MOTION.judge(seen)
    assert said.level == "unjudged"
    assert "onbeat[vision]" in said.sentence


@pytest.mark.real_data
def test_gyro_and_pose_of_a_drone_agree_within_two_milliseconds(data_dir: Path) -> None:
    """A gyro with a bias of 0.08 rad/s; the recording has one clock."""
    recording = open_streams(data_dir / "euroc_mh01")
    gathered, seen = evidence(recording)
    with gathered:
        (note,) = MOTION.judge(seen)
    assert note.level == "note"
    assert abs(note.figures["offset"].value) < 5e-4
    assert note.figures["offset"].high is not None
    assert note.figures["offset"].high < 2e-3
