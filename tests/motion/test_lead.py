import pytest

from onbeat.errors import BadInput
from onbeat.motion.lead import lead_ns


def test_latency_in_seconds_becomes_a_lead_in_nanoseconds() -> None:
    assert lead_ns(0.1123) == 112_300_000
    assert lead_ns(0) == 0


@pytest.mark.parametrize("latency", [-1e-9, float("nan"), float("inf")])
def test_latency_that_is_no_measurement_is_refused(latency: float) -> None:
    with pytest.raises(BadInput, match="action_latency"):
        lead_ns(latency)
