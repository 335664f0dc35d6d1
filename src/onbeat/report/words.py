"""Numbers, names and sentences as people read them: units that fit, names that end, nothing that a terminal would obey."""

from collections.abc import Sequence

from onbeat.health.check import Figure, Verdict

__all__ = (
    "as_sentence",
    "counted",
    "duration",
    "figure_cells",
    "in_words",
    "listed",
    "named",
    "printable",
    "quantity",
    "short",
    "spoken",
)

_LONGEST = 60
_SHARES = ("share", "off")  # figures that begin so, and these, are parts of a whole
_PARTS = frozenset({"missed", "late", "late rows", "past rows", "chunks too late"})
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def printable(text: str) -> str:
    """Replace what does not print (controls of a terminal, halves of characters) by a question mark, and line ends by a space."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def short(name: str, longest: int = _LONGEST) -> str:
    """Give a name that fits: printable, and with its middle left out where it is longer."""
    if len(name) > longest:
        head = (longest - 1) // 2
        name = f"{name[:head]}…{name[len(name) - (longest - 1 - head) :]}"
    return printable(name)


def listed(names: Sequence[str], most: int = 4) -> str:
    """List some names: the first few, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(short(name) for name in names[:most]) + more


def spoken(verdict: Verdict, words: str | None = None) -> str:
    """Give the sentence of a verdict (or other words of it), with names of streams that fit."""
    words = verdict.sentence if words is None else words
    for name in verdict.streams:
        if len(name) > _LONGEST:
            words = words.replace(name, short(name))
    return printable(words).strip()


def named(verdict: Verdict) -> str:
    """Give the sentence of a verdict, with its streams before it where it does not speak of them itself."""
    words = spoken(verdict)
    if not verdict.streams or any(short(name) in words for name in verdict.streams):
        return words
    return f"{listed(verdict.streams)}: {words}"


def as_sentence(text: str, names: Sequence[str] = ()) -> str:
    """Begin with a capital, unless one of the names begins it, and end with a full stop."""
    text = text.strip().rstrip(".")
    if not any(name and text.startswith(short(name)) for name in names):
        text = f"{text[:1].upper()}{text[1:]}"
    return text if not text or text.endswith(("?", "!")) else f"{text}."


def counted(count: int, noun: str, plural: str = "") -> str:
    """Say how many: "1 stream", "3 streams"."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def in_words(fault: str) -> str:
    """Write the name of a fault as words."""
    return fault.replace("_", " ").replace("tai utc", "TAI against UTC")


def quantity(value: float, unit: str) -> str:
    """Write a quantity with the unit that fits: 0.0123 s is 12.3 ms."""
    return _scaled(value, unit, value)


def duration(seconds: float) -> str:
    """Write a long time: 95 s is 1 min 35 s."""
    if abs(seconds) < 120:
        return quantity(seconds, "s")
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def figure_cells(name: str, figure: Figure) -> tuple[str, str, str]:
    """Give the cells of a table of figures: name, value, 95 % interval; shares are written in percent."""
    name, value, unit = name.replace("_", " "), figure.value, figure.unit
    factor, interval = 1.0, ""
    if unit == "1" and (name.startswith(_SHARES) or name in _PARTS):
        factor, unit, value = 100.0, "%", 100.0 * value
    if figure.low is not None and figure.high is not None:
        low, high = (_scaled(factor * bound, unit, value) for bound in (figure.low, figure.high))
        # An interval that is finer than the digits would be one number twice.
        interval = f"{low} to {high}" if low != high else f"± {quantity(factor * (figure.high - figure.low) / 2, unit)}"
    return name, quantity(value, unit), interval


def _scaled(value: float, unit: str, scale: float) -> str:
    """Write a value in the unit that fits another one, so that both compare at a glance."""
    if unit == "s":
        factor, unit = next(((f, u) for f, u in _SECONDS if abs(scale) >= f * 0.9995), _SECONDS[-1] if scale else (1.0, "s"))
        value /= factor
    return f"{_number(value)}{'' if unit in ('1', '') else ' ' + unit}"


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
