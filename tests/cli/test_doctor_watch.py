import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.cli.doctor_watch import find_recording, follow
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput
from onbeat.loop import RECORD_DTYPE
from onbeat.record.mcap import Recorder

MS = 1_000_000


def cycles(n: int, late_ns: int = 20_000, skipped: int = 0) -> NDArray[Any]:
    records = np.zeros(n, RECORD_DTYPE)
    records["deadline_ns"] = np.arange(n) * 4 * MS + MS
    records["wake_ns"] = records["deadline_ns"] + late_ns
    records["sent_ns"] = records["done_ns"] = records["wake_ns"] + 1000
    records["skipped"][-1] = skipped
    return records


def recorded(path: Path, late_ns: int = 20_000, skipped: int = 0) -> Path:
    recorder = Recorder(path, "monotonic")
    recorder.add_cycles("arm", cycles(500, late_ns, skipped))
    recorder.close()
    return path


def test_run_is_found_by_its_name_also_while_it_is_written(tmp_path: Path) -> None:
    hidden = tmp_path / ".run.partial"
    hidden.mkdir()
    growing = hidden / "recording.mcap.partial"
    growing.write_bytes(b"x")
    assert find_recording(tmp_path / "run") == growing
    growing.rename(hidden / "recording.mcap")
    assert find_recording(tmp_path / "run") == hidden / "recording.mcap"
    hidden.rename(tmp_path / "run")
    assert find_recording(tmp_path / "run") == tmp_path / "run/recording.mcap"
    with pytest.raises(BadInput, match="no recording"):
        find_recording(tmp_path / "walk")


@pytest.mark.parametrize(("late_ns", "skipped", "code"), [(20_000, 0, 0), (MS, 0, 1), (20_000, 2, 1)])
def test_lateness_decides_the_exit_code(
    tmp_path: Path, late_ns: int, skipped: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(tmp_path / "a.mcap", late_ns, skipped)
    assert follow(path, Terminal(json=True), quiet_looks=1) == code
    said = json.loads(capsys.readouterr().out)
    assert said["module"] == "arm"
    assert said["cycles"] == 500
    assert said["p50_us"] == pytest.approx(late_ns / 1e3)
    assert said["missed"] == skipped


def test_recording_without_a_loop_is_said(tmp_path: Path) -> None:
    Recorder(tmp_path / "a.mcap", "monotonic").close()
    with pytest.raises(BadInput, match="no cycle"):
        follow(tmp_path / "a.mcap", Terminal(), quiet_looks=1)
