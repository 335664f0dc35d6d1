"""Whatever a file holds: rows, or one sentence; never a traceback."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onbeat.errors import BadInput, OnbeatError
from onbeat.read.open import find_recordings, open_streams
from onbeat.read.spool import gather

FUZZED = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def table() -> bytes:
    rows = [f"{1_700_000_000_000_000_000 + k * 10_000_000},{k},{k % 3},{k}.5,-{k}e-3," for k in range(40)]
    return "\n".join(["log_time_ns,seq,episode_index,a_cmd,a_meas,note", *rows, ""]).encode()


def long_table() -> bytes:
    rows = [f"{k * 0.01:.3f};{'imu' if k % 3 else 'cam'};{k};{'' if k % 3 else k}" for k in range(40)]
    return "\n".join(["time;topic;gyro_x;count_lost", *rows, ""]).encode()


def tum() -> bytes:
    return "".join(f"{1_700_000_000 + k * 0.01:.4f} 1 2 3 0 0 0 1\n" for k in range(40)).encode()


def arrays(folder: Path) -> bytes:
    np.savez(folder / "x.npz", imu_t_ns=np.arange(40) * 10**7, imu_gyro=np.ones((40, 3)), t=np.arange(9) * 0.01, v=np.zeros(9))
    return (folder / "x.npz").read_bytes()


def video(folder: Path) -> bytes:
    av: Any = pytest.importorskip("av")
    with av.open(str(folder / "x.mp4"), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for k in range(20):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64), k * 12, dtype=np.uint8), format="gray")
            container.mux(stream.encode(frame.reformat(format="yuv420p")))
        container.mux(stream.encode(None))
    return (folder / "x.mp4").read_bytes()


WHOLE: dict[str, Callable[[Path], bytes]] = {
    "table.csv": lambda folder: table(),
    "long.csv": lambda folder: long_table(),
    "tum.txt": lambda folder: tum(),
    "arrays.npz": arrays,
    "video.mp4": video,
}


def opened(path: Path) -> None:
    """Read all that is there; only a sentence may come out, and it names the file."""
    try:
        with gather(open_streams(path)) as found:
            said = found.damage
            if found.recording.frames is not None:
                for name in found.series:
                    assert len(list(found.recording.frames(name, 5))) <= 5
    except OnbeatError as error:
        said = str(error)
    assert "\n" not in said
    assert said == "" or path.name in said
    with suppress(BadInput):
        find_recordings(path.parent)


@given(st.binary(max_size=400), st.sampled_from(["x", "x.csv", "x.txt", "x.npz", "x.mp4"]))
@FUZZED
def test_any_bytes(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    opened(path)
    path.unlink()


@given(st.text(alphabet='0123456789.,;-+eE \t\n"[]#nainft_sxyzqw:', max_size=300))
@FUZZED
def test_any_text_like_a_table(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("t_ns,gyro_x,gyro_y,gyro_z\n0,1,2,3\n" + content)
    opened(path)


@pytest.mark.parametrize("kind", WHOLE)
@given(data=st.data())
@FUZZED
def test_small_files_cut_and_changed(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    folder = tmp_path / "whole"
    folder.mkdir(exist_ok=True)
    kept = folder / "kept"
    if not kept.exists():
        kept.write_bytes(WHOLE[kind](folder))
    content = bytearray(kept.read_bytes())
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    path = tmp_path / kind
    path.write_bytes(bytes(content[:cut]))
    opened(path)
