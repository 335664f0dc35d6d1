import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.read import gather
from onbeat.testing.recordings import STREAMS, arm_rig
from tests.testing.plain import rows_of

RNG = np.random.default_rng


@pytest.mark.parametrize("seed", range(6))
def test_rig_is_within_what_is_called_healthy(seed: int) -> None:
    with gather(arm_rig(RNG(seed), 60.0)) as gathered:
        assert set(gathered.series) == set(STREAMS)
        for name in STREAMS[:5]:
            rows = gathered.series[name].rows()
            period = np.median(np.diff(rows["stamp_ns"]))
            assert np.diff(rows["stamp_ns"]).min() > 0.5 * period, name
            assert np.diff(rows["stamp_ns"]).max() < 1.5 * period, name
            assert np.diff(rows["log_ns"]).min() > 0, name
            wait = (rows["log_ns"] - rows["stamp_ns"]) / 1e6
            assert 0.3 < wait.min() < 35, name
            assert wait.max() < 300, name
            # The floor of the waits does not run away: what is left is the exposure and at most a few ppm.
            floors = [block.min() for block in np.array_split(wait, 6)]
            assert np.ptp(floors) < (3.0 if name != STREAMS[0] else 25.0), name
        camera = gathered.series[STREAMS[0]].rows()
        assert len(np.unique(camera["digest"])) == len(camera)
        assert np.all(np.diff(camera["seq"]) == 1)
        assert gathered.series["/events"].rows().dtype.names == ("log_ns",)
        assert len(gathered.series["/robot_description"]) == 1


def test_frames_wait_for_half_of_their_exposure_more() -> None:
    rows = rows_of(arm_rig(RNG(2), 120.0, auto_exposure=True), STREAMS[0])
    assert len(np.unique(rows["exposure_ns"])) > 20
    levels = np.unique(rows["exposure_ns"])[::5]
    floors = [(rows["log_ns"] - rows["stamp_ns"])[rows["exposure_ns"] == level].min() for level in levels]
    assert np.polyfit(levels, floors, 1)[0] == pytest.approx(0.5, abs=0.15)
    fixed = rows_of(arm_rig(RNG(2), 120.0, auto_exposure=False), STREAMS[0])
    assert len(np.unique(fixed["exposure_ns"])) == 1


def test_a_seed_is_one_rig_whatever_is_taken_of_it() -> None:
    whole, part = arm_rig(RNG(3), 20.0), arm_rig(RNG(3), 20.0, ("/imu/data",))
    np.testing.assert_array_equal(rows_of(whole, "/imu/data"), rows_of(part, "/imu/data"))
    assert {batch.info.name for batch in part.read()} == {"/imu/data"}


def test_spans_and_rates_differ_from_seed_to_seed() -> None:
    spans = [
        np.ptp(rows_of(arm_rig(RNG(seed), streams=("/tracker/pose",)), "/tracker/pose")["log_ns"]) / 1e9 for seed in range(8)
    ]
    assert 14 < min(spans) < 100 < max(spans) <= 601


def test_rows_come_in_the_order_of_a_file_within_half_a_second() -> None:
    newest = 0
    for batch in arm_rig(RNG(0), 20.0).read():
        assert batch.rows["log_ns"][0] >= newest - 1_000_000_000
        newest = max(newest, int(batch.rows["log_ns"][-1]))


def test_rig_of_unknown_streams_or_no_time_is_refused() -> None:
    with pytest.raises(BadInput, match="/lidar"):
        arm_rig(RNG(0), 20.0, ("/lidar",))
    with pytest.raises(BadInput, match="lasts 5 s"):
        arm_rig(RNG(0), 1.0)
