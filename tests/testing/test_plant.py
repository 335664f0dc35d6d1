import json
from pathlib import Path

import numpy as np
import pytest

from onbeat.read import gather
from onbeat.read.open import open_streams
from onbeat.testing.plant import main
from onbeat.testing.recordings import arm_rig
from onbeat.testing.write_mcap import write_mcap


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    path = tmp_path / "healthy.mcap"
    write_mcap(arm_rig(np.random.default_rng(0), 10.0), path)
    return path


def test_file_with_a_fault_is_written_and_its_truth_printed(healthy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = healthy.with_name("worse.mcap")
    assert main([str(healthy), "gap", "--out", str(out), "--seed", "3", "--stream", "/imu/data"]) == 0
    truth = json.loads(capsys.readouterr().out)
    assert (truth["fault"], truth["stream"]) == ("gap", "/imu/data")
    with gather(open_streams(healthy)) as before, gather(open_streams(out)) as after:
        assert set(before.series) == set(after.series)
        longest = np.diff(after.series["/imu/data"].rows()["stamp_ns"]).max() / 1e9
        assert longest == pytest.approx(truth["gap_s"], abs=0.02)
        np.testing.assert_array_equal(before.series["/tracker/pose"].rows(), after.series["/tracker/pose"].rows())


def test_table_is_written_where_the_name_asks_for_one(healthy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = healthy.with_name("worse.csv")
    assert main([str(healthy), "skew", "--out", str(out)]) == 0
    stream = json.loads(capsys.readouterr().out)["stream"]
    with gather(open_streams(out)) as after:
        assert any(stream in name for name in after.series)


@pytest.mark.parametrize(
    ("file", "fault", "says"),
    [("healthy.mcap", "wobble", "no fault is called 'wobble'"), ("missing.mcap", "skew", "missing.mcap")],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    healthy: Path, capsys: pytest.CaptureFixture[str], file: str, fault: str, says: str
) -> None:
    assert main([str(healthy.with_name(file)), fault, "--out", str(healthy.with_name("x.mcap"))]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.out == ""


def test_the_recording_itself_is_never_overwritten(healthy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(healthy), "skew", "--out", str(healthy)])
    assert "choose another --out" in capsys.readouterr().err
