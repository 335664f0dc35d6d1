import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onbeat.calibrate.files import check_writable, write_copied, write_measured, write_plant
from onbeat.calibrate.result import CalibrationResult
from onbeat.device.config import KnownPlant, Provenance, load_module_config, load_rig_config
from onbeat.device.load import simulated_rig_path
from onbeat.errors import BadInput

ARM = """\
# My arm; do not touch.
device: 'my_package.arm:Arm'   # in quotes

rate_hz: 250

# latencies
action_latency: 0.05    # the old guess
receive_latency: 0.0

params:
    port: "/dev/ttyACM0"   # usb

# the end
"""


def accepted(value: float = 0.1026, n: int = 1200, method: str = "chirp, least squares") -> CalibrationResult:
    return CalibrationResult("action_latency", value, 0.0004, n, method)


def write(path: Path, key: str = "action_latency", result: CalibrationResult | None = None, module: str | None = None) -> None:
    write_measured(path, key, result or accepted(), date="2026-11-30T15:44:28Z", host="rig1", module=module)


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.yaml"
    path.write_text(ARM)
    return path


def test_only_the_figure_and_its_block_change(arm: Path) -> None:
    write(arm)
    block = """
provenance:
  action_latency:
    source: measured
    value: 0.1026
    ci95: 0.0004
    n: 1200
    method: "chirp, least squares"
    date: "2026-11-30T15:44:28Z"
    host: rig1
"""
    expected = ARM.replace("action_latency: 0.05 ", "action_latency: 0.1026 ").replace("   # usb\n", f"   # usb\n{block}")
    assert arm.read_text() == expected


def test_what_is_written_is_read_back_as_measured(arm: Path) -> None:
    write(arm)
    config = load_module_config(arm)
    assert config.action_latency == 0.1026
    assert config.provenance_of("action_latency") == Provenance(
        "measured", 0.1026, 0.0004, 1200, "chirp, least squares", "2026-11-30T15:44:28Z", "rig1"
    )


def test_second_measurement_takes_the_place_of_the_first(arm: Path) -> None:
    write(arm)
    once = arm.read_text()
    write(arm, result=accepted(0.2))
    assert arm.read_text() == once.replace("0.1026", "0.2")


def test_figure_that_was_not_there_stands_beside_the_others(arm: Path) -> None:
    write(arm, "max_speed", accepted(1.8))
    assert "receive_latency: 0.0\nmax_speed: 1.8\n\nparams:" in arm.read_text()
    assert load_module_config(arm).provenance_of("max_speed").source == "measured"


def test_three_figures_have_three_blocks(arm: Path) -> None:
    for key, value in (("max_speed", 1.8), ("action_latency", 0.1), ("receive_latency", 0.002)):
        write(arm, key, accepted(value))
    config = load_module_config(arm)
    assert {key: block.source for key, block in config.provenance.items()} == dict.fromkeys(
        ("receive_latency", "action_latency", "max_speed"), "measured"
    )


def test_copied_figure_forgets_what_was_measured(arm: Path) -> None:
    write(arm)
    write_copied(arm, "action_latency", 0.17, "another rig: arm.yaml")
    config = load_module_config(arm)
    assert config.action_latency == 0.17
    assert config.provenance_of("action_latency") == Provenance("copied", 0.17, method="another rig: arm.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "device: a:B",
        "device: a:B\nmax_speed:  # unknown\nprovenance:\n",
        "device: a:B\nmax_speed: null\nprovenance: ~\n",
        "device: a:B\r\nmax_speed: 3 # three\r\n\r\nprovenance: {}\r\n",
        "{device: a:B, max_speed: 1.0}\n",
        "device: a:B\nprovenance: {max_speed: {source: copied, value: 1.0}} # keep\nmax_speed: 1.0\n",
        "device: a:B\nprovenance:\n    max_speed:\n        source: copied # mine\n        value: 1.0\nmax_speed: 1.0\n",
        "device: a:B\nparams:\n    a: |\n       text\n       more\n\n# end",
        "---\ndevice: a:B\nparams: &shared {max_speed: 1}\n...\n",
        "\ufeffdevice: a:B\n",
        '"device": a:B\n"max_speed" : 1\n',
    ],
)
def test_every_way_of_writing_yaml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "arm.yaml"
    path.write_bytes(text.encode())
    write(path, "max_speed", accepted(1.8))
    config = load_module_config(path)
    assert config.max_speed == 1.8
    assert config.provenance_of("max_speed").ci95 == 0.0004
    new = path.read_bytes().decode()
    assert [line.partition("#")[2] for line in new.splitlines() if "#" in line] == [
        line.partition("#")[2] for line in text.splitlines() if "#" in line
    ]
    assert new.count("\r\n") == (new.count("\n") if "\r" in text else 0)
    assert new.startswith("\ufeff") == text.startswith("\ufeff")


