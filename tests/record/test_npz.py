import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.record.npz import is_npz, open_arrays


def test_heads_are_read_before_values(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, p=np.zeros((4, 3)), n=np.array(["a", "b"]), k=np.int64(3), b=np.array([True]))
    file = open_arrays(path)
    assert [(head.name, head.shape, head.kind) for head in file.heads] == [
        ("p", (4, 3), "f"),
        ("n", (2,), "U"),
        ("k", (), "i"),
        ("b", (1,), "b"),
    ]
    assert file.listing() == "it holds p 4x3, n 2 of text, k one value, b 1 of yes/no"
    assert file.array("p").tolist() == np.zeros((4, 3)).tolist()
    assert "p" in file
    assert "q" not in file


def test_compressed_is_the_same(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", p=np.arange(6.0).reshape(2, 3))
    assert open_arrays(tmp_path / "a.npz").array("p").tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_unknown_array_lists_what_there_is(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {f"a{k}": np.zeros(1) for k in range(14)}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(BadInput, match=r"has no array 'p'; it holds a0 1, .*a11 1 and 2 more"):
        open_arrays(tmp_path / "a.npz").array("p")


def test_objects_are_listed_and_not_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", o=np.array([{}, None], dtype=object))
    file = open_arrays(tmp_path / "a.npz")
    assert file.listing() == "it holds o 2 of objects"
    with pytest.raises(BadInput, match="'o' holds Python objects, which onbeat does not load; save it as plain numbers"):
        file.array("o")


def test_cut_off_at_any_length_is_one_sentence(tmp_path: Path) -> None:
    whole = tmp_path / "a.npz"
    np.savez_compressed(whole, p=np.random.default_rng(0).normal(size=(200, 3)))
    raw = whole.read_bytes()
    for size in (0, 1, 10, 100, len(raw) // 2, len(raw) - 30, len(raw) - 1):
        whole.write_bytes(raw[:size])
        with pytest.raises(BadInput, match="is no npz file, or is damaged or cut off") as error:
            open_arrays(whole)
        assert str(error.value).count("\n") == 0


def test_damaged_values_are_refused_when_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, p=np.ones((400, 3)))
    raw = bytearray(path.read_bytes())
    raw[2000] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(BadInput, match=r"damaged or cut off \(bad crc-32 for file 'p.npy'\)"):
        open_arrays(path).array("p")


def test_a_head_that_promises_more_than_there_is(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("p.npy", buffer.getvalue() + b"\0" * 48)
    with pytest.raises(BadInput, match="'p' should have 24000000000000 bytes and has 48; save the file again"):
        open_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"not npy", b"\x93NUMPY\x07\x00", b"\x93NUMPY\x01\x00\x10\x00{'descr': oops}  "])
def test_a_member_that_is_no_array(content: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("p.npy", content)
    with pytest.raises(BadInput, match="is no npz file, or is damaged"):
        open_arrays(tmp_path / "a.npz")


def test_a_zip_of_other_things(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(BadInput, match="holds no arrays"):
        open_arrays(tmp_path / "a.npz")


def test_by_name_or_by_content(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", p=np.zeros(3))
    (tmp_path / "a.npz").rename(tmp_path / "a.bin")
    (tmp_path / "b.npz").write_text("t,x\n")
    (tmp_path / "c.csv").write_text("t,x\n")
    assert [is_npz(tmp_path / name) for name in ("a.bin", "b.npz", "c.csv")] == [True, True, False]


def test_head_that_claims_gigabytes_is_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\2\0" + (2**31).to_bytes(4, "little") + b" " * 100)
    with pytest.raises(BadInput, match="a head of 2147483648 bytes"):
        open_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize(("fortran", "said"), [(True, "saved in the order of Fortran,"), (False, "a row")])
def test_what_must_be_held_at_once_is_bounded(tmp_path: Path, fortran: bool, said: str) -> None:
    shape = (2, 2**24 + 1)
    buffer = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as member:
        member.write(buffer.getvalue())
        for _ in range(2):
            member.write(bytes(2**24 * 8 + 8))
    file = open_arrays(tmp_path / "a.npz")
    blocks = file.blocks("a", 1)
    if fortran:
        with pytest.raises(BadInput, match=said):
            next(blocks)
    else:
        assert next(blocks).shape == (1, 2**24 + 1)
