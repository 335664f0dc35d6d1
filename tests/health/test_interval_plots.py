import numpy as np

from onbeat.health.interval_plots import histogram_plot, intervals_plot
from tests.health.made import line


def test_plot_of_a_long_stream_is_small_and_keeps_the_longest_interval() -> None:
    steps = np.full(60_000, 1_000_000)
    steps[31_234] = 50_000_000
    plot = intervals_plot(line("x", stamp_ns=np.cumsum(steps)), 1e6, "x", [(5_000_000, 9_000_000)])
    assert len(plot.curves[0].x) <= 2500
    assert plot.curves[0].y.max() == 50
    assert (plot.marks[0].x, plot.marks[0].until) == (0.005, 0.009)


def test_intervals_are_those_of_the_time_that_was_judged() -> None:
    stamp = np.arange(100) * 1_000_000
    log = np.where(np.arange(100) < 50, stamp, stamp + 5_000_000)
    both = line("x", stamp_ns=stamp, log_ns=log)
    assert intervals_plot(both, 1e6, "x").curves[0].y.max() == 1
    assert intervals_plot(both, 1e6, "x", field="log_ns").curves[0].y.max() == 6


def test_histogram_counts_all_intervals() -> None:
    plot = histogram_plot(line("x", stamp_ns=np.arange(1000) * 1_000_000), "x")
    assert plot.curves[0].y.sum() == 999
