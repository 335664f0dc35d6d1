"""Does `onbeat check` name what is wrong, and is it silent where nothing is? Planted faults, clean recordings.

Faults are planted in made recordings by `onbeat.testing`, which shares nothing with the checks, written as MCAP files of ROS 2
messages and read back. Real files, memory, time and another program are in `bench_check_files.py`.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.bars import Bars
from onbeat.errors import OnbeatError
from onbeat.health.check import Verdict
from onbeat.health.examine import examine
from onbeat.read.open import open_streams
from onbeat.read.streams import StreamRecording
from onbeat.testing.faults import Planted, plant
from onbeat.testing.planting import survey
from onbeat.testing.recordings import STREAMS, arm_rig
from onbeat.testing.write_mcap import write_mcap

NAMED, STRETCH = 0.92, 0.97
NEAR = 0.05  # of a parameter
CRYSTAL_PPM = 4.5  # of a healthy rig, at most

# The eleven, each with the truth that its first figure is compared with, by the figure's unit.
CLASSES: dict[str, tuple[str, ...]] = {
    "skew": ("skew_ppm",),
    "step": ("step_s",),
    "slew": ("slew_ppm", "slewed_s"),
    "rate_flips": ("rate_ppm", "every_s"),
    "reference_died": ("rate_ppm", "at_s"),
    "bursts": ("samples", "every_s", "oldest_late_s"),
    "dropped_samples": ("lost", "lost_share"),
    "quantised_stamps": ("tick_s",),
    "tai_utc": ("leap_s",),
    "wrap": ("jump_s",),
    "repeated_samples": ("repeated", "repeated_share"),
}
OTHERS: dict[str, tuple[str, ...]] = {
    "drift": ("drift_ppm_per_s",),
    "two_clocks": ("apart_s",),
    "future_stamps": ("after_log_s", "ahead_s"),
    "stamped_at_delivery": (),
    "one_period_late": ("late_s",),
    "exposure_shift": (),
    "repeated_stamps": ("samples", "samples_share"),
    "unsorted_stamps": ("samples", "samples_share"),
    "rate_not_held": ("true_hz", "declared_hz"),
    "gap": ("gap_s",),
    "jitter": ("std_s",),
    "offset": ("late_s",),
    "action_before_observation": (),
}


@dataclass(frozen=True)
class Job:
    """One recording to make and to check. Fault "" for a clean one; by way of a file or not."""

    fault: str
    seed: int
    file: bool


@dataclass(frozen=True)
class Outcome:
    """What was said: findings as (fault, first stream); whether the parameter is near, None where there is no figure for it."""

    job: Job
    stream: str
    found: tuple[tuple[str, str], ...]
    near: bool | None = None
    detail: str = ""
    broken: str = ""

    @property
    def named(self) -> bool:
        return self.found == ((self.job.fault, self.stream),)

    @property
    def said(self) -> str:
        """The heaviest finding, or what was said too much."""
        if self.broken:
            return "broken"
        if not self.found:
            return "nothing"
        if self.found[0] != (self.job.fault, self.stream):
            return self.found[0][0] + ("" if self.found[0][1] == self.stream else " of another")
        return "right" if self.named else f"and {self.found[1][0]}"


def made(job: Job) -> tuple[StreamRecording, Planted | None]:
    """Make the recording of a seed, with its fault."""
    rng = np.random.default_rng([job.seed, sum(map(ord, job.fault))])
    # What bends slowly, or flips again and again, needs a while to be seen by anybody.
    span_s = float(np.exp(rng.uniform(*np.log((240, 480) if job.fault == "drift" else (30, 120)))))
    streams: Iterable[str] = STREAMS
    if job.file:
        streams = (STREAMS[0], str(rng.choice(STREAMS[1:5])), *STREAMS[5:])
    if not job.fault:
        return arm_rig(rng, None if not job.file else span_s, tuple(streams)), None
    recording = arm_rig(rng, span_s, tuple(streams), auto_exposure=True if job.fault == "exposure_shift" else None)
    return plant(recording, job.fault, rng)


def exposed(job: Job) -> bool:
    """Say whether the file gives exposures: every other one does, as some drivers do."""
    return job.seed % 2 == 0


def run(job: Job) -> Outcome:
    """Make, write, read back, check."""
    recording, truth = made(job)
    try:
        if not job.file:
            return judged(job, recording, truth)
        with tempfile.TemporaryDirectory(prefix="onbeat-bench-") as folder:
            path = Path(folder) / "made.mcap"
            write_mcap(recording, path, exposure=exposed(job))
            return judged(job, open_streams(path), truth)
    except OnbeatError as error:
        return Outcome(job, truth.stream if truth else "", (), broken=str(error))


def judged(job: Job, recording: StreamRecording, truth: Planted | None) -> Outcome:
    stream = truth.stream if truth else ""
    findings = [one for one in examine(recording).verdicts if one.level == "finding"]
    found = tuple((one.fault, one.streams[0] if one.streams else "") for one in findings)
    near, detail = None, "; ".join(f"{one.fault}: {one.sentence}" for one in findings[:3])
    if truth and findings and found[0] == (job.fault, stream):
        seen = survey(made(job)[0])
        begins_s = (seen[stream].first_ns - min(one.first_ns for one in seen.values())) / 1e9
        near, figures = compared(findings[0], truth, seen[stream].period_s, begins_s)
        detail = figures + "; " + detail
    return Outcome(job, stream, found, near, detail)


def compared(verdict: Verdict, truth: Planted, period_s: float, begins_s: float) -> tuple[bool | None, str]:
    """Compare the first figure with the truth of its unit: within 5 %, or one sample period where it is a time.

    The truth of an instant counts from the stream's first row, a report from the recording's; and to a planted rate comes that of
    the crystal that the rig has anyway.
    """
    name, figure = next(iter(verdict.figures.items()))
    keys = {**CLASSES, **OTHERS}[truth.fault]
    suits = {"s": "_s", "ppm": "_ppm", "Hz": "_hz", "ppm/min": "_ppm_per_s"}
    ending = suits.get(figure.unit, "")
    size = abs(figure.value) / (60 if figure.unit == "ppm/min" else 1)
    units = tuple(suits.values())
    told = {k: abs(truth.parameters[k]) for k in keys if (k.endswith(ending) if ending else not k.endswith(units))}
    if not told:
        return None, f"{name} {figure.value:g} {figure.unit}, no truth in that unit"
    told = {k: value + begins_s * (k in ("at_s", "from_s")) for k, value in told.items()}
    # A count has a share beside it, a group its age: the truth that is nearest is the one that is meant.
    key = min(told, key=lambda k: abs(np.log(size + 1e-12) - np.log(told[k] + 1e-12)))
    error = abs(size - told[key])
    near = error <= NEAR * told[key] or (figure.unit == "s" and error <= period_s)
    near = near or (figure.unit == "ppm" and error <= NEAR * told[key] + CRYSTAL_PPM)
    return bool(near), f"{name} {figure.value:g} {figure.unit}, truth {key} {told[key]:g}"


# Bars


def confusion(outcomes: Iterable[Outcome]) -> str:
    """Say for each planted fault what was said, as lines."""
    rows: dict[str, Counter[str]] = {}
    for one in outcomes:
        rows.setdefault(one.job.fault or "(clean)", Counter())[one.said] += 1
    return "\n".join(f"{fault:26} {', '.join(f'{n} {said}' for said, n in row.most_common())}" for fault, row in rows.items())


def row_of(fault: str, outcomes: list[Outcome]) -> dict[str, Any]:
    named = [one for one in outcomes if one.named]
    near = [one.near for one in named if one.near is not None]
    figure = f"{len(named)} of {len(outcomes)} named right"
    figure += f", {sum(near)} of {len(near)} figures near" if near else ", no figure to compare"
    met = len(named) >= NAMED * len(outcomes) and sum(near) >= NAMED * len(near)
    return {
        "what": f"planted {fault}",
        "bar": f">= {NAMED:.0%} named right; figures within 5 % or a period",
        "figure": figure,
        "met": met,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=20, help="of each of the eleven")
    parser.add_argument("--other-seeds", type=int, default=4, help="of each other fault")
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--first", type=int, default=14000, help="the first seed: others than those that were looked at")
    parser.add_argument("--only", default="", help="faults to plant, with commas between; no other rows")
    parser.add_argument("--show", action="store_true", help="say of each miss what was said")
    options = parser.parse_args()
    bars = Bars(options.json)
    tell = bars.tell

    only = [name for name in options.only.split(",") if name]
    jobs = [
        *(Job(f, options.first + k, True) for f in CLASSES for k in range(options.seeds) if f in (only or CLASSES)),
        *(Job(f, options.first + k, False) for f in OTHERS for k in range(options.other_seeds) if f in (only or OTHERS)),
        *(Job("", options.first + k, k % 5 == 0) for k in range(options.clean) if not only),
    ]
    with ProcessPoolExecutor(2) as pool:
        outcomes = []
        for one in pool.map(run, jobs):
            outcomes.append(one)
            if options.show and (one.found or one.broken or one.job.fault) and (one.said != "right" or one.near is False):
                name = f"{one.job.fault or '(clean)'} {one.job.seed} {one.stream}"
                print(f"{name}: {one.said}: {one.broken or one.detail}", file=sys.stderr, flush=True)
        print(confusion(outcomes), file=sys.stderr)
        by_fault: Mapping[str, list[Outcome]] = {f: [one for one in outcomes if one.job.fault == f] for f in (*CLASSES, *OTHERS)}
        for fault, own in by_fault.items():
            if own:
                tell(**row_of(fault, own))
        eleven = [one for fault in CLASSES for one in by_fault[fault]]
        if not only:
            named = sum(one.named for one in eleven)
            figure = f"{named} of {len(eleven)} named right ({named / len(eleven):.1%}; stretch {STRETCH:.0%})"
            tell("eleven faults, planted", f">= {NAMED:.0%}", figure, named >= NAMED * len(eleven))
            clean = [one for one in outcomes if not one.job.fault]
            wrong = sum(bool(one.found or one.broken) for one in clean)
            tell(f"{len(clean)} clean made recordings", "no finding", f"{wrong} with a finding", wrong == 0)
    bars.end()


if __name__ == "__main__":
    main()
