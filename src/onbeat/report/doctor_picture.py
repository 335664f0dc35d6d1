"""The pictures of `onbeat doctor`: how late the loop woke, how often a device reported."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.machine.round_trips import RoundTrips
from onbeat.machine.self_test import SelfTest
from onbeat.report.doctor import EDGES_US, histogram, self_test_words
from onbeat.report.drawing import BLUE, INK, MUTED, ORANGE, RED, sheet

__all__ = ("draw_intervals", "draw_lateness")

_WIDTH, _PANEL, _TOP, _LEFT, _RIGHT = 900, 190, 30, 64, 24
_LOW_US, _HIGH_US = 0.7, 2e5


def draw_lateness(tests: Sequence[SelfTest]) -> str:
    """Draw a histogram of the lateness of each run, one under the other on one scale, with what is good and the period marked."""
    height = (_PANEL + _TOP + 26) * len(tests) + 26
    with sheet(_WIDTH, height) as paper:
        for k, test in enumerate(tests):
            y = (_PANEL + _TOP + 26) * k
            paper.text(
                _LEFT,
                y + 20,
                f"{test.rate_hz:g} Hz {self_test_words(test)}{', not valid' if test.invalid else ''}",
                weight="bold",
            )
            paper.text(
                _WIDTH - _RIGHT,
                y + 20,
                f"p50 {test.percentile_us(50):.0f} · p99 {test.percentile_us(99):.0f} · p99.9 {test.percentile_us(99.9):.0f} · "
                f"max {test.percentile_us(100):.0f} µs · missed {test.missed}",
                ha="right",
                color=MUTED,
            )
            axes = paper.axes(_LEFT, y + _TOP + 14, _WIDTH - _LEFT - _RIGHT, _PANEL - 14)
            own, stolen = histogram(test.own_ns), histogram(test.lateness_ns[test.stolen])
            _bars(axes, own, BLUE if test.kind == "baseline" else ORANGE)
            _bars(axes, stolen, MUTED, below=own)
            top = max(float((own + stolen).max()), 1.0)
            axes.set(xscale="log", yscale="log", xlim=(_LOW_US, _HIGH_US), ylim=(0.6, top * 3))
            period_us = 1e6 / test.rate_hz
            for at, words, colour in ((test.good_us, "good below", INK), (period_us, "one period", RED)):
                axes.axvline(at, color=colour, linewidth=1.2, linestyle=(0, (4, 3)))
                axes.text(at * 1.06, top * 2.4, words, color=colour, va="top", fontsize=10.5)
            _ticks(axes)
            axes.set_ylabel("cycles")
        paper.text(_LEFT, height - 8, "lateness of the wake-up; grey: while the host had the processor", color=MUTED)
        return paper.svg("Histogram of how late the loop woke")


def draw_intervals(name: str, trips: RoundTrips) -> str:
    """Draw a histogram of the time between one new reading of a device and the next."""
    height = _PANEL + _TOP + 54
    with sheet(_WIDTH, height) as paper:
        intervals_ms = trips.interval_ns * 1e-6
        paper.text(_LEFT, 20, f"{name}: time between new readings", weight="bold")
        axes = paper.axes(_LEFT, _TOP + 14, _WIDTH - _LEFT - _RIGHT, _PANEL - 14)
        if len(intervals_ms):
            high = float(np.percentile(intervals_ms, 99.5)) * 1.25
            counts, edges = np.histogram(np.minimum(intervals_ms, high), np.linspace(0, high, 101))
            axes.bar(edges[:-1], counts, np.diff(edges) * 0.9, align="edge", color=BLUE)
            axes.set(xlim=(0, high))
            median = float(np.median(intervals_ms))
            paper.text(_WIDTH - _RIGHT, 20, f"median {median:.2f} ms, {1e3 / max(median, 1e-6):.1f} Hz", ha="right", color=MUTED)
        axes.grid(axis="x", visible=False)
        axes.set_ylabel("readings")
        paper.text(_LEFT, height - 8, "ms; longer ones stand in the last bar", color=MUTED)
        return paper.svg(f"Histogram of the time between new readings of {name}")


def _bars(axes: Any, counts: NDArray[np.int64], colour: str, below: NDArray[np.int64] | None = None) -> None:
    edges = np.clip(EDGES_US, _LOW_US, _HIGH_US)
    base = np.full(len(counts), 0.6) if below is None else np.maximum(below, 0.6)
    shown = counts > 0
    height = np.where(counts > 0, counts + (0 if below is None else below), 0.6) - base
    axes.bar(edges[:-1][shown], height[shown], np.diff(edges)[shown] * 0.94, base[shown], align="edge", color=colour)


def _ticks(axes: Any) -> None:
    ticks = [1, 10, 100, 1e3, 1e4, 1e5]
    axes.set_xticks(ticks, ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"])
    axes.set_xticks([], minor=True)
    counts = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]
    axes.set_yticks([c for c in counts if c <= axes.get_ylim()[1]], minor=False)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}".replace(",", " "))
    axes.set_yticks([], minor=True)
    axes.grid(axis="x", visible=False)
