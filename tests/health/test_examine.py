from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput, Damaged
from onbeat.health import Check, Evidence, Verdict
from onbeat.health.examine import examine
from onbeat.read import Batch, StreamInfo, StreamRecording, row_dtype
from onbeat.read.open import open_streams
from onbeat.testing.recordings import STREAMS, arm_rig
from onbeat.testing.write_mcap import write_mcap


def recording(*names: str, damage: str = "") -> StreamRecording:
    dtype = row_dtype(("stamp_ns",))
    rows = np.zeros(50, dtype=dtype)
    rows["stamp_ns"] = np.arange(50) * 10_000_000

    def read() -> Iterator[Batch]:
        for name in names:
            yield Batch(StreamInfo(name), rows)
        if damage:
            raise Damaged(damage)

    return StreamRecording(Path("drive.mcap"), "MCAP", read)


def look(evidence: Evidence) -> Iterator[Verdict]:
    evidence.shared["seen"] = list(evidence.timelines)
    yield from (Verdict("skew", (name,), "note", f"{line.n} rows") for name, line in evidence.timelines.items())


LOOK = Check("look", ("skew",), look)


def test_a_recording_is_read_and_the_checks_are_asked() -> None:
    examined = examine(recording("imu", "camera"), [LOOK])
    assert [one.name for one in examined.facts] == ["imu", "camera"]
    assert [one.sentence for one in examined.verdicts] == ["50 rows", "50 rows"]
    assert examined.shared["seen"] == ["imu", "camera"]
    assert examined.damage == ""


def test_what_could_be_read_of_a_broken_file_is_judged() -> None:
    examined = examine(recording("imu", damage="drive.mcap ends at byte 17"), [LOOK])
    assert examined.damage == "drive.mcap ends at byte 17"
    assert len(examined.verdicts) == 1


@pytest.mark.parametrize(("words", "names"), [(["imu"], ["imu"]), (["CAM"], ["camera"]), (["imu", "cam"], ["imu", "camera"])])
def test_streams_are_chosen_by_name_or_by_a_word(words: list[str], names: list[str]) -> None:
    assert [one.name for one in examine(recording("imu", "imu2", "camera"), [LOOK], words).facts] == names


def test_an_unknown_stream_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"has no stream 'camrea'; did you mean 'camera'\?"):
        examine(recording("imu", "camera"), [LOOK], ["camrea"])


def test_a_file_without_rows_is_refused() -> None:
    with pytest.raises(BadInput, match="has no rows with times"):
        examine(recording(), [LOOK])


def test_reading_and_checking_are_shown_one_after_the_other() -> None:
    shown: list[object] = []

    @contextmanager
    def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
        shown.append((what, total))
        yield shown.append
        shown.append("end")

    examine(recording("imu"), [LOOK], (), progress)
    assert shown == [("reading", None), 50, "end", ("checking", 1), 1, "end"]


@pytest.mark.parametrize("chosen", [(), ("/camera/image/compressed",)])
def test_exposures_beside_the_pictures_are_told_to_the_checks(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    told = {}

    def exposures(evidence: Evidence) -> Iterator[Verdict]:
        told.update({name: line.has("exposure_ns") for name, line in evidence.timelines.items()})
        yield from ()

    write_mcap(arm_rig(np.random.default_rng(0), 8.0, STREAMS[:2]), tmp_path / "rig.mcap")
    examined = examine(open_streams(tmp_path / "rig.mcap"), [Check("exposures", ("skew",), exposures)], chosen)
    assert told == {name: name == STREAMS[0] for name in (chosen or STREAMS[:2])}
    assert (f"{STREAMS[0].rsplit('/', 1)[0]}/metadata" in [one.name for one in examined.facts]) is not bool(chosen)


@pytest.mark.parametrize("fields", [("stamp_ns",), ("log_ns", "stamp_ns")])
@pytest.mark.parametrize("step_ns", [0, 1, 10**7])
@pytest.mark.parametrize("odd_ns", [-1, 10**18, 1 << 62, (1 << 63) - 1, -(1 << 63)])
def test_one_odd_time_among_any_others_is_no_failure(fields: tuple[str, ...], step_ns: int, odd_ns: int) -> None:
    for n, at in ((11, 1), (20, 0), (40, 39)):
        rows = np.zeros(n, dtype=row_dtype(fields, 0))
        for name in fields:
            rows[name] = np.arange(n) * step_ns
        rows[fields[0]][at] = odd_ns
        batches = [Batch(StreamInfo("s", "other"), rows)]
        found = examine(StreamRecording(Path("x"), "test", batches.__iter__))
        assert all(np.isfinite(figure.value) for one in found.verdicts for figure in one.figures.values())
