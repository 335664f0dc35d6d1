"""The core install alone: what it reads, and for what else it names the extra that reads it."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onbeat.cli.main import main
from onbeat.testing.lerobot_set import write_lerobot_set
from tests.read.ros_build import image, imus, ros2_mcap
from tests.read.test_fuzz import arrays, table, video
from tests.read.test_rosbag import bag1, bag2
from tests.read.test_umi_zarr import buffer

EXTRAS = ("pyarrow", "pyarrow.parquet", "av", "cv2", "zarr", "numcodecs", "ruckig", "mink", "mujoco")


def cameras(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    pictures = (("/camera", k * 10**8, image(k * 10**8, rng.integers(0, 255, (32, 32), np.uint8))) for k in range(1, 40))
    return ros2_mcap(folder / "camera.mcap", pictures)


def arm(folder: Path) -> Path:
    return write_lerobot_set(folder / "arm", rng=np.random.default_rng(0), episodes=1, seconds=1.0, size=(32, 32))


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


CORE: dict[str, Callable[[Path], Path]] = {
    "csv": lambda folder: written(folder, "table.csv", table()),
    "npz": lambda folder: written(folder, "arrays.npz", arrays(folder)),
    "mcap": lambda folder: ros2_mcap(folder / "imu.mcap", imus(50)),
    "camera": cameras,
    "bag of ROS 1": lambda folder: bag1(folder / "imu.bag"),
    "bag of ROS 2": lambda folder: bag2(folder / "imu"),
}
MORE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "lerobot": (arm, "lerobot"),
    "a parquet file of it": (lambda folder: next(arm(folder).glob("data/*/*.parquet")), "lerobot"),
    "zarr": (lambda folder: buffer(folder / "replay_buffer.zarr"), "umi"),
    "mp4": (lambda folder: written(folder, "video.mp4", video(folder)), "vision"),
}


@pytest.fixture
def core_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    def block() -> None:
        monkeypatch.chdir(tmp_path)
        for name in EXTRAS:
            monkeypatch.setitem(sys.modules, name, None)

    return block


@pytest.mark.parametrize("command", ["info", "check"])
@pytest.mark.parametrize("kind", CORE)
def test_read_without_extras(
    kind: str, command: str, tmp_path: Path, core_only: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = CORE[kind](tmp_path)
    core_only()
    assert main([command, str(path)]) in (0, 1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["info", "check"])
@pytest.mark.parametrize("kind", MORE)
def test_what_an_extra_reads_names_it(
    kind: str, command: str, tmp_path: Path, core_only: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    write, extra = MORE[kind]
    path = write(tmp_path)
    core_only()
    assert main([command, str(path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"pip install 'onbeat[{extra}]'" in said
