from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.true_stamps import true_stamps
from onbeat.capture import Stamp
from onbeat.device import DeviceState, ModuleConfig, Provenance
from onbeat.errors import BadInput
from onbeat.policy import Reading

S, MS = 1_000_000_000, 1_000_000
MEASURED = {"receive_latency": Provenance("measured", 0.004, 0.0003)}


def reading(k: int, receive_ns: int, read_ns: int = 2 * MS, **stamp: Any) -> Reading:
    state = DeviceState(np.array([float(k)]), receive_ns - read_ns, receive_ns, k, **stamp)
    return Reading(Stamp(receive_ns, receive_ns, 0, 0, k, "monotonic"), state.value, state)


def own_clock(rng: np.random.Generator, n: int = 2000, floor_ns: int = 3 * MS) -> tuple[list[Reading], np.ndarray[Any, Any]]:
    """Samples every 10 ms on a clock that runs 60 ppm fast; they arrive the floor and an exponential tail of 1 ms later."""
    true_ns = 100 * S + np.arange(n) * 10 * MS
    late_ns = floor_ns + rng.exponential(1 * MS, n).astype(np.int64)
    own_ns = 5 * S + (true_ns - 100 * S) + (true_ns - 100 * S) * 60 // 1_000_000
    made = [
        reading(k, int(t + d), sample_ns=int(o), sample_clock="box")
        for k, (t, d, o) in enumerate(zip(true_ns, late_ns, own_ns, strict=True))
    ]
    return made, true_ns


def config(**changes: Any) -> ModuleConfig:
    return ModuleConfig("arm", "a:B", **changes)


def test_stamps_on_the_rigs_clock_are_taken_as_they_are() -> None:
    readings = [reading(k, k * 10 * MS + 7 * MS, sample_ns=k * 10 * MS) for k in range(50)]
    found = true_stamps(readings, config(receive_latency=0.004, provenance=MEASURED))
    assert (found.kind, found.biased, found.ci95_s) == ("sample", False, 0.0)
    assert found.t_ns.tolist() == [k * 10 * MS for k in range(50)]
    assert found.values.shape == (50, 1)


def test_sample_that_came_late_is_left_out() -> None:
    order = [0, 1, 3, 2, 4]
    readings = [reading(k, at * 10 * MS + 17 * MS, sample_ns=k * 10 * MS) for at, k in enumerate(order)]
    found = true_stamps(readings, config())
    assert found.t_ns.tolist() == [0, 10 * MS, 30 * MS, 40 * MS]
    assert found.values[:, 0].tolist() == [0, 1, 3, 4]


def test_own_clock_is_mapped_and_its_floor_is_named_unknown() -> None:
    readings, true_ns = own_clock(np.random.default_rng(1))
    found = true_stamps(readings, config())
    assert (found.kind, found.biased) == ("one-way", True)
    late_ns = found.t_ns - true_ns
    assert np.median(late_ns) == pytest.approx(3 * MS, abs=0.05 * MS)
    assert np.ptp(late_ns) < 0.1 * MS  # the jitter of the messages is gone
    assert "skew -60." in found.remark
    assert "cannot be seen from one side" in found.remark


def test_own_clock_with_a_measured_latency_has_no_bias() -> None:
    readings, true_ns = own_clock(np.random.default_rng(2))
    found = true_stamps(readings, config(receive_latency=0.004, provenance=MEASURED))
    assert (found.kind, found.biased, found.ci95_s) == ("mapped", False, 0.0003)
    assert float((found.t_ns - true_ns).mean()) == pytest.approx(0.0, abs=0.1 * MS)
    assert "the fastest took 3.0" in found.remark


def test_measured_latency_is_taken_off_the_receipt() -> None:
    readings = [reading(k, k * 10 * MS) for k in range(50)]
    found = true_stamps(readings, config(receive_latency=0.004, provenance=MEASURED))
    assert (found.kind, found.biased, found.ci95_s) == ("corrected", False, 0.0003)
    assert found.t_ns.tolist() == [k * 10 * MS - 4 * MS for k in range(50)]


@pytest.mark.parametrize("source", ["copied", "assumed", "edited", "unstated"])
def test_latency_that_was_not_measured_does_not_count(source: str) -> None:
    readings = [reading(k, k * 10 * MS) for k in range(50)]
    provenance = {} if source == "unstated" else {"receive_latency": Provenance(source, 0.2)}
    found = true_stamps(readings, config(receive_latency=0.2, provenance=provenance))
    assert found.kind == "corrected"
    assert found.t_ns.tolist() == [k * 10 * MS - 1 * MS for k in range(50)]
    assert "half of the reads' duration, 1.00 +- 0.95 ms" in found.remark


@pytest.mark.parametrize(
    ("read_ns", "cached", "says"),
    [
        (5000, 0.0, "a read takes 5 us: the driver answers from its memory"),
        (2 * MS, 0.5, "50% of the polls brought no new reading"),
    ],
)
def test_driver_that_answers_from_memory_leaves_stamps_of_receipt(read_ns: int, cached: float, says: str) -> None:
    found = true_stamps([reading(k, k * 10 * MS, read_ns) for k in range(50)], config(), cached)
    assert (found.kind, found.biased) == ("receipt", True)
    assert says in found.remark
    assert "measure receive_latency" in found.remark


def test_too_few_reads_to_time_them() -> None:
    found = true_stamps([reading(k, k * 10 * MS) for k in range(10)], config())
    assert found.kind == "receipt"
    assert "too few reads" in found.remark


def test_device_that_does_not_report_or_changes_its_mind() -> None:
    with pytest.raises(BadInput, match="module 'arm' gave 0 readings; wait longer"):
        true_stamps([], config())
    with pytest.raises(BadInput, match="stamps 1 of 2 samples"):
        true_stamps([reading(0, 10 * MS, sample_ns=1), reading(1, 20 * MS)], config())
    two = [reading(k, 10 * MS * (k + 1), sample_ns=k, sample_clock=str(k)) for k in range(2)]
    with pytest.raises(BadInput, match="on several clocks: '0', '1'"):
        true_stamps(two, config())
