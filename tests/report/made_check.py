"""A recording that was looked at, with verdicts that are made up, to see what is written of it."""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from onbeat.health import Figure, Verdict
from onbeat.health.check import Curve, Mark, Plot
from onbeat.health.examine import Examined
from onbeat.health.facts import StreamFacts, TimeFacts
from onbeat.read import StreamRecording

__all__ = ("examined", "facts", "finding", "plot")

EVIL = "/left/<b>arm</b>&amp;\x1b[31m 摄像头 $x$"


def plot(points: int = 200) -> Plot:
    t = np.linspace(0, 60, points)
    curves = (Curve("blocks", t, 46e-3 * t, "dots"), Curve("line: 46.0 ppm", t, 46e-3 * t))
    return Plot("Log time minus stamp", "time (s)", "log time minus stamp (ms)", curves, (Mark(30, "half", 40),))


def finding(fault: str = "skew", stream: str = "imu", weight: float = 1.0, drawn: bool = True) -> Verdict:
    return Verdict(
        fault,
        (stream,),
        "finding",
        f"{stream} runs 46 ppm fast against the log",
        {"skew": Figure(46.0, "ppm", 45.2, 46.9), "gained": Figure(0.0028, "s")},
        "log a pulse of one clock on the other",
        "discipline the clock",
        plot() if drawn else None,
        weight=weight,
    )


def facts(name: str = "imu", rate_hz: float | None = 100.0) -> StreamFacts:
    stamp = TimeFacts(10**9, 61 * 10**9, False, 10_000_000)
    log = TimeFacts(1_700_000_000 * 10**9, 1_700_000_060 * 10**9, True, 0)
    return StreamFacts(
        name, "rotation", "sensor_msgs/msg/Imu", "", 6001, 1, 60.0, rate_hz, 200.0, 0.013, False, stamp, log, 1.7e9 - 1
    )


def examined(*verdicts: Verdict, streams: Sequence[str] = ("imu",), damage: str = "", notes: Sequence[str] = ()) -> Examined:
    recording = StreamRecording(Path("rec/drive <1>.mcap"), "MCAP, ROS 2", lambda: iter(()), notes=tuple(notes))
    return Examined(recording, tuple(facts(name) for name in streams), verdicts, damage, MappingProxyType({}))