@settings(max_examples=30)
@given(value=st.floats(0, 10), n=st.integers(0, 2**40), method=st.text(max_size=30))
def test_value_survives_with_six_digits(tmp_path_factory: pytest.TempPathFactory, value: float, n: int, method: str) -> None:
    path = tmp_path_factory.mktemp("rig") / "arm.yaml"
    path.write_text(ARM)
    write(path, result=accepted(value, n, method))
    config = load_module_config(path)
    block = config.provenance_of("action_latency")
    assert (block.source, block.n, block.method) == ("measured", n, method)
    assert block.value == config.action_latency == pytest.approx(value, rel=5e-6, abs=0)


def test_small_figure_is_a_number_for_yaml_1_1_too(arm: Path) -> None:
    write(arm, result=accepted(1e-5))
    assert "action_latency: 1.0e-05 " in arm.read_text()


def test_module_written_in_place_in_a_rig(tmp_path: Path) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text("modules:\n  arm: {device: a:B}\n  hand:\n      device: c:D # hand\n  # tail\n")
    write(path, module="arm")
    write(path, "max_speed", accepted(1.8), module="hand")
    rig = load_rig_config(path)
    assert rig.modules["arm"].action_latency == 0.1026
    assert rig.modules["hand"].max_speed == 1.8
    assert rig.modules["hand"].provenance_of("max_speed").source == "measured"
    assert path.read_text().endswith("  # tail\n")


def refused(path: Path, act: Callable[[], None]) -> str:
    before = path.read_bytes()
    with pytest.raises(BadInput) as caught:
        act()
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    return str(caught.value)


def test_refused_result_is_not_written(arm: Path) -> None:
    result = CalibrationResult.refuse("action_latency", "the response does not follow", n=10, method="chirp")
    assert refused(arm, lambda: write(arm, result=result)).endswith("arm.yaml: the response does not follow")


@pytest.mark.parametrize("value", [-1e-9, -0.1])
def test_negative_value_is_never_written(arm: Path, value: float) -> None:
    assert "so the measurement did not track; it is not written" in refused(arm, lambda: write(arm, result=accepted(value)))


def test_value_out_of_range_is_not_written(arm: Path) -> None:
    assert "102.6 s; it is written in seconds" in refused(arm, lambda: write(arm, result=accepted(102.6)))
    assert "must be > 0" in refused(arm, lambda: write(arm, "max_speed", accepted(0.0)))
    assert "did not track" in refused(arm, lambda: write_copied(arm, "max_speed", float("nan"), "elsewhere"))


def test_other_keys_are_not_written(arm: Path) -> None:
    assert "'rate_hz' is not a measured figure" in refused(arm, lambda: write(arm, "rate_hz"))


def test_copy_without_a_source(arm: Path) -> None:
    assert "name the source" in refused(arm, lambda: write_copied(arm, "max_speed", 1.0, " "))


def test_file_that_is_not_a_module_is_left_alone(arm: Path) -> None:
    arm.write_text(ARM + "recieve_latency: 1\n")
    assert "did you mean 'receive_latency'?" in refused(arm, lambda: write(arm))
    arm.write_text("modules: {arm: {device: a:B}}\n")
    assert "does not hold the keys of a module 'leg'" in refused(arm, lambda: write(arm, module="leg"))


def test_shared_value_is_left_alone(arm: Path) -> None:
    arm.write_text("device: a:B\naction_latency: &same 0.1\nreceive_latency: *same\n")
    assert "line 2 shares its value (&same)" in refused(arm, lambda: write(arm))
    assert "line 3 shares its value (&same)" in refused(arm, lambda: write(arm, "receive_latency"))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file"):
        write(tmp_path / "arm.yaml")


def test_rig_that_comes_with_onbeat_is_not_written() -> None:
    path = simulated_rig_path().parent / "modules" / "arm.yaml"
    with pytest.raises(BadInput, match="belongs to the installed onbeat and is not written; copy the rig first"):
        write(path)


