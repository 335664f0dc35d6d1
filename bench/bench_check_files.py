"""Does `onbeat check` hold on real files, within its memory and its time, and what does another program name on the same files?

The other program is `clockdoctor` from the package index, in an environment of its own; it is given the first files that
`bench_check.py` makes, and so is `onbeat check`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402
from bench.bench_check import CLASSES, Job, Outcome, exposed, judged, made  # noqa: E402
from onbeat.errors import OnbeatError  # noqa: E402
from onbeat.health.examine import examine  # noqa: E402
from onbeat.read.open import find_recordings, open_streams  # noqa: E402
from onbeat.testing.recordings import arm_rig  # noqa: E402
from onbeat.testing.write_csv import write_csv  # noqa: E402
from onbeat.testing.write_mcap import write_mcap  # noqa: E402

DATA = Path(os.environ.get("ONBEAT_DATA", ROOT.parent / "shared" / "data"))
PEER = "clockdoctor==0.1.0"
PEER_TIMES = 2
CLEAN_FILES = 5  # for each seed of the faults
MB = 1_000_000
SIZES_MB = (50, 200)
USUAL_S = 10.0
WATCH = """import os, subprocess, sys, time
began = time.monotonic()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss, time.monotonic() - began, child.returncode)"""


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


def beside(program: str, job: Job) -> tuple[Outcome, tuple[tuple[str, str], ...]]:
    """Make a recording of `bench_check.py`, write it, check it, and ask the peer."""
    recording, truth = made(job)
    with tempfile.TemporaryDirectory(prefix="onbeat-bench-") as folder:
        path = Path(folder) / "made.mcap"
        write_mcap(recording, path, exposure=exposed(job))
        asked = flags(program, path)
        try:
            return judged(job, open_streams(path), truth), asked
        except OnbeatError as error:
            return Outcome(job, truth.stream if truth else "", (), broken=str(error)), asked


def peer_row(both: Iterable[tuple[Outcome, tuple[tuple[str, str], ...]]]) -> dict[str, Any]:
    pairs = list(both)
    faulty, clean = [pair for pair in pairs if pair[0].job.fault], [pair for pair in pairs if not pair[0].job.fault]
    right = sum(
        any(topic == one.stream and one.job.fault in MEANS.get(flag, ()) for flag, topic in asked) for one, asked in faulty
    )
    ours = sum(one.named for one, _ in faulty)
    flagged = sum(bool(asked) for _, asked in clean)
    figure = f"onbeat {ours}, clockdoctor {right} of {len(faulty)}; clockdoctor flags {flagged} of {len(clean)} clean files"
    return {"what": PEER_WHAT, "bar": PEER_BAR, "figure": figure, "met": ours >= PEER_TIMES * right}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=4, help="of each of the eleven faults, given to clockdoctor as well")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    bars = Bars(options.json)
    tell = bars.tell

    program, why = install_peer()
    seeds = range(options.first, options.first + options.seeds)
    jobs = [Job(fault, seed, True) for fault in CLASSES for seed in seeds]
    jobs += [Job("", options.first + k, True) for k in range(CLEAN_FILES * options.seeds)]
    with ProcessPoolExecutor(2) as pool:
        if program:
            tell(**peer_row(pool.map(partial(beside, program), jobs)))
        else:
            tell(PEER_WHAT, PEER_BAR, why, None)
        rows(tell, pool.map)
    bars.end()


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
