"""A picture of an offset against time, drawn with the dots of braille: two columns and four rows in each character."""

from collections.abc import Sequence

__all__ = ("draw_offset",)

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800


def draw_offset(
    times_s: Sequence[float], offsets_us: Sequence[float], bounds_us: Sequence[float], *, width: int = 72, height: int = 12
) -> list[str]:
    """Draw offsets as dots, and their bounds as thin edges above and below; newest at the right.

    Args:
        times_s: Increasing.
        offsets_us, bounds_us: As many.
        width, height: In characters, without the scale at the left.

    Returns:
        Lines of text; the first and the last say how far the scale reaches, in us.
    """
    if len(times_s) < 2:
        return ["waiting for exchanges"]
    low, high = min(offsets_us), max(offsets_us)
    # Bounds are drawn where they are of the offsets' size; where they are far wider they would flatten the picture.
    reach = max(high - low, 1e-3)
    edges = [(o - b, o + b) for o, b in zip(offsets_us, bounds_us, strict=True)]
    if max(bounds_us) < 3 * reach:
        low, high = min(e[0] for e in edges), max(e[1] for e in edges)
    pad = 0.05 * max(high - low, 1e-3)
    low, high = low - pad, high + pad
    cells = [[0] * width for _ in range(height)]

    def dot(time_s: float, value: float) -> None:
        if not low <= value <= high:
            return
        x = int((time_s - times_s[0]) / max(times_s[-1] - times_s[0], 1e-9) * (2 * width - 1))
        y = int((high - value) / (high - low) * (4 * height - 1))
        cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]

    for k, (time_s, offset, (below, above)) in enumerate(zip(times_s, offsets_us, edges, strict=True)):
        dot(time_s, offset)
        if k % 3 == 0:
            dot(time_s, below)
            dot(time_s, above)
    labels = {0: f"{high:.1f}", height - 1: f"{low:.1f}"}
    margin = max(len(text) for text in labels.values())
    lines = [f"{labels.get(k, ''):>{margin}} {''.join(chr(_BLANK + cell) for cell in row)}" for k, row in enumerate(cells)]
    span = f"{times_s[-1] - times_s[0]:.0f} s"
    return [*lines, f"{'us':>{margin}} {span + ' ago':<{width - 3}}now"]
