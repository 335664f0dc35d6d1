import numpy as np
import pytest

from onbeat.errors import BadInput, Damaged
from onbeat.health.faults import FAULTS
from onbeat.read import gather
from onbeat.testing.faults import PLANTABLE, plant
from onbeat.testing.recordings import STREAMS, arm_rig
from tests.testing.plain import FIELDS, plain, plain_rows

RNG = np.random.default_rng


def test_what_can_be_planted_has_the_names_that_are_found() -> None:
    assert set(PLANTABLE) <= set(FAULTS)
    assert len(PLANTABLE) == 24


@pytest.mark.parametrize("fault", PLANTABLE)
def test_every_fault_is_planted_in_one_stream_of_a_rig_and_only_there(fault: str) -> None:
    recording = arm_rig(RNG(5), 30.0, auto_exposure=True)
    made, truth = plant(recording, fault, RNG(1))
    assert truth.fault == fault
    assert truth.stream in STREAMS[:5]
    assert all(np.isfinite(value) for value in truth.parameters.values())
    changed = []
    with gather(recording) as before, gather(made) as after:
        for name in before.series:
            same = np.array_equal(before.series[name].rows(), after.series[name].rows())
            if not same or before.series[name].info != after.series[name].info:
                changed.append(name)
    assert changed == [truth.stream]


def test_the_same_generator_plants_the_same() -> None:
    recording = arm_rig(RNG(5), 20.0)
    assert plant(recording, "step", RNG(3))[1].parameters == plant(recording, "step", RNG(3))[1].parameters
    assert plant(recording, "step", RNG(3))[1].parameters != plant(recording, "step", RNG(4))[1].parameters


@pytest.mark.parametrize(
    ("fault", "stream", "parameters", "says"),
    [
        ("wobble", None, {}, "no fault is called 'wobble'"),
        ("delay", None, {}, "'delay' is named but cannot be planted"),
        ("skew", "camera", {}, "has no stream 'camera'"),
        ("skew", "s", {"ppm": 3.0}, "has the parameters skew_ppm, not ppm"),
        ("action_before_observation", "s", {}, "kind 'rotation'"),
        ("gap", "events", {}, "it has 2 rows"),
    ],
)
def test_what_cannot_be_planted_is_refused(fault: str, stream: str | None, parameters: dict[str, float], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        plant(plain(), fault, RNG(0), stream, **parameters)


def test_clocks_cannot_be_at_fault_where_there_is_one_time_only() -> None:
    rows = plain_rows(tuple(field for field in FIELDS if field != "log_ns"))
    with pytest.raises(BadInput, match="have no log_ns"):
        plant(plain(rows), "skew", RNG(0))
    with pytest.raises(BadInput, match="have no stamp_ns"):
        plant(plain(plain_rows(("log_ns",))), "quantised_stamps", RNG(0), "s")
    assert plant(plain(rows), "dropped_samples", RNG(0))[1].stream == "s"


def test_what_is_readable_of_a_damaged_recording_has_the_fault_and_the_damage() -> None:
    recording = plain()

    def broken():  # type: ignore[no-untyped-def]
        yield from recording.read()
        raise Damaged("plain.mcap ends early")

    made, _ = plant(type(recording)(recording.path, "made", broken), "gap", RNG(0), "s")
    with gather(made) as gathered:
        assert gathered.damage == "plain.mcap ends early"
        assert len(gathered.series["s"]) < 6001
