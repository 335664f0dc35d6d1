"""Tests of onbeat.read.pictures: raw encodings, compressed ones, and what is none."""

import base64
import sys
from typing import Any

import numpy as np
import pytest

from onbeat.errors import MissingExtra
from onbeat.read.pictures import gray_of, spread

RAMP = np.arange(24, dtype=np.uint8).reshape(4, 6) * 10


def raw(encoding: str, picture: Any, **more: Any) -> dict[str, Any]:
    height, width = picture.shape[:2]
    data = picture.tobytes()
    return {"height": height, "width": width, "encoding": encoding, "step": len(data) // height, "data": data, **more}


def test_few_pictures_are_all_given() -> None:
    assert spread(5, 10) == [(0, 5)]
    assert spread(0, 10) == []
    assert spread(5, 0) == []


def test_many_pictures_are_runs_of_neighbours_from_the_first_to_the_last() -> None:
    runs = spread(10_000, 1_000)
    assert [last - first for first, last in runs] == [333] * 3
    assert (runs[0][0], runs[-1][1]) == (0, 10_000)


def test_mono_is_given_as_it_is_without_the_padding_of_its_lines() -> None:
    padded = np.concatenate([RAMP, np.full((4, 2), 255, dtype=np.uint8)], axis=1)
    np.testing.assert_array_equal(gray_of({**raw("mono8", padded), "width": 6}), RAMP)


@pytest.mark.parametrize(("encoding", "channel"), [("rgb8", 0), ("bgr8", 2), ("rgba8", 0), ("bgra8", 2)])
def test_red_counts_by_its_luminance(encoding: str, channel: int) -> None:
    picture = np.zeros((2, 2, 4 if "a" in encoding else 3), dtype=np.uint8)
    picture[:, :, channel] = 100
    gray = gray_of(raw(encoding, picture))
    assert gray is not None
    assert gray.tolist() == [[30, 30], [30, 30]]


@pytest.mark.parametrize("big", [0, 1])
def test_depth_stays_distinct_up_to_eight_metres(big: int) -> None:
    depth = np.array([[0, 3200, 8000, 60000]], dtype=">u2" if big else "<u2")
    gray = gray_of(raw("16UC1", depth, is_bigendian=big))
    assert gray is not None
    assert gray.tolist() == [[0, 100, 250, 255]]


def test_yuv_gives_its_luminance() -> None:
    pairs = np.array([[[7, 1], [8, 2]]], dtype=np.uint8)
    for encoding, expected in (("uyvy", [[1, 2]]), ("yuyv", [[7, 8]])):
        gray = gray_of(raw(encoding, pairs))
        assert gray is not None
        assert gray.tolist() == expected


def test_bayer_is_the_mean_of_four() -> None:
    gray = gray_of(raw("bayer_rggb8", np.array([[1, 2, 9, 9], [3, 6, 9, 9]], dtype=np.uint8)))
    assert gray is not None
    assert gray.tolist() == [[3, 9]]


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"data": b""},
        {"data": "no base64!"},
        {"data": b"neither JPEG nor PNG", "format": "jpeg"},
        raw("mono8", RAMP) | {"height": 5},
        raw("mono8", RAMP) | {"height": -1},
        raw("mono8", RAMP) | {"width": 100},
        raw("mono8", RAMP) | {"width": "6"},
        raw("unheard of", RAMP),
    ],
)
def test_what_is_no_picture_gives_none(message: dict[str, Any]) -> None:
    assert gray_of(message) is None


def png() -> bytes:
    cv2 = pytest.importorskip("cv2")
    return bytes(cv2.imencode(".png", RAMP)[1])


def test_compressed_picture_by_either_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    data = png()
    message = {"data": data, "format": "png"}
    np.testing.assert_array_equal(gray_of(message), RAMP)
    np.testing.assert_array_equal(gray_of({**message, "data": base64.b64encode(data).decode()}), RAMP)
    monkeypatch.setitem(sys.modules, "cv2", None)
    pytest.importorskip("av")
    np.testing.assert_array_equal(gray_of(message), RAMP)
    assert gray_of({"data": data[:60], "format": "png"}) is None


def test_bytes_that_no_decoder_reads_are_not_told_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    cv2 = pytest.importorskip("cv2")
    level = cv2.utils.logging.getLogLevel()
    for beginning in (b"P5 U ", b"BM", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"):
        assert gray_of({"data": beginning + bytes(range(200)), "format": "jpeg"}) is None
    assert capfd.readouterr().err == ""
    assert cv2.utils.logging.getLogLevel() == level


def test_compressed_picture_without_a_decoder_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"onbeat\[vision\]"):
        gray_of({"data": b"\xff\xd8\xff", "format": "jpeg"})
