from dataclasses import replace
from math import inf, nan

import pytest

from onbeat.calibrate.result import CalibrationResult
from onbeat.errors import BadInput

GOOD = CalibrationResult("action_latency", 0.120, 0.002, 400, "shift fit", {"gain": 0.99})
REFUSED = CalibrationResult.refuse("action_latency", "the command does not move", n=400, method="shift fit", speed=0.0)


def test_measurement_is_accepted() -> None:
    assert GOOD.accepted
    assert GOOD.reason == ""


def test_refusal_has_a_reason_and_no_value() -> None:
    assert not REFUSED.accepted
    assert (REFUSED.value, REFUSED.ci95) == (None, None)
    assert REFUSED.reason == "the command does not move"
    assert REFUSED.conditions == {"speed": 0.0}


def test_refusal_names_what_it_cannot_tell_apart() -> None:
    refused = CalibrationResult.refuse("offset", "ambiguous", n=9, method="fit", alternatives=(0.1, 0.6))
    assert refused.alternatives == (0.1, 0.6)


@pytest.mark.parametrize(
    ("value", "ci95"), [(None, 0.1), (0.1, None), (nan, 0.1), (inf, 0.1), (0.1, nan), (0.1, inf), (0.1, -0.1)]
)
def test_accepted_value_is_finite_and_has_an_interval(value: float | None, ci95: float | None) -> None:
    with pytest.raises(BadInput, match="needs a finite value and ci95"):
        replace(GOOD, value=value, ci95=ci95)


def test_refused_value_is_no_value() -> None:
    with pytest.raises(BadInput, match="was refused and so has no value"):
        replace(REFUSED, value=0.1)


def test_refusal_without_a_reason_is_refused() -> None:
    with pytest.raises(BadInput, match="must say why"):
        replace(REFUSED, reason="")


def test_third_verdict_does_not_exist() -> None:
    with pytest.raises(BadInput, match="verdict must be one of"):
        replace(GOOD, verdict="perhaps")


def test_negative_number_of_samples_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot rest on -1 samples"):
        replace(GOOD, n=-1)


def test_conditions_are_its_own() -> None:
    conditions = {"gain": 1.0}
    result = replace(GOOD, conditions=conditions)
    conditions["gain"] = 2.0
    assert result.conditions == {"gain": 1.0}
