from pathlib import Path

import numpy as np
import pytest
from mcap.writer import Writer

from onbeat.capture import Stamp
from onbeat.errors import BadInput
from onbeat.record import Recorder, Recording, read_recording


def recorded(path: Path) -> Recording:
    with Recorder(path, "manual", threaded=False) as recorder:
        recorder.add_stream("silent")
        for k in range(400):
            recorder.add_sample("arm", Stamp(k * 10_000_000, k * 10_000_000 + 1, 0, 0, k, "manual"), [k / 3, k / 7])
            recorder.add_sample("camera", Stamp(k * 10_000_000, k * 10_000_000 + 1, 0, 0, k, "manual"), np.zeros((2, 2)))
    return read_recording(path)


def test_streams_come_back_as_arrays(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "run.mcap")
    assert recording.complete
    assert recording.clock == "manual"
    arm = recording.readings["arm"]
    assert arm.values is not None
    assert (arm.values.shape, arm.capture_ns.dtype, arm.corrected.dtype) == ((400, 2), np.dtype(np.int64), np.dtype(np.bool_))
    assert recording.readings["camera"].values is None
    assert len(recording.readings["camera"]) == 400
    assert len(recording.readings["silent"]) == 0
    assert recording.decisions.tolist() == []
    assert (dict(recording.chunks), dict(recording.cycles), recording.calibration, recording.figures) == ({}, {}, (), ())


def test_what_is_there_of_a_file_that_was_cut(tmp_path: Path) -> None:
    recorded(tmp_path / "run.mcap")
    raw = (tmp_path / "run.mcap").read_bytes()
    path = tmp_path / "cut.mcap"
    counts = []
    for cut in range(len(raw) // 20, len(raw), len(raw) // 20):
        path.write_bytes(raw[:cut])
        with pytest.raises(BadInput, match="ends early after"):
            read_recording(path)
        recording = read_recording(path, partial=True)
        assert not recording.complete
        seq = recording.readings["arm"].seq.tolist() if "arm" in recording.readings else []
        assert seq == list(range(len(seq)))
        counts.append(len(seq))
    assert counts == sorted(counts)
    assert {0, 100, 200, 300, 400} <= set(counts)


@pytest.mark.parametrize("cut", [9, 60, 200, 2_000, -9, -1])
def test_file_that_is_cut_anywhere(tmp_path: Path, cut: int) -> None:
    recorded(tmp_path / "run.mcap")
    path = tmp_path / "cut.mcap"
    path.write_bytes((tmp_path / "run.mcap").read_bytes()[:cut])
    with pytest.raises(BadInput, match=r"ends early after|was not recorded by onbeat"):
        read_recording(path)


def test_file_with_a_flipped_bit(tmp_path: Path) -> None:
    recorded(tmp_path / "run.mcap")
    raw = bytearray((tmp_path / "run.mcap").read_bytes())
    raw[len(raw) // 3] ^= 1
    path = tmp_path / "bent.mcap"
    path.write_bytes(raw)
    with pytest.raises(BadInput, match=r"is damaged before byte \d+ .* after \d+ messages"):
        read_recording(path)
    assert not read_recording(path, partial=True).complete


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "is empty; nothing of the recording reached the disk"),
        (b"PK\x03\x04 a zip file", "is not an MCAP file: it begins with b'PK"),
        (b"\x89MCAP", "is not an MCAP file"),
    ],
)
def test_file_that_is_none(tmp_path: Path, raw: bytes, sentence: str) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(raw)
    with pytest.raises(BadInput) as caught:
        read_recording(path, partial=True)
    assert sentence in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"run\.mcap cannot be read \(No such file or directory\); check the path"):
        read_recording(tmp_path / "run.mcap")


def test_file_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.mcap"
    writer = Writer(str(path))
    writer.start()
    channel = writer.register_channel("/tf", "cdr", 0)
    writer.add_message(channel, 1, b"\xff\x00", 1)
    writer.finish()  # type: ignore[no-untyped-call]
    with pytest.raises(BadInput, match="was not recorded by onbeat; its channels are /tf"):
        read_recording(path)


def test_file_of_a_newer_onbeat(tmp_path: Path) -> None:
    path = tmp_path / "new.mcap"
    writer = Writer(str(path))
    writer.start()
    writer.add_metadata("onbeat", {"format": "99", "clock": "manual"})
    writer.finish()  # type: ignore[no-untyped-call]
    with pytest.raises(BadInput, match="has format '99', and this onbeat reads 1; install a newer onbeat"):
        read_recording(path)
