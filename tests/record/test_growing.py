"""A recording is cut at every place that a look may find it at; what comes out in parts is what went in."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.loop import RECORD_DTYPE
from onbeat.record.growing import GrowingCycles
from onbeat.record.mcap import Recorder

S = 1_000_000_000
FRAME = b"\x28\xb5\x2f\xfd"  # begins what is compressed, in each chunk


def cycles(n: int, first: int = 0) -> NDArray[Any]:
    records = np.zeros(n, RECORD_DTYPE)
    for k, name in enumerate(RECORD_DTYPE.names or ()):
        records[name] = (first + np.arange(n)) * S // 100 + k
    return records


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "whole.mcap"
    with Recorder(path, "monotonic") as recorder:
        for second in range(5):
            recorder.add_cycles("arm", cycles(100, 100 * second))
            recorder.add_cycles("wrist", cycles(50, 50 * second))
    return path


def appended(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_parts_add_up_to_the_whole_wherever_it_is_cut(whole: Path, tmp_path: Path) -> None:
    data = whole.read_bytes()
    for step in (97, 1000, len(data)):
        path = tmp_path / f"{step}.partial"
        path.touch()
        growing = GrowingCycles(path)
        found: dict[str, list[NDArray[Any]]] = {}
        for begin in range(0, len(data), step):
            appended(path, data[begin : begin + step])
            for module, records in growing.read().items():
                found.setdefault(module, []).append(records)
        assert growing.read() == {}
        growing.close()
        assert {module: len(np.concatenate(parts)) for module, parts in found.items()} == {"arm": 500, "wrist": 250}
        assert np.array_equal(np.concatenate(found["arm"]), cycles(500))


def test_a_look_reads_no_byte_twice(whole: Path, tmp_path: Path) -> None:
    data, path = whole.read_bytes(), tmp_path / "a.partial"
    cut = data.rindex(FRAME)  # inside the last chunk
    path.write_bytes(data[:cut])
    growing = GrowingCycles(path)
    first = growing.read()
    assert growing.read() == {}
    # What was read may be gone: only its length counts.
    with path.open("r+b") as file:
        file.write(bytes(growing._at))
    path.rename(tmp_path / "a.mcap")
    appended(tmp_path / "a.mcap", data[cut:])
    second = growing.read()
    growing.close()
    assert np.array_equal(np.concatenate([first["arm"], second["arm"]]), cycles(500))


def test_behind_damage_nothing_is_read(whole: Path, tmp_path: Path) -> None:
    data = bytearray(whole.read_bytes())
    at = data.index(FRAME)
    data[at + 20] ^= 0xFF
    (tmp_path / "a.mcap").write_bytes(data)
    growing = GrowingCycles(tmp_path / "a.mcap")
    assert growing.read() == {}
    assert growing.read() == {}
    growing.close()


def test_what_is_no_recording_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        GrowingCycles(tmp_path / "none")
    (tmp_path / "a").write_bytes(b"not an MCAP file at all")
    growing = GrowingCycles(tmp_path / "a")
    with pytest.raises(BadInput, match="is not an MCAP file"):
        growing.read()
    growing.close()
