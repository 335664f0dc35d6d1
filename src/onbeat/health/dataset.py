"""What a data set's counted stamps hide: the loop's true rate, the cameras' age, and videos that disagree with the rows."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Curve, Evidence, Figure, Plot, Verdict
from onbeat.read.spool import Series

__all__ = ("DATASET", "STRETCH", "judge_dataset")

# In `Evidence.shared`: true time over the time of the counted stamps, where the rate is not held.
STRETCH = "stretch"
_RATE_OFF = 0.005
_FEWEST = 20  # intervals
_BLOCKS = 12
_OLD_PERIODS = 1.5
_OTHER_CLOCK_S = 5.0  # no camera is that old; its stamps are on another clock
_TOLERANCE_S = 1e-4  # LeRobot's own
_MOST_POINTS = 2000


def judge_dataset(evidence: Evidence) -> Iterator[Verdict]:
    """Judge what was stamped by a count from what else the data set keeps: true times, ages, and videos."""
    counted = [line for line in evidence.timelines.values() if line.info.counted and line.info.kind in ("action", "joints")]
    true = [line for line in evidence.timelines.values() if line.info.type == "true times"]
    rows = next((line for line in sorted(true, key=_likeness_to_rows) if line.info.kind != "image"), None)
    ages = [line for line in evidence.timelines.values() if line.info.type == "ages"]
    videos = [line for line in evidence.timelines.values() if line.info.type == "video"]
    if counted:
        yield _counted(evidence, counted, true, videos)
        if true:
            for verdict in _rate(counted, rows or true[0], true):
                evidence.shared[STRETCH] = verdict.figures["declared rate"].value / verdict.figures["true rate"].value
                yield verdict
    for line in true:
        if rows is not None and line.info.kind == "image":
            yield from _age(line, *_ages_behind(line, rows))
    for line in ages:
        values = np.concatenate([block["value"][:, 0] for block in line.series.blocks()])
        yield from _age(line, values[np.isfinite(values)], line.name)
    reference = next((line for line in evidence.timelines.values() if line.info.kind in ("action", "joints")), None)
    if reference is not None:
        for line in videos:
            yield from _video(line, reference)


def _likeness_to_rows(line: Timeline) -> int:
    words = line.name.lower()
    return 0 if "row" in words else 1 if "state" in words or "wall" in words else 2


def _counted(evidence: Evidence, counted: Sequence[Timeline], true: Sequence[Timeline], videos: Sequence[Timeline]) -> Verdict:
    left = ["how late joints follow their commands"] if evidence.recording.joints else []
    left += ["whether pictures repeat and videos agree with the rows"] if videos else []
    left += ["rate, jitter and drops from the columns of true times"] if true else []
    why = counted[0].info.note or "stamps were computed from a count"
    judged = f"judged: {', '.join(left)}" if left else "nothing of its timing can be judged"
    return Verdict(
        "counted_stamps",
        tuple(line.name for line in counted),
        "note",
        f"{why}: it cannot show jitter, a slow loop or a dropped frame; {judged}",
        {"declared rate": Figure(counted[0].info.declared_hz, "Hz")} if counted[0].info.declared_hz else {},
        fix="" if true else "record true times beside it: one int64 column of nanoseconds for the row, and one for each camera",
        weight=0.5,
    )


def _rate(counted: Sequence[Timeline], line: Timeline, true: Sequence[Timeline]) -> Iterator[Verdict]:
    """Compare the declared rate with the rows' true times; single gaps are another fault, and are left out."""
    declared = counted[0].info.declared_hz
    steps = line.intervals_ns()
    steps = steps[steps > 0].astype(np.float64)
    if not declared or len(steps) < _FEWEST:
        return
    kept = steps[steps <= np.quantile(steps, 0.99)] if len(steps) >= 100 else steps
    kept = kept[kept < 5 * np.median(kept)]
    means = np.array([part.mean() for part in np.array_split(kept, _BLOCKS) if len(part)])
    period, half = float(kept.mean()), 2.2 * float(np.std(means, ddof=1)) / len(means) ** 0.5
    true_hz = 1e9 / period
    low, high = 1e9 / (period + half), 1e9 / max(period - half, 1.0)
    off = true_hz / declared - 1
    if abs(off) <= _RATE_OFF or low <= declared <= high:
        return
    longest_s = max((int(line.t_ns[b - 1]) - int(line.t_ns[a]) for a, b in line.segments()), default=0) / 1e9
    wrong_s = longest_s * abs(1 - true_hz / declared)
    yield Verdict(
        "rate_not_held",
        (counted[-1].name, *(one.name for one in true), *(one.name for one in counted[:-1])),
        "finding",
        f"declared {declared:.4g} Hz, true {true_hz:.3g} Hz: the loop is {'slower' if off < 0 else 'faster'} than its fps; "
        f"after {longest_s:.3g} s every stamp is {wrong_s:.2g} s wrong",
        {
            "true rate": Figure(true_hz, "Hz", low, high),
            "declared rate": Figure(declared, "Hz"),
            "off": Figure(off, "1", low / declared - 1, high / declared - 1),
            "wrong at the end": Figure(wrong_s, "s"),
        },
        "take the time of an episode with a watch, and count its rows",
        f"train with the true times of {line.name}, or declare {true_hz:.3g} Hz; then make the loop shorter than its period, "
        "which is mostly the cameras: read them in threads, and take the newest picture",
        _rate_plot(line, declared),
        frozenset({"rate_not_held"}),
        wrong_s,
    )


