"""What does a healthy recording look like? An arm with a camera, an IMU and a tracker, with all that is unpleasant but no fault.

Transport jitters and stalls, crystals are a few ppm off and wander, sensors run a little beside their nominal rate, some streams
begin late, some speak once or now and then: no check may say a word of it. No detector models these effects; they are written
here from what computers and sensors do.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.read.streams import Batch, StreamInfo, StreamRecording, row_dtype
from onbeat.testing.arm import Arm, draw_arm

__all__ = ("STREAMS", "arm_rig", "of_rows")

STREAMS = (
    "/camera/image/compressed",
    "/imu/data",
    "/joint_states",
    "/joint_commands",
    "/tracker/pose",
    "/events",
    "/robot_description",
)
_SLICE_NS = 500_000_000  # of the file's order
_APART_NS = 3_000  # between two arrivals of one stream
_WANDER = 3e-9  # per sqrt(s): how a crystal's rate walks with temperature

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def of_rows(name: str, streams: Sequence[tuple[StreamInfo, NDArray[Any]]], kind: str = "made") -> StreamRecording:
    """Make a recording of rows in memory, which it gives as a file would: by log time, half a second at a time.

    Args:
        name: What stands for its path.
        streams: Each stream with its rows, a structured array whose type `row_dtype` made.
        kind: What it says it is.
    """
    fields = [rows.dtype.names or () for _, rows in streams]
    order = [rows["log_ns" if "log_ns" in names else "stamp_ns"] for (_, rows), names in zip(streams, fields, strict=True)]
    # A stream whose times go back stays in its own order: a row is no earlier in the file than the one before it.
    order = [np.maximum.accumulate(t_ns) for t_ns in order]

    def read() -> Iterator[Batch]:
        filled = [t_ns for t_ns in order if len(t_ns)]
        if not filled:
            return
        edge, end = min(int(t_ns[0]) for t_ns in filled), max(int(t_ns[-1]) for t_ns in filled)
        first = [0] * len(streams)
        while edge <= end:
            # Streams may be on clocks that lie decades apart: the next slice begins where the next row is.
            edge = min(int(t_ns[k]) for t_ns, k in zip(order, first, strict=True) if k < len(t_ns)) + _SLICE_NS
            for at, ((info, rows), t_ns) in enumerate(zip(streams, order, strict=True)):
                last = int(np.searchsorted(t_ns, edge))
                if last > first[at]:
                    yield Batch(info, rows[first[at] : last])
                    first[at] = last

    return StreamRecording(Path(name), kind, read)


@dataclass(frozen=True, slots=True, eq=False)
class _Host:
    """The machine that records: when it stalls, and when its network is busy. Seconds from the beginning."""

    start_ns: int
    span_s: float
    stalls_s: FloatArray  # shape (k, 2): from, until
    busy_s: FloatArray  # shape (k, 3): from, until, most delay


def arm_rig(
    rng: np.random.Generator,
    span_s: float | None = None,
    streams: Sequence[str] = STREAMS,
    auto_exposure: bool | None = None,
) -> StreamRecording:
    """Make a recording in which nothing is wrong.

    Stamps are when samples were true (a frame: the middle of its exposure) to within what a clock a few ppm off allows; the image
    stream has a count, the exposure time and a digest of its content.

    Args:
        rng: What is drawn from: rates, span, jitters, the motion, all.
        span_s: How long it is; drawn from 20 s to 10 min where it is None.
        streams: Which of `STREAMS` it has.
        auto_exposure: Whether the camera's exposure follows the light; drawn where it is None.

    Raises:
        BadInput: a stream is unknown, or the span is too short to have anything in it.
    """
    unknown = sorted(set(streams) - set(STREAMS))
    span = float(np.exp(rng.uniform(np.log(20), np.log(600)))) if span_s is None else span_s
    if unknown or not 5 <= span <= 86_400:
        raise BadInput(f"a made recording has streams of {', '.join(STREAMS)} and lasts 5 s to a day; not {unknown}, {span:g} s")
    host = _Host(
        1_700_000_000_000_000_000 + int(rng.integers(10**17)),
        span,
        np.array([(at, at + rng.uniform(0.01, 0.05)) for at in rng.uniform(0, span, rng.integers(0, 4))]).reshape(-1, 2),
        np.array(
            [(at, at + rng.uniform(1, 5), rng.uniform(0.003, 0.02)) for at in rng.uniform(0, span, rng.integers(0, 3))]
        ).reshape(-1, 3),
    )
    arm = draw_arm(rng)
    auto = bool(rng.random() < 0.5) if auto_exposure is None else auto_exposure
    makers: dict[str, Callable[[np.random.Generator, _Host, Arm], _Made]] = dict(
        zip(STREAMS, (partial(_camera, auto), _imu, _joints, _commands, _pose, _events, _description), strict=True)
    )
    made: list[tuple[StreamInfo, NDArray[Any]]] = []
    # Each has a generator of its own, so that a seed is one rig, whatever is taken of it.
    for (name, make), own in zip(makers.items(), rng.spawn(len(makers)), strict=True):
        if name in streams:
            kind, rows = make(own, host, arm)
            made.append((StreamInfo(name, *kind), rows))
    return of_rows("arm rig", made)


_Made = tuple[tuple[Any, ...], NDArray[Any]]
_JOINTS = tuple(f"joint_{k}" for k in range(1, 7))


def _camera(auto: bool, rng: np.random.Generator, host: _Host, arm: Arm) -> _Made:
    """Frames are exposed as long as the light asks; true at mid-exposure, in hand after the readout.

    A triggered camera begins each exposure on an even grid, a free-running one ends it there.
    """
    grid_s = _grid(rng, host, 30.0, 2e-6)
    seconds = np.arange(int(host.span_s) + 2)
    # Lamps, shadows and people: the light changes by a third or so within some seconds, and comes back.
    swing, every_s, phase = rng.uniform(0.1, 0.3, 3), rng.uniform(7, 60, 3), rng.uniform(0, 6, 3)
    light = swing @ np.sin(2 * np.pi * seconds / every_s[:, None] + phase[:, None])
    exposure_ms = rng.uniform(4, 16) * np.exp(np.interp(grid_s, seconds, light) if auto else 0 * grid_s)
    exposure_s = np.clip(np.round(exposure_ms, 1), 1.0, 28.0) / 1e3
    end_s = grid_s + exposure_s if rng.random() < 0.5 else grid_s
    t_s = end_s - exposure_s / 2
    rows = _timed(
        rng, host, t_s, end_s + rng.uniform(0.006, 0.012), ("stamp_ns", "log_ns", "seq", "exposure_ns", "digest"), 0, True
    )
    rows["seq"] = np.arange(len(rows)) + int(rng.integers(1000))
    rows["exposure_ns"] = np.rint(exposure_s * 1e9).astype(np.int64)
    rows["digest"] = rng.integers(1, 2**63, len(rows)).astype(np.uint64)
    return ("image", "sensor_msgs/msg/CompressedImage"), rows


def _imu(rng: np.random.Generator, host: _Host, arm: Arm) -> _Made:
    t_s = _grid(rng, host, float(rng.choice([200.0, 250.0, 400.0])), 5e-6)
    rows = _timed(rng, host, t_s, t_s, ("stamp_ns", "log_ns"), 3, True)
    bias, noise = rng.normal(0, 0.02, 3), rng.uniform(5e-4, 4e-3)
    rows["value"] = arm.gyro(t_s) + bias + rng.normal(0, noise, (len(t_s), 3))
    return ("rotation", "sensor_msgs/msg/Imu", ("x", "y", "z")), rows


def _joints(rng: np.random.Generator, host: _Host, arm: Arm) -> _Made:
    t_s = _grid(rng, host, float(rng.choice([100.0, 125.0, 200.0, 250.0, 500.0])), 4e-5, late=True)
    rows = _timed(rng, host, t_s, t_s, ("stamp_ns", "log_ns"), 6, False)
    rows["value"] = arm.encoders(t_s)
    return ("joints", "sensor_msgs/msg/JointState", _JOINTS), rows


def _commands(rng: np.random.Generator, host: _Host, arm: Arm) -> _Made:
    t_s = _grid(rng, host, float(rng.choice([30.0, 50.0, 100.0])), 4e-5, late=True)
    rows = _timed(rng, host, t_s, t_s, ("stamp_ns", "log_ns"), 6, False)
    rows["value"] = arm.commands(t_s)
    return ("action", "sensor_msgs/msg/JointState", _JOINTS), rows


def _pose(rng: np.random.Generator, host: _Host, arm: Arm) -> _Made:
    t_s = _grid(rng, host, float(rng.choice([50.0, 60.0, 100.0])), 2e-5)
    rows = _timed(rng, host, t_s, t_s, ("stamp_ns", "log_ns"), 7, True)
    value = arm.pose(t_s)
    value[:, :3] += rng.normal(0, 2e-4, (len(t_s), 3))
    value[:, 4:] += rng.normal(0, 2e-4, (len(t_s), 3))
    value[:, 3:] /= np.linalg.norm(value[:, 3:], axis=1, keepdims=True)
    rows["value"] = value
    return ("pose", "geometry_msgs/msg/PoseStamped", ("x", "y", "z", "qw", "qx", "qy", "qz")), rows


def _events(rng: np.random.Generator, host: _Host, arm: Arm) -> _Made:
    """Something is said now and then; there is no header, so only the recorder knows when."""
    t_s = np.sort(rng.uniform(0, host.span_s, 2 + rng.poisson(host.span_s / 7)))
    return ("other", "std_msgs/msg/String"), _timed(rng, host, t_s, t_s, ("log_ns",), 0, False)


def _description(rng: np.random.Generator, host: _Host, arm: Arm) -> _Made:
    """Latched: said once, long ago, and given to the recorder when it comes."""
    t_s = np.array([0.0])
    return ("other", "std_msgs/msg/String"), _timed(rng, host, t_s, t_s, ("log_ns",), 0, False)


def _grid(rng: np.random.Generator, host: _Host, nominal_hz: float, jitter_s: float, late: bool = False) -> FloatArray:
    """Give when a sensor of about that rate samples; a loop of software is late now and then, but never by half a period."""
    period_s = 1 / (nominal_hz * (1 + rng.uniform(-0.0028, 0.0028)))
    start_s = rng.uniform(0.5, min(5.0, host.span_s / 5)) if rng.random() < 0.3 else rng.uniform(0, period_s)
    t_s = start_s + np.arange(int((host.span_s - start_s) / period_s)) * period_s
    t_s += np.clip(rng.normal(0, jitter_s, len(t_s)), -0.1 * period_s, 0.1 * period_s)
    if late:
        t_s += (rng.random(len(t_s)) < 0.002) * np.minimum(rng.exponential(6e-4, len(t_s)), 0.3 * period_s)
    return np.asarray(t_s)


def _timed(
    rng: np.random.Generator,
    host: _Host,
    true_s: FloatArray,
    ready_s: FloatArray,
    fields: tuple[str, ...],
    width: int,
    crystal: bool,
) -> NDArray[Any]:
    """Give rows with their times: stamped when true, by the host's clock or by the sensor's crystal; logged when they arrive."""
    n = len(true_s)
    rows = np.zeros(n, dtype=row_dtype(fields, width))
    floor_s = rng.uniform(1e-3, 5e-3)
    stamp_s = true_s
    if crystal:
        # A driver maps the sensor's clock to the host's, at the beginning; what is left is below 5 ppm and below the floor.
        most = min(4.5e-6, 0.5 * floor_s / host.span_s)
        grid_s = np.arange(0, host.span_s + 2, 1.0)
        rate = rng.uniform(-most, most) + np.cumsum(rng.normal(0, _WANDER, len(grid_s)))
        stamp_s = true_s + np.interp(true_s, grid_s, np.concatenate([[0.0], np.cumsum(rate[:-1])]))
    if "stamp_ns" in fields:
        rows["stamp_ns"] = host.start_ns + np.rint(stamp_s * 1e9).astype(np.int64)
    scale_s = np.exp(rng.uniform(np.log(5e-5), np.log(1e-3)))
    waits = rng.exponential(scale_s, n) if rng.random() < 0.5 else np.minimum(scale_s * rng.pareto(2.5, n), 0.03)
    waits = waits + (rng.random(n) < rng.uniform(2e-4, 2e-3)) * rng.exponential(0.01, n).clip(max=0.06)
    arrival_s = ready_s + floor_s + waits
    for begin, end, most in host.busy_s:
        share = np.clip(1 - np.abs(2 * (arrival_s - begin) / (end - begin) - 1), 0, 1)
        arrival_s = arrival_s + share * most * rng.uniform(0.7, 1.0, n)
    for begin, end in host.stalls_s:
        arrival_s = np.where((arrival_s > begin) & (arrival_s < end), end, arrival_s)
    apart = np.arange(n) * _APART_NS
    rows["log_ns"] = host.start_ns + np.maximum.accumulate(np.rint(arrival_s * 1e9).astype(np.int64) - apart) + apart
    return rows
