"""Arrays of an npz file as streams."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.read.arrays import open_array_streams
from onbeat.read.spool import Gathered, gather

T0 = 1_700_000_000_000_000_001


def saved(tmp_path: Path, **arrays: Any) -> Gathered:
    np.savez(tmp_path / "x.npz", **arrays)
    return gather(open_array_streams(tmp_path / "x.npz"))


def test_arrays_belong_to_the_times_that_share_their_name(tmp_path: Path) -> None:
    arrays = {
        "imu_t_ns": T0 + np.arange(50) * 5_000_000,
        "imu_gyro": np.ones((50, 3)),
        "arm_t_ns": T0 + np.arange(50) * 10_000_000,
        "arm_log_time_ns": T0 + 7 + np.arange(50) * 10_000_000,
        "arm_qpos": np.arange(100.0).reshape(50, 2),
        "gain": np.ones(3),
    }
    with saved(tmp_path, **arrays) as found:
        assert {n: (s.info.kind, len(s)) for n, s in found.series.items()} == {
            "imu_gyro": ("rotation", 50),
            "arm_qpos": ("joints", 50),
        }
        rows = found.series["arm_qpos"].rows()
        assert rows["stamp_ns"].tolist() == arrays["arm_t_ns"].tolist()
        assert rows["log_ns"].tolist() == arrays["arm_log_time_ns"].tolist()
        assert rows["value"].tolist() == arrays["arm_qpos"].tolist()
        assert found.recording.notes == ("left out, because they are not as long as the times: gain",)


def test_float_seconds_since_1970_keep_every_bit_they_have(tmp_path: Path) -> None:
    seconds = 1_700_000_000 + np.arange(20) / 128
    with saved(tmp_path, timestamps=seconds, v=np.arange(20.0)) as found:
        assert np.diff(found.series["v"].rows()["stamp_ns"]).tolist() == [7_812_500] * 19


@pytest.mark.parametrize(("fps", "hz"), [({"fps": 50}, 50.0), ({"dt": 0.02}, 50.0), ({"fps": 29.97}, 29.97)])
def test_rate_gives_counted_stamps(tmp_path: Path, fps: dict[str, float], hz: float) -> None:
    with saved(tmp_path, qpos=np.zeros((100, 7)), **fps) as found:
        info = found.series["qpos"].info
        assert info.counted
        assert info.declared_hz == pytest.approx(hz, rel=1e-6)
        assert found.series["qpos"].rows()["stamp_ns"][50] == pytest.approx(50 / hz * 1e9, abs=1)


def test_counts_and_episodes(tmp_path: Path) -> None:
    with saved(tmp_path, t_ns=np.arange(9), frame_index=np.arange(9), episode_index=np.arange(9) // 5, v=np.zeros(9)) as found:
        rows = found.series["v"].rows()
        assert rows["seq"].tolist() == list(range(9))
        assert rows["segment"].tolist() == [0] * 5 + [1] * 4


def test_pictures_are_compared_and_not_kept(tmp_path: Path) -> None:
    pictures = np.random.default_rng(0).integers(0, 255, (6, 60, 80), dtype=np.uint8)
    pictures[3] = pictures[2]
    with saved(tmp_path, cam_t_ns=np.arange(6), cam=pictures) as found:
        rows = found.series["cam"].rows()
        assert found.series["cam"].info.kind == "image"
        assert (np.diff(rows["digest"].astype(object)) == 0).tolist() == [False, False, True, False, False]


def test_times_alone_are_a_stream(tmp_path: Path) -> None:
    with saved(tmp_path, cam_timestamps_ns=np.arange(6) * 1000) as found:
        assert {n: s.info.kind for n, s in found.series.items()} == {"cam": "other"}


def test_commands_and_joints_open_as_delay_does(tmp_path: Path) -> None:
    action = np.random.default_rng(0).normal(size=(40, 2))
    with saved(tmp_path, t=np.arange(40) * 0.02, action=action, state=action + 1) as found:
        assert found.recording.joints is not None
        (episode,) = found.recording.joints().episodes()
        assert (episode.measured - episode.command == pytest.approx(1)) is True
        assert episode.t_ns.tolist() == [20_000_000 * k for k in range(40)]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_value_that_is_not_finite_costs_its_row(tmp_path: Path, bad: float) -> None:
    v = np.zeros(30)
    v[[4, 9]] = bad
    with saved(tmp_path, t_ns=np.arange(30) * 10**7, v=v) as found:
        assert len(found.series["v"]) == 28
        assert "'v' or its time is not finite in row 5, and in 1 more; the other 28 rows were read" in found.damage


def test_arrays_in_the_order_of_fortran(tmp_path: Path) -> None:
    v = np.asfortranarray(np.arange(60.0).reshape(30, 2))
    with saved(tmp_path, t_ns=np.arange(30) * 10**7, v=v) as found:
        assert found.series["v"].rows()["value"].tolist() == v.tolist()


def test_unit_that_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="its unit cannot be told; call it 't_s' or _ns"):
        saved(tmp_path, t=np.arange(10) * 300, v=np.zeros(10))


@pytest.mark.parametrize("arrays", [{"v": np.zeros(30)}, {"v": np.float64(3)}, {"name": np.array(["a", "b"])}])
def test_file_without_times_or_rate_is_refused(tmp_path: Path, arrays: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        saved(tmp_path, **arrays)


@pytest.mark.real_data
def test_real_motion_says_that_it_has_no_times(data_dir: Path) -> None:
    with pytest.raises(BadInput, match="neither times nor a rate"):
        open_array_streams(data_dir / "sim2real" / "push_box_motion.npz")


def test_array_of_rows_without_values_is_no_stream(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no array with a row for each sample"):
        saved(tmp_path, a=np.zeros((10**12, 0)), fps=30.0)


def test_times_of_half_precision_are_read_without_a_warning(tmp_path: Path) -> None:
    with saved(tmp_path, t_s=np.arange(300, dtype=np.float16), a=np.arange(300.0)) as found:
        np.testing.assert_array_equal(found.series["a"].rows()["stamp_ns"], np.arange(300) * 10**9)