def _rate_plot(line: Timeline, declared: float) -> Plot:
    a, b = max(line.segments(), key=lambda span: span[1] - span[0])
    pick = np.unique(np.linspace(a, b - 1, min(b - a, _MOST_POINTS)).astype(int))
    count = line.index[pick] - line.index[a]
    true_s = (line.t_ns[pick] - line.t_ns[a]) / 1e9
    return Plot(
        "Stamps against true time, in the longest episode",
        "true time (s)",
        "stamp minus true time (s)",
        (Curve("frame_index / fps", true_s, count / declared - true_s), Curve("held", true_s, np.zeros(len(pick)))),
    )


def _ages_behind(line: Timeline, rows: Timeline) -> tuple[NDArray[np.float64], str]:
    """Give how much older than its row each picture is, s, joined by episode and count."""
    ages = []
    mine, theirs = (_by_segment(one.series) for one in (line, rows))
    for segment, (seq, stamps) in mine.items():
        if segment in theirs:
            _, i, k = np.intersect1d(seq, theirs[segment][0], return_indices=True)
            ages.append((theirs[segment][1][k] - stamps[i]) / 1e9)
    return np.concatenate(ages) if ages else np.empty(0), rows.name


def _age(line: Timeline, ages_s: NDArray[np.float64], behind: str) -> Iterator[Verdict]:
    if len(ages_s) < _FEWEST:
        return
    low, middle, high = np.quantile(ages_s, (0.025, 0.5, 0.975)).tolist()
    period_s = 1 / line.info.declared_hz if line.info.declared_hz else line.period_ns / 1e9
    if abs(middle) > _OTHER_CLOCK_S:
        yield Verdict(
            "offset",
            (line.name,),
            "note",
            f"{line.name} and {behind} are {middle:.4g} s apart: on two clocks, so no age is known",
        )
        return
    half = 1.253 * 1.96 * float(np.std(ages_s)) / len(ages_s) ** 0.5  # of a median
    figures = {
        "age": Figure(middle, "s", middle - half, middle + half),
        "youngest of 95 %": Figure(low, "s"),
        "oldest of 95 %": Figure(high, "s"),
    }
    said = (
        f"pictures are {1e3 * middle:.3g} ms older than their rows (median; 95 % of them {1e3 * low:.3g} to {1e3 * high:.3g} ms)"
    )
    plot = Plot(
        "Age of each picture in its row",
        "row",
        "age (ms)",
        (Curve("age", *_thinned(1e3 * ages_s), "dots"),),
    )
    if middle > _OLD_PERIODS * period_s:
        yield Verdict(
            "offset",
            (line.name,),
            "finding",
            f"{said}: that is {middle / period_s:.2g} periods, so a row pairs a picture with joints that have moved on",
            figures,
            "film a screen that shows the row's number, and read in the picture how many rows it is behind",
            "pair each picture with the state at its own time, by the true times; then shorten the queue: keep one buffer in the "
            "driver, and read the newest picture",
            plot,
            weight=middle,
        )
    else:
        yield Verdict("offset", (line.name,), "note", f"{line.name}: {said}", figures, plot=plot, weight=0.2)


