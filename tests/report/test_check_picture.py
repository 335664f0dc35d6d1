import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from onbeat.health.check import Curve, Mark, Plot
from onbeat.report.check_picture import draw_plot
from tests.report.made_check import EVIL, plot
from tests.report.text_boxes import boxes_of_drawing, crossing, outside

T = np.linspace(0, 600, 300)
PLOTS = {
    "usual": plot(),
    "steps": Plot("A jump", "time (s)", "offset (ms)", (Curve("offset", T, np.where(T > 300, 120.0, 0.0), "steps"),)),
    "bars": Plot(
        "Intervals", "ms", "samples", (Curve("intervals", np.arange(80.0), np.arange(80.0) ** 2, "bars"),), (Mark(33, "p"),)
    ),
    "many": Plot(
        "Gaps " * 60,
        "time (s) " * 40,
        "$y$ " * 80,
        tuple(Curve(f"curve {k} {'x' * k * 20}", T, np.sin(T / 50 + k)) for k in range(9)),
        tuple(Mark(20.0 * k, f"gap of {111 * k} ms in the stream") for k in range(40)),
    ),
    "marks at the ends": Plot(
        "Ends", "s", "ms", (Curve("c", T, T),), (Mark(-50, "before it begins"), Mark(600, "the very last sample"))
    ),
    "huge": Plot("Huge", "s", "y", (Curve("c", T * 1e9 + 1.6e18, T * 1e12 + 1e15),), (Mark(float("nan"), "nowhere"),)),
    "tiny": Plot("Tiny", "s", "y", (Curve("c", T * 1e-9, T * 1e-12, "dots"),)),
    "one point": Plot("One", "s", "y", (Curve("c", np.array([3.0]), np.array([0.0])),), (Mark(3, "here"),)),
    "no curves": Plot("None", "s", "y", (), (Mark(3, "here", 4),)),
    "empty curve": Plot("Empty", "s", "y", (Curve("c", np.empty(0), np.empty(0)),)),
    "not finite": Plot("NaN", "s", "y", (Curve("c", np.array([0, np.inf, 2.0]), np.array([np.nan, 1.0, 2.0]), "dots"),)),
    "names": Plot(EVIL, EVIL, EVIL, (Curve(EVIL, T, T),), (Mark(300, EVIL),)),
}


@pytest.mark.parametrize("name", PLOTS)
def test_no_text_runs_over_another_or_over_the_edge(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, width, height = boxes_of_drawing(lambda: draw_plot(PLOTS[name]), monkeypatch)
    assert crossing(boxes) == []
    assert outside(boxes, width, height) == {}


@pytest.mark.parametrize("name", PLOTS)
def test_it_is_xml_and_the_same_plot_gives_the_same_bytes(name: str) -> None:
    svg = draw_plot(PLOTS[name])
    ElementTree.fromstring(svg)
    assert svg == draw_plot(PLOTS[name])


def test_title_axes_curves_and_marks_are_named() -> None:
    svg = draw_plot(plot())
    words = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    for text in ("Log time minus stamp", "time (s)", "log time minus stamp (ms)", "blocks", "line: 46.0 ppm", "half"):
        assert text in words


def test_a_long_curve_is_thinned_and_its_extremes_stay() -> None:
    from onbeat.report.check_picture import _thinned

    y = np.zeros(100_000)
    y[77_777], y[5] = 9.0, -3.0
    thin = _thinned(Curve("c", np.arange(100_000.0), y))
    assert len(thin.x) <= 4_000
    assert (thin.y.max(), thin.y.min()) == (9.0, -3.0)
    assert thin.x[int(np.argmax(thin.y))] == 77_777
    assert np.all(np.diff(thin.x) > 0)


def test_counts_have_whole_ticks() -> None:
    svg = draw_plot(Plot("Delays", "episode", "ms", (Curve("pan", np.arange(4.0), np.arange(4.0) * 10, "dots"),)))
    words = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"1", "2", "3"} <= set(words)
    assert "0.5" not in words
