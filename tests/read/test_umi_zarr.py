from pathlib import Path

import numpy as np
import pytest
from numcodecs import Blosc

from onbeat.errors import BadInput, Damaged
from onbeat.read import gather
from onbeat.read.open import find_recordings, open_streams
from onbeat.read.umi_zarr import is_umi_zarr, open_umi_zarr
from tests.read.test_zarr_arrays import write_array, zipped

N, ENDS = 50, np.array([20, 50])


def buffer(root: Path, *, stamps: bool = False, camera_codec: dict[str, str] | None = None) -> Path:
    """A replay buffer of UMI: two episodes; the camera repeats picture 30 up to row 40."""
    rng = np.random.default_rng(1)
    write_array(root, "meta/episode_ends", ENDS, (2,))
    write_array(root, "data/robot0_eef_pos", np.cumsum(rng.normal(size=(N, 3)), axis=0).astype(np.float32), (16, 3), Blosc())
    turned = np.zeros((N, 3), dtype=np.float32)
    turned[:, 2] = np.pi / 2
    write_array(root, "data/robot0_eef_rot_axis_angle", turned, (16, 3), Blosc())
    write_array(root, "data/robot0_gripper_width", rng.uniform(0, 0.08, (N, 1)).astype(np.float32), (16, 1))
    pictures = rng.integers(0, 255, (N, 4, 6, 3), dtype=np.uint8)
    pictures[31:40] = pictures[30]
    more = {"compressor": camera_codec} if camera_codec else {}
    write_array(root, "data/camera0_rgb", pictures, (1, 4, 6, 3), **more)
    if stamps:
        write_array(root, "data/timestamp", 1.7e9 + np.arange(N) * 0.1, (N,))
    return root


def test_streams_of_umi_are_counted_at_gopros_rate_and_it_says_so(tmp_path: Path) -> None:
    root = buffer(tmp_path / "replay_buffer.zarr")
    for path in (root, zipped(root)):
        assert is_umi_zarr(path)
        assert find_recordings(path) == [path]
        recording = open_streams(path)
        assert recording.kind == "UMI zarr"
        assert any("59.94 Hz" in note and "states no rate" in note for note in recording.notes)
        with gather(recording) as got:
            assert got.damage == ""
            said = {name: (s.info.kind, s.info.counted, s.info.declared_hz, len(s)) for name, s in got.series.items()}
            assert said == {
                "camera0_rgb": ("image", True, None, N),
                "robot0_eef_pos": ("pose", True, None, N),
                "robot0_gripper_width": ("numbers", True, None, N),
            }
            rows = got.series["robot0_eef_pos"].rows()
            assert rows["segment"].tolist() == [0] * 20 + [1] * 30
            assert rows["seq"][18:22].tolist() == [18, 19, 0, 1]
            assert rows["stamp_ns"][1] == 1_001 * 1_000_000_000 // 60_000
            assert np.allclose(rows["value"][:, 3:], [[np.sqrt(0.5), 0, 0, np.sqrt(0.5)]], atol=1e-6)


def test_stamps_of_the_file_are_taken(tmp_path: Path) -> None:
    with gather(open_umi_zarr(buffer(tmp_path, stamps=True))) as got:
        gripper = got.series["robot0_gripper_width"]
        assert not gripper.info.counted
        steps = np.diff(gripper.rows()["stamp_ns"])
        assert np.abs(steps - 100_000_000).max() < 500  # a float64 of seconds since 1970 holds 0.2 us


def test_repeated_pictures_have_equal_digests_even_without_their_codec(tmp_path: Path) -> None:
    for name, codec in (("a", None), ("b", {"id": "imagecodecs_jpegxl"})):
        with gather(open_umi_zarr(buffer(tmp_path / name, camera_codec=codec))) as got:
            same = np.diff(got.series["camera0_rgb"].rows()["digest"]) == 0
            assert np.flatnonzero(same).tolist() == list(range(30, 39))


def test_pictures_are_gray_frames(tmp_path: Path) -> None:
    recording = open_umi_zarr(buffer(tmp_path))
    assert recording.frames is not None
    frames = list(recording.frames("camera0_rgb", 18))
    assert [f.row for f in frames] == list(range(18))
    assert frames[0].gray.shape == (4, 6)
    assert frames[0].gray.dtype == np.uint8
    assert list(recording.frames("action", 5)) == []


def test_missing_chunk_costs_its_stream_only(tmp_path: Path) -> None:
    root = buffer(tmp_path)
    (root / "data/robot0_gripper_width/1.0").unlink()
    (root / "data/robot0_eef_pos/0.0").write_bytes(b"broken")
    with gather(open_umi_zarr(root)) as got:
        assert set(got.series) == {"camera0_rgb"}
        assert "robot0_gripper_width: 0 of 50 rows could be read" in got.damage
        assert "robot0_eef_pos: 0 of 50 rows" in got.damage


def test_other_folders_and_files_are_none(tmp_path: Path) -> None:
    assert not is_umi_zarr(tmp_path)
    (tmp_path / "a.csv").write_text("t,x\n")
    assert not is_umi_zarr(tmp_path / "a.csv")
    assert not is_umi_zarr(tmp_path / "absent")
    with pytest.raises(BadInput, match="no meta/episode_ends"):
        open_umi_zarr(tmp_path)


def test_broken_zip_of_that_name_is_one_sentence(tmp_path: Path) -> None:
    path = zipped(buffer(tmp_path / "dataset"))
    path.write_bytes(path.read_bytes()[:5000])
    assert is_umi_zarr(path)
    with pytest.raises(Damaged, match=r"is not a whole zip"):
        open_umi_zarr(path)


@pytest.mark.parametrize("ends", [np.array([20, 10]), np.array([0, 5]), np.array([1.5])])
def test_ends_that_do_not_increase_are_refused(tmp_path: Path, ends: "np.typing.NDArray[np.float64]") -> None:
    write_array(tmp_path, "meta/episode_ends", ends, (2,))
    write_array(tmp_path, "data/action", np.zeros((30, 2)), (30, 2))
    with pytest.raises(BadInput, match="no increasing numbers"):
        gather(open_umi_zarr(tmp_path))
