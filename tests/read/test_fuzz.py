"""Whatever a file holds: rows, or one sentence; never a traceback."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onbeat.errors import BadInput, OnbeatError
from onbeat.health.examine import examine
from onbeat.read.open import find_recordings, open_streams
from onbeat.read.spool import gather
from onbeat.read.streams import FIELDS, Batch, StreamInfo, StreamRecording, row_dtype
from tests.read.test_umi_zarr import buffer
from tests.read.test_zarr_arrays import zipped

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
    assert said == "" or path.name in said, said
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


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.sampled_from(
        [0, -1, 1 << 31, (1 << 63) - 1, -(1 << 63), 1 << 64, 10**400, 1e308, "video", "image", "v3.0", "", "{", "<f8"]
    )
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
ENDS = (12, 20)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a JSON document with every key in it."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def change_json(path: Path, data: st.DataObject) -> None:
    whole = json.loads(path.read_text())
    inside, key = data.draw(st.sampled_from(list(places(whole))))
    if data.draw(st.booleans()):
        del inside[key]
    else:
        inside[key] = data.draw(JSON)
    path.write_text(json.dumps(whole))


def change_bytes(path: Path, data: st.DataObject) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))]))


def cells(n: int) -> st.SearchStrategy[pa.Array]:
    """Columns of n rows that hold what a column should not."""
    edges = st.sampled_from([0, -1, 1 << 31, (1 << 63) - 1, -(1 << 63)])
    wild = st.floats() | st.sampled_from([1.7e308, -1.7e308, 5e-324, 1.7e18])

    def column(cell: st.SearchStrategy[Any], kind: pa.DataType, empty: bool = True) -> st.SearchStrategy[pa.Array]:
        rows = st.lists(cell | st.none() if empty else cell, min_size=n, max_size=n)
        return rows.map(lambda values: pa.array(values, kind))

    return st.one_of(
        column(edges | st.integers(0, n), pa.int64(), False),
        column(st.integers(0, (1 << 64) - 1), pa.uint64()),
        column(wild, pa.float64()),
        column(wild, pa.float64(), False),
        column(st.floats(width=32), pa.float32(), False),
        column(st.text(max_size=3), pa.string()),
        column(edges, pa.timestamp("ms")),
        column(st.booleans(), pa.bool_()),
        column(st.lists(wild, max_size=3), pa.list_(pa.float64())),
        column(st.lists(wild | st.none(), min_size=2, max_size=2), pa.list_(pa.float64(), 2), False),
        column(st.lists(st.text(max_size=2), max_size=2), pa.list_(pa.string())),
        column(st.fixed_dictionaries({"bytes": st.binary(max_size=4) | st.none()}), pa.struct([("bytes", pa.binary())])),
    )


def change_table(path: Path, data: st.DataObject) -> None:
    table = pq.read_table(path)
    at = data.draw(st.integers(0, table.num_columns - 1))
    if data.draw(st.booleans()):
        table = table.remove_column(at)
    else:
        table = table.set_column(at, table.column_names[at], data.draw(cells(len(table))))
    pq.write_table(table.slice(0, data.draw(st.just(len(table)) | st.integers(0, len(table)))), path)


def lerobot(root: Path, version: str) -> Path:
    """A data set of two episodes with true times and pictures in its tables, as LeRobot lays them out."""
    vector = {"dtype": "float32", "shape": [2], "names": ["a", "b"]}
    features: dict[str, Any] = dict.fromkeys(("action", "observation.state"), vector)
    features["observation.images.top"] = {"dtype": "image", "shape": [3, 4, 3], "names": ["height", "width", "channels"]}
    features["observation.images.side"] = {"dtype": "video", "shape": [3, 4, 3]}
    info = {"codebase_version": version, "fps": 30, "total_episodes": 2, "chunks_size": 1000, "features": features}
    info["video_path"] = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    (root / "meta").mkdir(parents=True)
    (root / "meta" / "info.json").write_text(json.dumps(info))
    rows = [{"episode_index": k, "length": n, "tasks": ["move"]} for k, n in enumerate((ENDS[0], ENDS[1] - ENDS[0]))]
    if version == "v3.0":
        video = "videos/observation.images.side"
        folder = root / "meta" / "episodes" / "chunk-000"
        folder.mkdir(parents=True)
        more = {f"{video}/chunk_index": 0, f"{video}/file_index": 0, f"{video}/from_timestamp": 0.0, f"{video}/to_timestamp": 0.4}
        pq.write_table(pa.Table.from_pylist([row | more for row in rows]), folder / "file-000.parquet")
    else:
        (root / "meta" / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "data" / "chunk-000").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for k, n in enumerate((ENDS[0], ENDS[1] - ENDS[0])):
        frame = np.arange(n)
        columns = {
            "action": pa.array(rng.normal(size=(len(frame), 2)).tolist(), pa.list_(pa.float32(), 2)),
            "observation.state": pa.array(rng.normal(size=(len(frame), 2)).tolist(), pa.list_(pa.float32(), 2)),
            "observation.images.top": pa.array([{"bytes": bytes([n]), "path": f"{n}.png"} for n in frame.tolist()]),
            "onbeat.row.t_ns": pa.array(1_700_000_000 * 10**9 + frame * 33_333_333),
            "timestamp": pa.array(np.asarray(frame / 30, dtype=np.float32)),
            "frame_index": pa.array(frame),
            "episode_index": pa.array(np.full(len(frame), k)),
        }
        pq.write_table(pa.table(columns), root / "data" / "chunk-000" / f"file-{k:03d}.parquet")
    return root


def change_set(root: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(one for one in root.rglob("*") if one.is_file())))
    how = data.draw(st.sampled_from(["bytes", "content", "content", "gone"]))
    if how == "gone":
        path.unlink()
    elif how == "bytes":
        change_bytes(path, data)
    elif path.suffix == ".parquet":
        with suppress(pa.ArrowException, OSError):  # a second change of a broken table
            change_table(path, data)
    elif path.suffix == ".json" or path.name == ".zarray":
        with suppress(ValueError):
            change_json(path, data)
    elif path.suffix == ".jsonl":
        lines = [json.dumps(data.draw(JSON)) for _ in range(data.draw(st.integers(0, 3)))]
        path.write_text(path.read_text() + "\n".join(lines))
    else:
        path.write_bytes(path.read_bytes()[: data.draw(st.integers(0, 200))])


def judged(path: Path) -> None:
    """Read and check all that is there; only a sentence may come out, and it names what was read."""
    opened(path)
    try:
        said = examine(open_streams(path)).damage
    except OnbeatError as error:
        said = str(error)
    assert "\n" not in said
    assert said == "" or path.name in said, said


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@given(data=st.data())
@FUZZED
def test_data_sets_of_lerobot_that_were_changed(tmp_path: Path, version: str, data: st.DataObject) -> None:
    kept, root = tmp_path / "kept", tmp_path / "arm"
    if not kept.exists():
        lerobot(kept, version)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(kept, root)
    for _ in range(data.draw(st.integers(1, 2))):
        change_set(root, data)
    if (root / "meta" / "info.json").exists():
        judged(root)


@pytest.mark.parametrize("packed", [False, True])
@given(data=st.data())
@FUZZED
def test_replay_buffers_that_were_changed(tmp_path: Path, packed: bool, data: st.DataObject) -> None:
    kept, root = tmp_path / "kept", tmp_path / "replay_buffer.zarr"
    if not kept.exists():
        buffer(kept, stamps=True)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(kept, root)
    for _ in range(data.draw(st.integers(0 if packed else 1, 2))):
        change_set(root, data)
    path = root
    if packed:
        path = zipped(root)
        change_bytes(path, data)
    if path.is_file() or (path / "meta" / "episode_ends" / ".zarray").exists():
        judged(path)


EXTREME = [0, 1, -1, 10**18, (1 << 62) - 1, 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63), -(1 << 63) + 1]
VALUES = [0.0, 1e-320, 1e99, -1e99, 1.7e308, -1.7e308, np.finfo(np.float32).max, np.inf, -np.inf, np.nan]


@given(data=st.data())
@FUZZED
def test_extremes_of_every_number(data: st.DataObject) -> None:
    batches = []
    for number in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from(["joints", "action", "pose", "rotation", "numbers", "image", "other"]))
        fields = data.draw(st.sets(st.sampled_from(list(FIELDS)), min_size=1).filter({"stamp_ns", "log_ns"}.intersection))
        width = {"pose": 7, "rotation": 3, "image": 0, "other": 0}.get(kind, 2)
        n = data.draw(st.integers(1, 60))
        rows = np.zeros(n, dtype=row_dtype(sorted(fields), width))
        for name in fields:
            rows[name] = np.arange(n) * data.draw(st.sampled_from([0, 1, 10**7, 10**9])) % (1 << 60)
        for _ in range(data.draw(st.integers(0, 8))):
            name, at = data.draw(st.sampled_from(rows.dtype.names or ())), data.draw(st.integers(0, n - 1))
            if name == "value":
                rows["value"][at, data.draw(st.integers(0, width - 1))] = data.draw(st.sampled_from(VALUES) | st.floats())
            elif name != "digest":
                rows[name][at] = data.draw(st.sampled_from(EXTREME))
        info = StreamInfo(f"s{number}", kind, "", tuple(f"c{k}" for k in range(width)), data.draw(st.sampled_from([None, 100.0])))
        batches.append(Batch(info, rows))
    with suppress(OnbeatError):
        for one in examine(StreamRecording(Path("x"), "test", lambda: iter(batches))).verdicts:
            assert all(np.isfinite(figure.value) for figure in one.figures.values()), one