def _video(line: Timeline, reference: Timeline) -> Iterator[Verdict]:
    """Compare each episode's video with its rows: as many pictures, presented when the rows say."""
    mine, theirs = (_by_segment(one.series) for one in (line, reference))
    short: list[tuple[int, int, int]] = []
    worst_s, where, offs = 0.0, (0, 0), []
    for segment, (_, presented) in mine.items():
        if segment not in theirs:
            continue
        stamps = theirs[segment][1]
        if len(presented) != len(stamps):
            short.append((segment, len(presented), len(stamps)))
        n = min(len(presented), len(stamps))
        if not n:
            continue
        off_s = (presented[:n] - stamps[:n]) / 1e9
        offs.append(off_s)
        k = int(np.argmax(np.abs(off_s)))
        if abs(off_s[k]) > worst_s:
            worst_s, where = float(abs(off_s[k])), (segment, k)
    if short:
        segment, pictures, rows = max(short, key=lambda one: abs(one[1] - one[2]))
        yield Verdict(
            "dropped_samples",
            (line.name,),
            "finding",
            f"the video has other counts of pictures than rows in {len(short)} of {len(mine)} episodes: in episode {segment} "
            f"{pictures} for {rows}",
            {"difference": Figure(float(pictures - rows), "1"), "episodes": Figure(float(len(short)), "1")},
            "count the pictures of that episode with ffprobe -count_frames",
            "encode the episode again with one picture for each row, or leave it out",
            weight=abs(pictures - rows) * line.period_ns / 1e9,
        )
    if worst_s > _TOLERANCE_S:
        every = np.concatenate(offs)
        yield Verdict(
            "offset",
            (line.name,),
            "finding",
            f"the video's presentation times differ from timestamp by up to {1e3 * worst_s:.3g} ms (episode {where[0]}, picture "
            f"{where[1]}): LeRobot allows {1e3 * _TOLERANCE_S:g} ms and will refuse to load it, or show another picture",
            {"largest": Figure(worst_s, "s"), "median": Figure(float(np.median(every)), "s")},
            "load that episode with LeRobot: it raises FrameTimestampError, or says that timestamps violate the tolerance",
            "encode the video at a constant rate with pts = frame_index / fps, and write timestamp as frame_index / fps; keep "
            "true times in a column of their own",
            Plot(
                "Presentation time minus timestamp",
                "picture",
                "difference (ms)",
                (Curve("difference", *_thinned(1e3 * every), "dots"),),
            ),
            frozenset({"jitter", "rate_not_held", "gap", "dropped_samples"}),
            worst_s,
        )


def _by_segment(series: Series) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Give counts and stamps of each episode."""
    parts: dict[int, list[NDArray[np.int64]]] = {}
    for block in series.blocks():
        both = np.stack([block["seq"], block["stamp_ns"]])
        edges = [0, *(np.flatnonzero(np.diff(block["segment"])) + 1).tolist(), len(block)]
        for a, b in pairwise(edges):
            parts.setdefault(int(block["segment"][a]), []).append(both[:, a:b])
    joined = {segment: np.concatenate(pieces, axis=1) for segment, pieces in parts.items()}
    return {segment: (both[0], both[1]) for segment, both in joined.items()}


def _thinned(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pick = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST_POINTS)).astype(int))
    return pick.astype(np.float64), values[pick]


DATASET = Check("data set", ("counted_stamps", "rate_not_held", "offset", "dropped_samples"), judge_dataset)
