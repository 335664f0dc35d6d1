"""What got worse and what got better between two results of `onbeat check` on recordings of the same streams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onbeat.errors import BadInput
from onbeat.health.check import Figure

__all__ = ("RULE", "Change", "Comparison", "compare")

_COUNTED = 0.1
_RATE = 0.02

RULE = (
    "worse is a new finding, a stream that is gone, a rate that fell by more than 2 %, and a figure whose size grew so far that "
    "the two 95 % intervals part (a figure without an interval: by more than a tenth; a rate: fell)"
)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is not as it was.

    Args:
        what: "skew", "delay", "rate", "stream"; for a fault or note the name of the fault.
        streams: Which.
        name: Of the figure; "" where the whole finding came or went.
        before, after: Of the figure; None where it was not there.
    """

    what: str
    streams: tuple[str, ...]
    name: str = ""
    before: Figure | None = None
    after: Figure | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed against a baseline; what is neither is within its intervals."""

    worse: tuple[Change, ...]
    better: tuple[Change, ...]


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Compare two documents of `onbeat check`, by the rule in `RULE`.

    Of a finding and of a note the first figure is compared: it is the one that the fault is about. A finding that can no longer
    be judged counts neither way.

    Raises:
        BadInput: the first is no such document, or it is of a recording without a stream in common.
    """
    _check_related(before, after)
    worse: list[Change] = []
    better: list[Change] = []
    old, new = _said(before, "findings"), _said(after, "findings")
    open_, streams = _said(after, "unjudged"), set(_rates(after))
    for key, figures in new.items():
        if came := _rest(key, old):
            name, figure = next(iter(figures.items()), ("", None))
            worse.append(Change(key[0], came, name, None, figure))
    for key, figures in old.items():
        if (gone := _rest(key, new)) and set(gone) <= streams and _rest((key[0], gone), open_):
            name, figure = next(iter(figures.items()), ("", None))
            better.append(Change(key[0], gone, name, figure, None))
    for level in ("findings", "notes"):
        first, second = _said(before, level), _said(after, level)
        for key, figures in second.items():
            if not _rest(key, first):
                _weigh(key, _largest(key, first), figures, worse, better)
    rates, now = _rates(before), _rates(after)
    for stream, rate in rates.items():
        if stream not in now:
            worse.append(Change("stream", (stream,)))
        elif rate and now[stream]:
            moved = now[stream] / rate - 1
            if abs(moved) > _RATE:
                change = Change("rate", (stream,), "rate", Figure(rate, "Hz"), Figure(now[stream], "Hz"))
                (worse if moved < 0 else better).append(change)
    order = [*old, *new, *_said(before, "notes")]

    def place(change: Change) -> int:
        wanted = set(change.streams)
        return next((k for k, (fault, names) in enumerate(order) if fault == change.what and wanted <= set(names)), len(order))

    return Comparison(tuple(sorted(worse, key=place)), tuple(sorted(better, key=place)))


_Key = tuple[str, tuple[str, ...]]


def _related(key: _Key, said: Mapping[_Key, dict[str, Figure]]) -> list[_Key]:
    """Give what is the same fault: of the same streams, of more, or of some of them, as streams that share it are one finding."""
    mine = set(key[1])
    return [other for other in said if other[0] == key[0] and (set(other[1]) <= mine or set(other[1]) >= mine)]


def _rest(key: _Key, said: Mapping[_Key, dict[str, Figure]]) -> tuple[str, ...]:
    """Give the streams of a finding of which the same is not said."""
    there = {name for other in _related(key, said) for name in other[1]}
    return tuple(name for name in key[1] if name not in there)


def _largest(key: _Key, said: Mapping[_Key, dict[str, Figure]]) -> dict[str, Figure]:
    """Give the figures of what was said of the same streams, or else those of the largest of what was said of more or of some."""
    related = _related(key, said)
    same = [said[other] for other in related if set(other[1]) == set(key[1])]
    return (same or sorted((said[other] for other in related), key=_first_size))[-1]


def _first_size(figures: Mapping[str, Figure]) -> float:
    return max((abs(figure.value) for figure in list(figures.values())[:1]), default=0.0)


def _weigh(
    key: _Key, before: Mapping[str, Figure], after: Mapping[str, Figure], worse: list[Change], better: list[Change]
) -> None:
    name = next(iter(before), "")
    if name not in after or before[name].unit != after[name].unit:
        return
    low, high = _size(before[name])
    low_now, high_now = _size(after[name])
    change = Change(*key, name, before[name], after[name])
    less_is_worse = before[name].unit == "Hz"
    if low_now > high:
        (better if less_is_worse else worse).append(change)
    elif high_now < low:
        (worse if less_is_worse else better).append(change)


def _size(figure: Figure) -> tuple[float, float]:
    """Give the interval of the figure's size, its sign left out."""
    if figure.low is None or figure.high is None:
        half = _COUNTED / 2 * abs(figure.value)
        return abs(figure.value) - half, abs(figure.value) + half
    low, high = sorted((abs(figure.low), abs(figure.high)))
    return (0.0 if figure.low <= 0 <= figure.high else low), high


def _said(document: Mapping[str, Any], level: str) -> dict[_Key, dict[str, Figure]]:
    """Read what a document says on one level; of two notes of one fault and streams, the first.

    Raises:
        BadInput: the document is not as `onbeat check` writes it.
    """
    said: dict[_Key, dict[str, Figure]] = {}
    try:
        for one in document[level]:
            figures = {
                str(name): Figure(
                    float(f["value"]), str(f["unit"]), *(None if f[k] is None else float(f[k]) for k in ("low", "high"))
                )
                for name, f in one["figures"].items()
            }
            said.setdefault((str(one["fault"]), tuple(str(name) for name in one["streams"])), figures)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"the baseline's {level} are not as onbeat check writes them ({error!r}); make it anew") from error
    return said


def _rates(document: Mapping[str, Any]) -> dict[str, float]:
    try:
        streams: Sequence[Mapping[str, Any]] = document["recording"]["streams"]
        return {str(one["name"]): float(one["rate_hz"] or 0.0) for one in streams}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"the baseline's streams are not as onbeat check writes them ({error!r}); make it anew") from error


def _check_related(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    if before.get("schema") != after["schema"]:
        raise BadInput(
            f"the baseline is no result.json of this onbeat check (schema {before.get('schema')!r}, wanted {after['schema']!r}); "
            "make it anew with onbeat check"
        )
    asked, now = before.get("settings"), after.get("settings")
    if asked != now:
        raise BadInput(f"the baseline was made with other --only and --stream ({asked}, now {now}); give both the same")
    old, new = _rates(before), _rates(after)
    if not old.keys() & new.keys():
        raise BadInput(
            f"the baseline is of another recording: {before['recording'].get('name')!r} has no stream in common with "
            f"{after['recording']['name']!r}; check one of the same streams first, and give its result.json"
        )
