"""The pictures that messages carry, as luminance: raw ones by numpy, compressed ones by OpenCV or PyAV where one is installed."""

import base64
import binascii
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import MissingExtra
from onbeat.read.ros_messages import field

__all__ = ("gray_of", "spread")

_RUN = 300  # frames of one run: 10 s of a usual camera, long enough for a motion to be recognised in it
_MOST_PIXELS = 1 << 28
# ITU-R BT.601, as every decoder of JPEG has it.
_LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_COLOURS = {
    "rgb8": (3, (0, 1, 2)),
    "bgr8": (3, (2, 1, 0)),
    "8UC3": (3, (2, 1, 0)),
    "rgba8": (4, (0, 1, 2)),
    "bgra8": (4, (2, 1, 0)),
    "8UC4": (4, (2, 1, 0)),
}
_SHIFT = {"mono16": 8, "16UC1": 5}  # a depth in mm stays distinct up to 8 m
_YUV = {"uyvy": 1, "yuv422": 1, "yuyv": 0, "yuv422_yuy2": 0}


def spread(n: int, most: int) -> list[tuple[int, int]]:
    """Choose at most so many of n pictures: all, or runs of neighbours spread evenly over them.

    Returns:
        First and past-the-last number of each run.
    """
    if n <= most:
        return [(0, n)] if n else []
    runs = max(most // _RUN, 1)
    size = most // runs
    if size < 1:
        return []
    starts = [(n - size) // 2] if runs == 1 else np.linspace(0, n - size, runs).astype(np.int64).tolist()
    return [(start, start + size) for start in starts]


def gray_of(message: Any) -> NDArray[np.uint8] | None:
    """Give the picture of a decoded message, raw or compressed; None where it holds none that can be decoded.

    Raises:
        MissingExtra: it is compressed, and neither OpenCV nor PyAV is installed.
    """
    data = field(message, "data")
    if isinstance(data, str):
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return None
    if data is None or not len(data):
        return None
    if field(message, "width") is not None and field(message, "encoding") is not None:
        return _raw(message, np.frombuffer(data, dtype=np.uint8))
    return _compressed(bytes(data), str(field(message, "format") or ""))


def _raw(message: Any, data: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    height, width, encoding = field(message, "height"), field(message, "width"), str(field(message, "encoding"))
    step = field(message, "step") or 0
    if not (isinstance(height, int) and isinstance(width, int) and isinstance(step, int)) or min(height, width) < 1:
        return None
    each = _COLOURS[encoding][0] if encoding in _COLOURS else 2 if encoding in _SHIFT or encoding in _YUV else 1
    step = step or width * each
    if step < width * each or height * step > len(data):
        return None
    lines = data[: height * step].reshape(height, step)[:, : width * each]
    if encoding in _COLOURS:
        order = list(_COLOURS[encoding][1])
        colours = lines.reshape(height, width, each)[:, :, order].astype(np.float32)
        return np.asarray(np.rint(colours @ _LUMINANCE), dtype=np.uint8)
    if encoding in _SHIFT:
        big = bool(field(message, "is_bigendian"))
        depth = np.ascontiguousarray(lines).view(">u2" if big else "<u2")
        return np.asarray(np.minimum(depth >> _SHIFT[encoding], 255), dtype=np.uint8)
    if encoding in _YUV:
        return np.ascontiguousarray(lines[:, _YUV[encoding] :: 2])
    if encoding.startswith("bayer_") and encoding.endswith("8"):
        # Four neighbours hold each colour once or twice: their mean is a luminance at half the size.
        even = lines[: height // 2 * 2, : width // 2 * 2].astype(np.uint16)
        total = even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]
        return np.asarray(total >> 2, dtype=np.uint8) if total.size else None
    if encoding in ("mono8", "8UC1", "nv12", "nv21"):
        return np.ascontiguousarray(lines)
    return None


def _compressed(data: bytes, kind: str) -> NDArray[np.uint8] | None:
    deep = "compressedDepth" in kind
    if deep:
        data = data[12:]  # its own header: a format and two numbers
    try:
        import cv2
    except ImportError:
        return _by_av(data)
    logging = cv2.utils.logging
    level = logging.setLogLevel(logging.LOG_LEVEL_SILENT)  # what is no picture is told by None, not on the terminal
    try:
        picture = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_UNCHANGED if deep else cv2.IMREAD_GRAYSCALE)
    except cv2.error:
        return None
    finally:
        logging.setLogLevel(level)
    if picture is None or picture.ndim != 2 or picture.size > _MOST_PIXELS:
        return None
    return np.asarray(np.minimum(picture // 32, 255) if picture.dtype == np.uint16 else picture, dtype=np.uint8)


def _by_av(data: bytes) -> NDArray[np.uint8] | None:
    try:
        import av
    except ImportError:
        raise MissingExtra("OpenCV, which decodes the pictures of a recording,", "vision") from None
    codec = "png" if data.startswith(b"\x89PNG") else "mjpeg" if data.startswith(b"\xff\xd8") else None
    if codec is None:
        return None
    decoder: Any = av.CodecContext.create(codec, "r")
    try:
        frames = decoder.decode(av.Packet(data))
    except av.FFmpegError:
        return None
    return np.asarray(frames[0].to_ndarray(format="gray"), dtype=np.uint8) if frames else None
