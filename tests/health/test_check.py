import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.health import Figure, Verdict
from onbeat.health.check import Curve


def test_finding_needs_a_number_its_confirmation_and_a_fix() -> None:
    with pytest.raises(BadInput, match="needs a number"):
        Verdict("skew", ("imu",), "finding", "the clock is fast")
    said = Verdict("skew", ("imu",), "finding", "fast", {"skew": Figure(46.0, "ppm", 45, 47)}, "log PPS", "discipline it")
    assert said.figures["skew"].value == 46.0


@pytest.mark.parametrize(("value", "low", "high"), [(float("nan"), None, None), (1.0, 2.0, 3.0), (1.0, 0.5, None)])
def test_figure_outside_its_interval_is_refused(value: float, low: float | None, high: float | None) -> None:
    with pytest.raises(BadInput):
        Figure(value, "s", low, high)


def test_level_is_known() -> None:
    with pytest.raises(BadInput, match="level"):
        Verdict("skew", ("imu",), "bad", "fast")


def test_curve_has_as_many_x_as_y() -> None:
    with pytest.raises(BadInput):
        Curve("x", np.zeros(3), np.zeros(4))
