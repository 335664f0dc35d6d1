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
    open_ = set(_said(after, "unjudged"))
    for key, figures in new.items():
        if key not in old:
            name, figure = next(iter(figures.items()), ("", None))
            worse.append(Change(*key, name, None, figure))
    for key, figures in old.items():
        if key not in new and key not in open_ and set(key[1]) <= set(_rates(after)):
            name, figure = next(iter(figures.items()), ("", None))
            better.append(Change(*key, name, figure, None))
    for level in ("findings", "notes"):
        first, second = _said(before, level), _said(after, level)
        for key in first.keys() & second.keys():
            _weigh(key, first[key], second[key], worse, better)
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
    places = {key: k for k, key in reversed(list(enumerate(order)))}

    def place(change: Change) -> int:
        return places.get((change.what, change.streams), len(order))

    return Comparison(tuple(sorted(worse, key=place)), tuple(sorted(better, key=place)))


_Key = tuple[str, tuple[str, ...]]


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
