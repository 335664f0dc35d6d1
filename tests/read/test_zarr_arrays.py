import json
import shutil
import subprocess
import sys
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numcodecs import Blosc, Zlib
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged, MissingExtra
from onbeat.read.zarr_arrays import ZarrStore


def write_array(root: Path, key: str, values: NDArray[Any], chunks: tuple[int, ...], codec: Any = None, **changes: Any) -> Path:
    """Write one array of zarr format 2 by its text: chunks are whole, what lies beyond the array is 0."""
    folder = root / key
    folder.mkdir(parents=True)
    about = {"zarr_format": 2, "shape": values.shape, "chunks": chunks, "dtype": values.dtype.str, "order": "C", "filters": None}
    about |= {"compressor": codec.get_config() if codec else None, "fill_value": 0, **changes}
    (folder / ".zarray").write_text(json.dumps(about))
    for index in product(*(range(-(-n // c)) for n, c in zip(values.shape, chunks, strict=True))):
        chunk = np.zeros(chunks, values.dtype)
        part = values[tuple(slice(k * c, (k + 1) * c) for k, c in zip(index, chunks, strict=True))]
        chunk[tuple(slice(0, n) for n in part.shape)] = part
        packed = codec.encode(chunk) if codec else chunk.tobytes()
        (folder / ".".join(map(str, index))).write_bytes(packed)
    return root


def zipped(root: Path) -> Path:
    path = root.with_suffix(".zarr.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for one in sorted(root.rglob("*")):
            if one.is_file():
                file.write(one, one.relative_to(root).as_posix())
    return path


@pytest.mark.parametrize("codec", [None, Blosc(cname="zstd"), Zlib()])
@pytest.mark.parametrize("chunks", [(7, 2), (1, 3), (100, 3)])
def test_rows_of_any_chunks_and_codec(tmp_path: Path, codec: Any, chunks: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).normal(size=(23, 3))
    root = write_array(tmp_path / "a.zarr", "data/x", values, chunks, codec)
    for path in (root, zipped(root)):
        store = ZarrStore(path)
        array = store.arrays("data")["x"]
        assert (len(array), array.shape) == (23, (23, 3))
        assert np.array_equal(array.rows(0, 23), values)
        assert np.array_equal(array.rows(6, 9), values[6:9])
        assert np.array_equal(np.concatenate([rows for _, rows in array.blocks(5)]), values)
        store.close()


def test_row_that_is_a_chunk_gives_its_packed_bytes(tmp_path: Path) -> None:
    values = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    write_array(tmp_path, "data/x", values, (1, 2, 2))
    write_array(tmp_path, "data/y", values, (2, 2, 2))
    arrays = ZarrStore(tmp_path).arrays("data")
    assert arrays["x"].chunk_bytes(1) == values[1].tobytes()
    assert arrays["y"].chunk_bytes(1) is None


def test_missing_and_broken_chunks_are_one_sentence(tmp_path: Path) -> None:
    write_array(tmp_path, "data/x", np.arange(40.0), (10,), Blosc())
    array = ZarrStore(tmp_path).arrays("data")["x"]
    (tmp_path / "data/x/2").write_bytes(b"\0" * 7)
    assert array.rows(0, 20).tolist() == list(range(20))
    with pytest.raises(Damaged, match="data/x/2 cannot be unpacked"):
        array.rows(15, 25)
    (tmp_path / "data/x/2").unlink()
    with pytest.raises(Damaged, match="no chunk data/x/2"):
        array.rows(15, 25)


def test_short_chunk_is_one_sentence(tmp_path: Path) -> None:
    write_array(tmp_path, "data/x", np.arange(40.0), (10,))
    (tmp_path / "data/x/1").write_bytes(b"\0" * 8)
    with pytest.raises(Damaged, match="holds 8 bytes, not 80"):
        ZarrStore(tmp_path).arrays("data")["x"].rows(0, 40)


def test_unknown_codec_is_a_missing_extra(tmp_path: Path) -> None:
    write_array(tmp_path, "data/x", np.arange(4.0), (4,), compressor={"id": "imagecodecs_jpegxl"})
    with pytest.raises(MissingExtra, match="imagecodecs_jpegxl"):
        ZarrStore(tmp_path).arrays("data")["x"].rows(0, 4)


@pytest.mark.parametrize(
    "changes", [{"shape": [4, 4]}, {"chunks": [0]}, {"dtype": "|O"}, {"dtype": "what"}, {"chunks": [1 << 40]}, {"shape": None}]
)
def test_description_that_cannot_be_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_array(tmp_path, "data/x", np.arange(4.0), (4,))
    path = tmp_path / "data/x/.zarray"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(BadInput, match="data/x"):
        ZarrStore(tmp_path).arrays("data")


def test_truncated_zip_is_one_sentence(tmp_path: Path) -> None:
    path = zipped(write_array(tmp_path / "a.zarr", "data/x", np.arange(40.0), (10,)))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(Damaged, match="is not a whole zip"):
        ZarrStore(path)


def test_what_zarr_itself_writes_is_read(tmp_path: Path) -> None:
    # in a process of its own, since zarr 3 leaves a thread running
    code = """
import sys, numpy as np, zarr
new = int(zarr.__version__.split(".")[0]) >= 3
group = zarr.open_group(sys.argv[1], mode="w", **({"zarr_format": 2} if new else {}))
data = group.create_group("data")
values = np.arange(60.0).reshape(20, 3)
if new:
    data.create_array("x", shape=values.shape, chunks=(6, 3), dtype="f8")[:] = values
else:
    data.array("x", values, chunks=(6, 3))
"""
    root = tmp_path / "a.zarr"
    subprocess.run([sys.executable, "-c", code, str(root)], check=True)
    values = np.arange(60.0).reshape(20, 3)
    assert np.array_equal(ZarrStore(root).arrays("data")["x"].rows(0, 20), values)
    shutil.rmtree(root)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"shape": [1e999], "chunks": [1], "dtype": "<f8"}'])
def test_description_that_is_too_deep_or_endless_is_refused(tmp_path: Path, text: str) -> None:
    root = write_array(tmp_path / "z", "data/a", np.zeros((4, 2)), (2, 2))
    (root / "data/a/.zarray").write_text(text)
    with pytest.raises(BadInput, match="does not describe an array"):
        ZarrStore(root).arrays("data")


def test_zip_member_that_unpacks_to_more_than_a_chunk_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "z.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data/a/.zarray", "w") as member:
        for _ in range(257):
            member.write(bytes(1 << 20))
    store = ZarrStore(path)
    with pytest.raises(Damaged, match="claims 269484032 bytes, more than any chunk has"):
        store.read("data/a/.zarray")
    store.close()
