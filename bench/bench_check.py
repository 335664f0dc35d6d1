"""Does `onbeat check` name what is wrong, and is it silent where nothing is? Planted faults, clean recordings, memory, time.

Faults are planted in made recordings by `onbeat.testing`, which shares nothing with the checks, written as MCAP files of ROS 2
messages and read back. Beside it, on the same files, `clockdoctor` from the package index in an environment of its own.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onbeat.errors import OnbeatError
from onbeat.health.check import Verdict
from onbeat.health.examine import examine
from onbeat.read.open import find_recordings, open_streams
from onbeat.read.streams import StreamRecording
from onbeat.testing.faults import Planted, plant
from onbeat.testing.planting import survey
from onbeat.testing.recordings import STREAMS, arm_rig
from onbeat.testing.write_csv import write_csv
from onbeat.testing.write_mcap import write_mcap

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("ONBEAT_DATA", ROOT.parent / "shared" / "data"))
PEER = "clockdoctor==0.1.0"
NAMED, STRETCH = 0.92, 0.97
PEER_TIMES = 2
NEAR = 0.05  # of a parameter
CRYSTAL_PPM = 4.5  # of a healthy rig, at most
MB = 1_000_000
SIZES_MB = (50, 200)
USUAL_S = 10.0
WATCH = """import os, subprocess, sys, time
began = time.monotonic()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss, time.monotonic() - began, child.returncode)"""

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
# What clockdoctor says, and all that it could mean by it.
MEANS = {
    "clock_drift": {"skew", "slew", "rate_flips", "reference_died", "drift"},
    "clock_offset": {"tai_utc", "two_clocks", "wrap", "step"},
    "buffering": {"bursts"},
    "gap": {"dropped_samples", "gap"},
    "coarse_resolution": {"quantised_stamps"},
    "duplicate_timestamp": {"repeated_stamps", "repeated_samples", "bursts"},
    "out_of_order": {"unsorted_stamps", "wrap"},
}


@dataclass(frozen=True)
class Job:
    """One recording to make and to check. Fault "" for a clean one; by way of a file or not; beside the peer or not."""

    fault: str
    seed: int
    file: bool
    peer: str = ""


@dataclass(frozen=True)
class Outcome:
    """What was said: findings as (fault, first stream); whether the parameter is near, None where there is no figure for it."""

    job: Job
    stream: str
    found: tuple[tuple[str, str], ...]
    near: bool | None = None
    detail: str = ""
    peer: tuple[tuple[str, str], ...] | None = None
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


def run(job: Job) -> Outcome:
    """Make, write, read back, check, and ask the peer."""
    recording, truth = made(job)
    stream = truth.stream if truth else ""
    try:
        if not job.file:
            return judged(job, recording, truth, stream)
        with tempfile.TemporaryDirectory(prefix="onbeat-bench-") as folder:
            path = Path(folder) / "made.mcap"
            write_mcap(recording, path)
            peer = flags(job.peer, path) if job.peer else None
            return judged(job, open_streams(path), truth, stream, peer)
    except OnbeatError as error:
        return Outcome(job, stream, (), broken=str(error))


def judged(
    job: Job,
    recording: StreamRecording,
    truth: Planted | None,
    stream: str,
    peer: tuple[tuple[str, str], ...] | None = None,
) -> Outcome:
    findings = [one for one in examine(recording).verdicts if one.level == "finding"]
    found = tuple((one.fault, one.streams[0] if one.streams else "") for one in findings)
    near, detail = None, "; ".join(f"{one.fault}: {one.sentence}" for one in findings[:3])
    if truth and findings and found[0] == (job.fault, stream):
        seen = survey(made(job)[0])
        begins_s = (seen[stream].first_ns - min(one.first_ns for one in seen.values())) / 1e9
        near, figures = compared(findings[0], truth, seen[stream].period_s, begins_s)
        detail = figures + "; " + detail
    return Outcome(job, stream, found, near, detail, peer)


def compared(verdict: Verdict, truth: Planted, period_s: float, begins_s: float) -> tuple[bool | None, str]:
    """Compare the first figure with the truth of its unit: within 5 %, or one sample period where it is a time.

    The truth of an instant counts from the stream's first row, a report from the recording's; and to a planted rate comes that of
    the crystal that the rig has anyway.
    """
    name, figure = next(iter(verdict.figures.items()))
    keys = {**CLASSES, **OTHERS}[truth.fault]
    suits = {"s": "_s", "ppm": "_ppm", "Hz": "_hz", "ppm/min": "_ppm_per_s"}
    ending = suits.get(figure.unit, "")
    value = abs(figure.value) / (60 if figure.unit == "ppm/min" else 1)
    units = tuple(suits.values())
    told = {k: abs(truth.parameters[k]) for k in keys if (k.endswith(ending) if ending else not k.endswith(units))}
    if not told:
        return None, f"{name} {figure.value:g} {figure.unit}, no truth in that unit"
    told = {k: value + begins_s * (k in ("at_s", "from_s")) for k, value in told.items()}
    # A count has a share beside it, a group its age: the truth that is nearest is the one that is meant.
    key = min(told, key=lambda k: abs(np.log(value + 1e-12) - np.log(told[k] + 1e-12)))
    error = abs(value - told[key])
    near = error <= NEAR * told[key] or (figure.unit == "s" and error <= period_s)
    near = near or (figure.unit == "ppm" and error <= NEAR * told[key] + CRYSTAL_PPM)
    return bool(near), f"{name} {figure.value:g} {figure.unit}, truth {key} {told[key]:g}"


# The peer

PEER_WHAT = "faults named on the same files; the peer's flags are read kindly"
PEER_BAR = f">= {PEER_TIMES} times as many as clockdoctor"


def install_peer() -> tuple[str, str]:
    """Give the path of clockdoctor, in an environment of its own that is kept in build/; or "" and why not."""
    home = ROOT / "build" / "clockdoctor"
    program = home / "bin" / "clockdoctor"
    if not program.is_file():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True, timeout=60)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", PEER]
            subprocess.run(pip, check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            return "", f"{PEER} could not be installed: {type(error).__name__}"
    return (str(program), "") if program.is_file() else ("", f"{PEER} has no program of that name")


def flags(program: str, path: Path) -> tuple[tuple[str, str], ...]:
    """Run clockdoctor on a file; give its flags as (type, topic), none where it broke."""
    out = path.parent / "peer"
    command = [program, str(path), "--out-dir", str(out)]
    subprocess.run(command, capture_output=True, timeout=120, check=False, cwd=path.parent)
    written = sorted(out.glob("*_timeline_data.json"))
    data: dict[str, Any] = json.loads(written[0].read_text()) if written else {}
    return tuple((str(flag["type"]), str(flag["topic"])) for flag in data.get("flags", []))


# Memory and time


def checked(path: Path) -> tuple[float, float, int]:
    """Run `onbeat check` in a process of its own: peak memory in MB, seconds, exit code."""
    with tempfile.TemporaryDirectory(prefix="onbeat-bench-") as folder:
        command = [str(Path(sys.executable).with_name("onbeat")), "check", str(path), "--out", str(Path(folder) / "report")]
        # A process begins with the peak of the one that it was forked from: a small one stands between.
        done = subprocess.run([sys.executable, "-c", WATCH, *command], capture_output=True, text=True, check=True)
        peak_kib, seconds, code = done.stdout.split()
        return int(peak_kib) * 1024 / MB, float(seconds), int(code)


def write_large(path: Path, size_mb: int) -> None:
    """Write a recording of about that size: an arm with a camera, 1 MB each 1.2 s."""
    rng = np.random.default_rng(1)
    if path.suffix == ".mcap":
        write_mcap(arm_rig(rng, 1.2 * size_mb), path, image_bytes=24_000)
        return
    small = path.with_suffix(".part")
    write_csv(arm_rig(rng, 20.0, ("/imu/data",)), small)
    _, *lines = small.read_text().splitlines()
    values = [line.split(",", 3)[3] for line in lines]
    small.unlink()
    stamps = 1_700_000_000_000_000_000 + 2_500_000 * np.arange(
        size_mb * MB // (np.mean([len(v) for v in values]) + 41), dtype=np.int64
    )
    waits = np.random.default_rng(2).exponential(2e5, len(stamps)).astype(np.int64) + 1_000_000
    with path.open("w") as file:
        file.write("stamp_ns,log_time_ns,gyro_x,gyro_y,gyro_z\n")
        file.writelines(
            f"{t},{t + w},{values[k % len(values)]}\n"
            for k, (t, w) in enumerate(zip(stamps.tolist(), waits.tolist(), strict=True))
        )


def resources(suffix: str) -> tuple[list[float], list[float], str]:
    """Peak memory and seconds of a check for each of the sizes."""
    peaks, seconds, wrong = [], [], ""
    with tempfile.TemporaryDirectory(prefix="onbeat-bench-") as folder:
        for size_mb in SIZES_MB:
            path = Path(folder) / f"large{suffix}"
            write_large(path, size_mb)
            peak, took, code = checked(path)
            peaks.append(peak)
            seconds.append(took)
            wrong = wrong or ("" if code in (0, 1) else f"onbeat check ended with {code}")
    return peaks, seconds, wrong


def usual() -> tuple[float, int]:
    """Seconds that a check of a usual recording takes, an arm for two minutes; and its exit code."""
    with tempfile.TemporaryDirectory(prefix="onbeat-bench-") as folder:
        path = Path(folder) / "usual.mcap"
        write_mcap(arm_rig(np.random.default_rng(3), 120.0), path, image_bytes=24_000)
        _, took, code = checked(path)
        return took, code


# Real recordings

CLEAN = (
    "euroc_mh01/imu0.csv",
    "euroc_mh01/groundtruth.txt",
    "evo/freiburg1_xyz-groundtruth.txt",
    "rpng_plane/table_01.csv",
    "lerobot/so101_v3",
    "lerobot/g1_v21",
)


def real(name: str) -> tuple[str, ...] | str:
    """Give the findings of a real recording, or why it could not be checked."""
    with tempfile.TemporaryDirectory(prefix="onbeat-bench-") as folder:
        path = DATA / name
        if path.suffix == ".zip":
            shutil.unpack_archive(path, folder)
            path = Path(folder)
        try:
            verdicts = [one for found in find_recordings(path) for one in examine(open_streams(found)).verdicts]
        except (OnbeatError, OSError) as error:
            return str(error)
    return tuple(sorted({one.fault for one in verdicts if one.level == "finding"}))


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


def peer_row(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    asked = [one for one in outcomes if one.peer is not None]
    faulty, clean = [one for one in asked if one.job.fault], [one for one in asked if not one.job.fault]
    right = sum(
        any(topic == one.stream and one.job.fault in MEANS.get(flag, ()) for flag, topic in one.peer or ()) for one in faulty
    )
    ours = sum(one.named for one in faulty)
    flagged = sum(bool(one.peer) for one in clean)
    figure = f"onbeat {ours}, clockdoctor {right} of {len(faulty)}; clockdoctor flags {flagged} of {len(clean)} clean files"
    return {"what": PEER_WHAT, "bar": PEER_BAR, "figure": figure, "met": ours >= PEER_TIMES * right}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=20, help="of each of the eleven")
    parser.add_argument("--other-seeds", type=int, default=4, help="of each other fault")
    parser.add_argument("--peer-seeds", type=int, default=4, help="of each of the eleven, also given to clockdoctor")
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed: others than those that were looked at")
    parser.add_argument("--only", default="", help="faults to plant, with commas between; no other rows")
    parser.add_argument("--show", action="store_true", help="say of each miss what was said")
    options = parser.parse_args()
    bars: list[dict[str, Any]] = []

    def tell(what: str, bar: str, figure: str, met: bool | None) -> None:
        bars.append({"what": what, "bar": bar, "figure": figure, "met": met})
        if not options.json:
            print(f"{ {True: 'met   ', False: 'MISSED', None: 'not   '}[met] } {what}: {figure}", flush=True)

    only = [name for name in options.only.split(",") if name]
    peer, why = install_peer() if options.peer_seeds and not only else ("", "not asked for")
    jobs = [
        *(
            Job(f, options.first + k, True, peer if k < options.peer_seeds else "")
            for f in CLASSES
            for k in range(options.seeds)
            if f in (only or CLASSES)
        ),
        *(Job(f, options.first + k, False) for f in OTHERS for k in range(options.other_seeds) if f in (only or OTHERS)),
        *(
            Job("", options.first + k, k % 5 == 0, peer if k < 5 * options.peer_seeds and k % 5 == 0 else "")
            for k in range(options.clean)
            if not only
        ),
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
            tell(**peer_row(outcomes)) if peer else tell(PEER_WHAT, PEER_BAR, why, None)
            clean = [one for one in outcomes if not one.job.fault]
            wrong = sum(bool(one.found or one.broken) for one in clean)
            tell(f"{len(clean)} clean made recordings", "no finding", f"{wrong} with a finding", wrong == 0)
            rows(tell, pool.map)
    if options.json:
        print(json.dumps({"bars": bars}))


def rows(tell: Callable[[str, str, str, bool | None], None], spread: Callable[..., Iterable[Any]]) -> None:
    """The rows of real files, of memory and of time."""
    if DATA.is_dir():
        for name, said in zip(CLEAN, spread(real, CLEAN), strict=True):
            words = said if isinstance(said, str) else ", ".join(said) or "no finding"
            tell(f"real, clean: {name}", "no finding", words[:160], said == ())
        for name, fault in (("evo/nav2_turtlebot.mcap", "two_clocks"), ("hand_eye/tango_triplet_easy.zip", "quantised_stamps")):
            said = real(name)
            words = said if isinstance(said, str) else ", ".join(said) or "no finding"
            tell(f"real: {name}", fault, words[:160], not isinstance(said, str) and fault in said)
    for suffix, (peaks, seconds, wrong) in zip((".mcap", ".csv"), spread(resources, (".mcap", ".csv")), strict=True):
        ratio = peaks[1] / peaks[0]
        figure = f"{peaks[0]:.0f} and {peaks[1]:.0f} MB, {ratio:.2f} times; {seconds[0]:.1f} and {seconds[1]:.1f} s"
        tell(
            f"peak memory, {SIZES_MB[0]} and {SIZES_MB[1]} MB of {suffix[1:].upper()}",
            "<= 1.2 times",
            wrong or figure,
            not wrong and ratio <= 1.2,
        )
    took, code = usual()
    tell(
        "time of a usual recording, an arm for 2 minutes, 96 MB",
        f"< {USUAL_S:g} s",
        f"{took:.1f} s, exit {code}",
        took < USUAL_S and code in (0, 1),
    )


if __name__ == "__main__":
    main()
