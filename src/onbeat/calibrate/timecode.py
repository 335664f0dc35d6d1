"""The time on a screen: a code that carries the instant at which it was drawn, and how long each one stays."""

from dataclasses import dataclass
from math import isfinite

import numpy as np
import segno
import zxingcpp
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("Code", "CodeSchedule", "decode_codes", "encode_code", "read_codes")

# Version 1 at level Q holds 27 digits: few, large modules and a quarter of them correctable.
PAYLOAD_DIGITS = 19
HOLD_DIGITS = 4
CHECK_DIGITS = 2
HOLD_UNIT_NS = 100_000
QUIET_MODULES = 4


@dataclass(frozen=True, slots=True)
class Code:
    """What one code says.

    Args:
        payload_ns: Instant at which it was drawn, on the clock of the screen's machine.
        hold_ns: How long it is to stay, in steps of 0.1 ms; 0 when the code does not say.
    """

    payload_ns: int
    hold_ns: int = 0


def encode_code(payload_ns: int, hold_ns: int = 0) -> NDArray[np.uint8]:
    """Draw a code: one pixel a module, 0 or 255, with its quiet zone; enlarge it by whole factors only.

    Args:
        payload_ns: Instant of drawing, 0 <= payload_ns < 2**63.
        hold_ns: How long the code will stay, below 1 s, rounded to 0.1 ms; a camera on another machine needs it.

    Returns:
        Image of shape (29, 29).

    Raises:
        BadInput: an instant or a hold out of range.
    """
    payload, hold = int(payload_ns), round(int(hold_ns) / HOLD_UNIT_NS)
    if not 0 <= payload < 2**63:
        raise BadInput(f"a code carries an instant from 0 to 2**63 - 1 ns, not {payload}")
    if not 0 <= hold < 10**HOLD_DIGITS:
        raise BadInput(f"a code is held for less than 1 s, not {int(hold_ns) / 1e9:.3f} s")
    body = f"{payload:0{PAYLOAD_DIGITS}d}{hold:0{HOLD_DIGITS}d}"
    symbol = segno.make(body + _check(body), mode="numeric", version=1, error="q", micro=False, boost_error=False)
    modules = np.array([list(row) for row in symbol.matrix_iter(border=QUIET_MODULES)], dtype=np.bool_)
    return np.where(modules, 0, 255).astype(np.uint8)


def read_codes(frame: NDArray[np.uint8]) -> list[Code]:
    """Read every code of ours that a frame shows; anything else in view is passed over.

    One threshold for the whole image comes first: it reads a blend of two codes where the default cannot
    (67 of 100 frames against none in the middle of a change), and the default follows for uneven light.

    Args:
        frame: Grey (h, w) or colour (h, w, 3), uint8.
    """
    image = np.ascontiguousarray(frame)
    if image.dtype != np.uint8 or image.ndim not in (2, 3):
        raise BadInput(f"a frame must be uint8 of shape (h, w) or (h, w, 3), not {image.dtype} of shape {image.shape}")
    formats = zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
    one_threshold = zxingcpp.Binarizer.GlobalHistogram
    for plain in (True, False):
        if plain:
            found = zxingcpp.read_barcodes(
                image, formats, try_rotate=False, try_downscale=False, try_invert=False, binarizer=one_threshold
            )
        else:
            found = zxingcpp.read_barcodes(image, formats)
        codes = [code for code in (_parse(symbol.text) for symbol in found) if code is not None]
        if codes:
            return codes
    return []


def decode_codes(frame: NDArray[np.uint8]) -> list[int]:
    """Read the instants of every code of ours that a frame shows, see :func:`read_codes`."""
    return [code.payload_ns for code in read_codes(frame)]


def _check(body: str) -> str:
    return f"{98 - int(body) * 100 % 97:0{CHECK_DIGITS}d}"


def _parse(text: str) -> Code | None:
    if len(text) != PAYLOAD_DIGITS + HOLD_DIGITS + CHECK_DIGITS or not text.isascii() or not text.isdigit():
        return None
    body, check = text[:-CHECK_DIGITS], text[-CHECK_DIGITS:]
    if _check(body) != check:
        return None
    return Code(int(body[:PAYLOAD_DIGITS]), int(body[PAYLOAD_DIGITS:]) * HOLD_UNIT_NS)


class CodeSchedule:
    """When the screen shows the next code: holds of random length, so that no camera can run in step with them.

    A hold of 1/15 s locks to cameras of 15, 30 and 60 frames a second, and then every session measures another wrong value.

    Args:
        refresh_hz: Refresh rate of the screen.
        rng: Generator that the holds are drawn from.
        shortest: Least hold, in refreshes.
        longest: Greatest hold, in refreshes.

    Raises:
        BadInput: a rate or a range of holds that makes no sense.
    """

    def __init__(self, refresh_hz: float, rng: np.random.Generator, *, shortest: float = 3.5, longest: float = 6.5) -> None:
        if not isfinite(refresh_hz) or refresh_hz <= 0:
            raise BadInput(f"refresh_hz must be positive, not {refresh_hz}")
        if not 1 <= shortest < longest or longest / refresh_hz >= 1:
            raise BadInput(
                f"holds must span a range from one refresh up to one second, not {shortest} to {longest} refreshes of "
                f"{1e3 / refresh_hz:.1f} ms"
            )
        self._refresh_ns = 1e9 / refresh_hz
        self._rng = rng
        self._range = (shortest, longest)
        self.next_ns: int | None = None

    def step(self, now_ns: int) -> Code | None:
        """Give the code to draw now, or None while the last one still stands; ``next_ns`` says until when."""
        if self.next_ns is not None and now_ns < self.next_ns:
            return None
        hold_ns = round(float(self._rng.uniform(*self._range)) * self._refresh_ns / HOLD_UNIT_NS) * HOLD_UNIT_NS
        self.next_ns = now_ns + hold_ns
        return Code(now_ns, hold_ns)
