import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.calibrate import read_latency
from onbeat.errors import BadInput


def stamps(duration_s: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begin = np.arange(len(duration_s), dtype=np.int64) * 10_000_000
    return begin, begin + np.round(duration_s * 1e9).astype(np.int64)


def test_half_of_an_even_read() -> None:
    result = read_latency(*stamps(np.full(200, 0.004)))
    assert result.value == pytest.approx(0.002)
    # 95 % of the half read on either side: where inside the transaction the device samples is not known.
    assert result.ci95 == pytest.approx(0.0019)
    assert result.conditions["mean_duration_s"] == pytest.approx(0.004)
    assert result.conditions["statistical_ci95_s"] == pytest.approx(0, abs=1e-12)


def test_statistical_part_by_hand() -> None:
    result = read_latency(*stamps(np.tile([0.003, 0.005], 200)))
    assert result.value == pytest.approx(0.002)
    assert result.conditions["statistical_ci95_s"] == pytest.approx(1.96 * 0.001 / 20 / 2, rel=2e-3)


def test_preempted_reads_are_left_out() -> None:
    duration_s = np.random.default_rng(0).normal(0.004, 0.0002, 400)
    duration_s[[5, 300]] = 0.2
    result = read_latency(*stamps(duration_s))
    assert result.value == pytest.approx(0.002, rel=0.01)
    assert result.conditions["preempted"] == 2
    assert result.n == 398


def test_interval_holds_a_device_that_samples_anywhere_inside() -> None:
    for seed, position in enumerate(np.linspace(0.03, 0.97, 20)):
        duration_s = np.random.default_rng(seed).gamma(20, 0.0002, 200)
        result = read_latency(*stamps(duration_s))
        assert result.value is not None
        assert result.ci95 is not None
        assert abs(result.value - position * float(duration_s.mean())) <= result.ci95


def test_refusals() -> None:
    assert read_latency(*stamps(np.full(29, 0.004))).reason.startswith("too few reads: 29")
    backwards = np.full(100, 0.004)
    backwards[3] = -0.001
    assert read_latency(*stamps(backwards)).reason.startswith("1 of 100 reads took no time or less (the shortest -1.0000 ms)")
    two_kinds = np.full(100, 0.004)
    two_kinds[:20] = 0.02
    assert read_latency(*stamps(two_kinds)).reason.startswith(
        "20 of 100 reads took more than 5.600 ms where the median is 4.000 ms"
    )


def test_shapes_and_kinds() -> None:
    with pytest.raises(BadInput, match="do not fit"):
        read_latency([1, 2], [1])
    with pytest.raises(BadInput, match="integers"):
        read_latency(np.arange(40) / 1.0, np.arange(40) + 0.5)