def test_read_only_file(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "is read-only; allow writing with: chmod u+w" in refused(arm, lambda: write(arm))


def test_mode_of_the_file_is_kept(arm: Path) -> None:
    arm.chmod(0o640)
    write(arm)
    assert stat.S_IMODE(arm.stat().st_mode) == 0o640


def test_link_still_points_to_the_file(arm: Path, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    link = tmp_path / "conf" / "arm.yaml"
    link.symlink_to(arm)
    write(link)
    assert link.is_symlink()
    assert load_module_config(arm).action_latency == 0.1026
    assert [entry.name for entry in link.parent.iterdir()] == ["arm.yaml"]


def test_edit_between_reading_and_replacing_is_kept(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = iter([ARM.replace("250", "500")])
    fsync = os.fsync

    def edited_meanwhile(descriptor: int) -> None:
        fsync(descriptor)
        for text in edits:
            arm.write_text(text)

    monkeypatch.setattr(os, "fsync", edited_meanwhile)
    write(arm)
    config = load_module_config(arm)
    assert (config.rate_hz, config.action_latency) == (500.0, 0.1026)


def test_file_that_never_rests(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(100))
    monkeypatch.setattr(os, "fsync", lambda descriptor: arm.write_text(f"{ARM}# {next(count)}\n"))
    with pytest.raises(BadInput, match="changed by someone else 5 times while it was being written; close its editor"):
        write(arm)
    assert [entry.name for entry in arm.parent.iterdir()] == ["arm.yaml"]


def test_failure_while_writing_leaves_the_old_file(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in refused(arm, lambda: write(arm))


def plant(l_eff: float = 0.0981, lag: float | None = 0.0584, motion: str = "sines") -> KnownPlant:
    provenance = Provenance("measured", l_eff, 0.0028, 5889, "least squares", "2026-12-01T00:00:00Z", "rig1")
    half = None if lag is None else 0.0002
    return KnownPlant(l_eff, None, None, lag, half, 1.0, 0.0003, 2.5, "corrected", motion, provenance)


def test_plant_stands_at_the_end_with_where_it_comes_from(arm: Path) -> None:
    write_plant(arm, 0, plant())
    expected = """
plant:
  0:
    l_eff: 0.0981
    lag: 0.0584
    lag_ci95: 0.0002
    gain: 1.0
    gain_ci95: 0.0003
    chi2_dof: 2.5
    stamps: corrected
    motion: sines
    provenance:
      source: measured
      value: 0.0981
      ci95: 0.0028
      n: 5889
      method: "least squares"
      date: "2026-12-01T00:00:00Z"
      host: rig1
"""
    assert arm.read_text() == ARM.replace("   # usb\n", f"   # usb\n{expected}")
    assert load_module_config(arm).plant == {0: plant()}
    assert load_module_config(arm).action_latency == 0.05


def test_plants_of_other_joints_and_comments_stay(arm: Path) -> None:
    write_plant(arm, 0, plant())
    arm.write_text(arm.read_text().replace("lag: 0.0584", "lag: 0.0584  # slow"))
    write_plant(arm, 2, plant(0.11, None))
    write_plant(arm, 0, plant(0.097, None, "chirp"))
    read = load_module_config(arm).plant
    assert dict(read) == {0: plant(0.097, None, "chirp"), 2: plant(0.11, None)}
    assert "lag: null  # slow" in arm.read_text()


def test_plant_that_was_edited_says_so(arm: Path) -> None:
    write_plant(arm, 0, plant())
    arm.write_text(arm.read_text().replace("l_eff: 0.0981", "l_eff: 0.1"))
    assert load_module_config(arm).plant[0].provenance.source == "edited"


def test_plant_of_a_module_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text("modules:\n  arm: {device: a:B}\n  jaw:\n    device: a:C\n")
    write_plant(path, 1, plant(), module="arm")
    write_plant(path, 0, plant(), module="jaw")
    modules = load_rig_config(path).modules
    assert dict(modules["arm"].plant) == {1: plant()}
    assert dict(modules["jaw"].plant) == {0: plant()}


def test_file_that_may_not_be_written_is_known_before(arm: Path) -> None:
    check_writable(arm)
    with pytest.raises(BadInput, match="belongs to the installed onbeat"):
        check_writable(simulated_rig_path())
    with pytest.raises(BadInput, match="there is no file"):
        check_writable(arm.with_name("leg.yaml"))
