"""The whole demo on a manual clock: what it measures, what it writes, what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from onbeat.device import load_rig_config
from onbeat.errors import OnbeatError
from onbeat.record import Motion
from onbeat.record.recording import read_recording
from onbeat.report.demo import COPIED_S, DemoOptions, run_demo
from onbeat.report.story import Story
from onbeat.report.swim_lanes import draw_lanes

SEED = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Story, Path, list[str]]:
    folder = tmp_path_factory.mktemp("demo")
    steps: list[str] = []
    story = run_demo(DemoOptions(SEED, fast=True), folder, "2026-11-30", "test", steps.append)
    return story, folder, steps


def test_every_delay_is_measured_near_the_truth(run: tuple[Story, Path, list[str]]) -> None:
    bounds = {"action_latency": 0.003, "receive_latency": 0.001}
    for each in run[0].measurements:
        assert each.result.accepted, each
        assert each.result.value is not None
        error = each.result.value - each.truth
        if each.key == "max_speed":
            assert abs(error) <= 0.05 * each.truth
        else:
            assert abs(error) <= (0.004 if each.module == "camera" else bounds[each.key]), each


def test_measured_delays_land_the_grasp(run: tuple[Story, Path, list[str]]) -> None:
    story = run[0]
    distances = {grasp.name: grasp.distance_m for grasp in story.grasps}
    assert list(distances) == ["uncompensated", "copied", "measured"]
    measured = distances["measured"]
    assert measured is not None
    assert measured < 0.006
    assert all(distance is not None and distance > 4 * measured for name, distance in distances.items() if name != "measured")


def test_three_runs_differ_in_the_five_latencies_only(run: tuple[Story, Path, list[str]]) -> None:
    uncompensated, copied, measured = run[0].grasps
    assert set(uncompensated.latencies_s) == set(COPIED_S)
    assert set(uncompensated.latencies_s.values()) == {0.0}
    assert copied.latencies_s == COPIED_S
    found = {f"{m.module}.{m.key}": m.result.value for m in run[0].measurements}
    assert measured.latencies_s == {key: found[key] for key in COPIED_S}


def test_yaml_of_the_rig_holds_what_was_measured(run: tuple[Story, Path, list[str]]) -> None:
    story, folder, _ = run
    modules = load_rig_config(folder / "rig" / "rig.yaml").modules
    for each in story.measurements:
        assert getattr(modules[each.module], each.key) == pytest.approx(each.result.value, rel=1e-5)
        provenance = modules[each.module].provenance_of(each.key)
        assert (provenance.source, provenance.date, provenance.host) == ("measured", "2026-11-30", "test")
        assert provenance.ci95 == pytest.approx(each.result.ci95, rel=1e-5)
        assert provenance.n == each.result.n


def test_rig_that_is_left_is_the_one_that_was_measured(run: tuple[Story, Path, list[str]]) -> None:
    _, folder, _ = run
    modules = load_rig_config(folder / "rig" / "rig.yaml").modules
    assert {name: dict(module.params) for name, module in modules.items()} == {name: {"seed": SEED} for name in modules}


def test_recording_holds_readings_decisions_and_cycles(run: tuple[Story, Path, list[str]]) -> None:
    recording = read_recording(run[1] / "recording.mcap")
    assert recording.complete
    assert {"arm", "gripper", "camera"} <= set(recording.readings)
    assert {"arm", "gripper"} <= set(recording.cycles)
    assert {"arm", "gripper"} <= set(recording.chunks)


def test_result_holds_what_is_promised(run: tuple[Story, Path, list[str]]) -> None:
    result = run[0].result()
    assert {"seed", "fast", "modules", "grasp", "loop", "run"} <= set(result)
    assert set(result["modules"]["arm"]) == {"action_latency", "receive_latency", "max_speed"}
    assert {"value", "truth", "ci95"} <= set(result["modules"]["camera"]["receive_latency"])
    for grasp in result["grasp"].values():
        assert {"distance_m", "height_error_m", "late_waypoints"} <= set(grasp)


def test_cycle_shows_stamp_lead_and_arrival_and_the_copied_one_shows_them_wrong(run: tuple[Story, Path, list[str]]) -> None:
    story = run[0]
    measured, copied = story.cycles
    assert (measured.name, copied.name) == ("measured", "copied")
    for cycle in story.cycles:
        lead_ns = round(story.grasp(cycle.name).latencies_s["arm.action_latency"] * 1e9)
        assert all(row.due_ns - row.sending_ns == lead_ns for row in cycle.rows)
        assert all((row.sending_ns <= cycle.ready_ns) == (row.fate == "dropped") for row in cycle.rows)
        assert cycle.arrived_ns <= cycle.asked_ns <= cycle.ready_ns < (cycle.next_ns or 0)
    assert abs(measured.stamp_ns) < 5_000_000
    assert all(row.late_ns is not None and abs(row.late_ns) < 6_000_000 for row in measured.rows)
    assert all(row.late_ns is not None and row.late_ns < -100_000_000 for row in copied.rows)


def test_page_can_tell_where_each_figure_was_written(run: tuple[Story, Path, list[str]]) -> None:
    story, folder, _ = run
    for each in story.measurements:
        assert each.written == f"rig/modules/{each.module}.yaml"
        assert f"{each.key}:" in (folder / each.written).read_text()


def test_steps_are_told_as_they_begin(run: tuple[Story, Path, list[str]]) -> None:
    assert run[2][0] == "timing the reads of arm and gripper"
    assert run[2][-1] == "grasping, measured"


@pytest.mark.slow
def test_same_seed_gives_the_same_bits(run: tuple[Story, Path, list[str]], tmp_path: Path) -> None:
    story = run_demo(DemoOptions(SEED, fast=True), tmp_path, "2027-01-01", "another")
    first, second = run[0].result(), story.result()
    assert first.pop("run") != second.pop("run")
    assert first == second
    assert draw_lanes(run[0].cycles) == draw_lanes(story.cycles)
    assert (run[1] / "recording.mcap").read_bytes() == (tmp_path / "recording.mcap").read_bytes()


def test_code_that_is_painted_over_gives_no_number(tmp_path: Path) -> None:
    with pytest.raises(OnbeatError, match="camera receive_latency was not measured: no code in view: 0 of"):
        run_demo(DemoOptions(SEED, fast=True, cover_code=True), tmp_path, "2026-11-30", "test")


@pytest.mark.slow
def test_cup_follows_a_recorded_motion(tmp_path: Path) -> None:
    t = np.arange(0, 12_000_000_000, 10_000_000, dtype=np.int64)
    s = t * 1e-9
    positions = np.stack([0.4 * np.sin(1.1 * s) + 0.1 * np.sin(2.3 * s), 0.02 * s, 0.3 * np.cos(1.7 * s)], axis=1)
    story = run_demo(DemoOptions(SEED, fast=True, motion=Motion(10**18 + t, positions)), tmp_path, "2026-11-30", "test")
    assert "its x and z scaled by" in story.motion
    distances = {grasp.name: grasp.distance_m for grasp in story.grasps}
    assert distances["measured"] is not None
    assert distances["measured"] < 0.008
