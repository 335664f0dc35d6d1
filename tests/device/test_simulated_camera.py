from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import segno
import zxingcpp
from numpy.typing import NDArray

from onbeat.capture import detect_cup
from onbeat.clock import ManualClock
from onbeat.device import Command
from onbeat.device.scene import RestingCup
from onbeat.device.seeded import Seeded
from onbeat.device.simulated import World
from onbeat.device.simulated_camera import CameraBench, SimulatedCamera, draw_camera
from onbeat.errors import BadInput, DeviceError

MS = 1_000_000
START_NS = 1_000_000_000_000
MakeSink = Callable[[int], Any]


class CirclingCup:
    def at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        angle = (np.asarray(t_ns) - START_NS) * 1.5e-9
        return np.stack([0.30 + 0.10 * np.sin(angle), 0.12 * np.cos(angle), 0 * angle], axis=1)


def world(make_sink: MakeSink, seed: int = 0, fast: bool = True) -> World:
    made = World(seed, ManualClock(START_NS), CirclingCup(), fast=fast, make_sink=make_sink)
    made.camera.connect()
    return made


def clock_of(made: World) -> ManualClock:
    clock = made.clock
    assert isinstance(clock, ManualClock)
    return clock


def code(text: str) -> NDArray[np.uint8]:
    modules = np.array([list(row) for row in segno.make(text, error="m", micro=False).matrix], dtype=np.uint8)
    return ((1 - modules) * 255).astype(np.uint8)


def film(made: World, seconds: float, hold_ns: int) -> tuple[list[NDArray[np.uint8]], list[int], list[int]]:
    """Show the instants of drawing as codes and film them; frames, their stamps, instants of drawing."""
    clock = clock_of(made)
    frames, stamps, drawn = [], [], []
    next_draw_ns, arrives_ns = START_NS, START_NS
    while arrives_ns < START_NS + round(seconds * 1e9):
        if next_draw_ns <= arrives_ns:
            clock.set_ns(next_draw_ns)
            made.screen.show(code(str(next_draw_ns)), next_draw_ns)
            drawn.append(next_draw_ns)
            next_draw_ns += hold_ns
            continue
        clock.set_ns(arrives_ns)
        state = made.camera.read()
        frames.append(state.value)
        stamps.append(state.receive_ns)
        arrives_ns = state.receive_ns
    return frames, stamps, drawn


def test_frames_come_one_after_the_other_at_the_camera_s_rate(list_sink: MakeSink) -> None:
    made = world(list_sink)
    clock = clock_of(made)
    stamps = []
    for expected in range(300):
        state = made.camera.read()
        assert state.begin_ns == clock.now_ns()
        if expected == 0:
            first = state.seq
        assert state.seq == first + expected
        clock.set_ns(state.receive_ns)
        stamps.append(state.receive_ns)
    rate_hz = 299 / ((stamps[-1] - stamps[0]) * 1e-9)
    assert rate_hz == pytest.approx(29.83, abs=0.1)
    assert np.diff(stamps).min() > 0


def test_frames_that_nobody_waited_for_are_lost_and_counted(list_sink: MakeSink) -> None:
    made = world(list_sink)
    before = made.camera.read().seq
    clock_of(made).advance_ns(500 * MS)
    after = made.camera.read()
    assert 14 <= after.seq - before <= 17
    assert after.receive_ns >= after.begin_ns


def test_frames_do_not_depend_on_which_ones_were_read(list_sink: MakeSink) -> None:
    all_of_them, few = world(list_sink, 3), world(list_sink, 3)
    states = {}
    while (state := all_of_them.camera.read()).receive_ns < START_NS + 2_000 * MS:
        clock_of(all_of_them).set_ns(state.receive_ns)
        states[state.seq] = state
    for _ in range(5):
        clock_of(few).advance_ns(270 * MS)
        state = few.camera.read()
        assert np.array_equal(state.value, states[state.seq].value)
        assert state.receive_ns == states[state.seq].receive_ns


def test_reading_waits_until_the_frame_arrives(list_sink: MakeSink) -> None:
    made = world(list_sink, fast=False)
    state = made.camera.read()
    assert clock_of(made).now_ns() == state.receive_ns > START_NS


def test_ledger_logs_middle_of_exposure_and_stamp(list_sink: MakeSink) -> None:
    made = world(list_sink)
    assert made.ledger.truth()["camera"]["receive_latency"] == pytest.approx(0.0803, abs=5e-4)
    states = [made.camera.read() for _ in range(200)]
    logged = made.ledger.frames_ns()
    assert [s.seq for s in states] == logged[:, 0].tolist()
    assert [s.receive_ns for s in states] == logged[:, 2].tolist()
    assert {s.span_ns for s in states} == {8_100_000}
    behind_ms = (logged[:, 2] - logged[:, 1]) / MS
    assert behind_ms.min() > 79.25 + 0.19
    assert made.ledger.truth()["camera"]["receive_latency"] == pytest.approx(float(behind_ms.mean()) / 1e3)
    assert made.ledger.truth()["camera"]["receive_latency"] == pytest.approx(0.0803, abs=1e-3)


def test_few_frames_are_badly_late_and_none_overtakes() -> None:
    bench = CameraBench(draw_camera(np.random.default_rng(0), True), 0, np.random.default_rng(2))
    stamps, begins = [], []
    k = -1
    for _ in range(5000):
        k, stamp_ns = bench.next_frame(k, 0)
        stamps.append(stamp_ns)
        begins.append(bench.begin_ns(k))
    late_ms = (np.array(stamps) - begins) / MS - 83.3
    assert 5 < np.count_nonzero(late_ms > 8) < 45
    assert np.median(late_ms) < 1
    assert np.diff(stamps).min() >= 200_000


@pytest.mark.parametrize("seed", range(4))
def test_cup_is_found_where_it_was_in_the_middle_of_the_exposure(seed: int, list_sink: MakeSink) -> None:
    made = world(list_sink, seed)
    found = []
    for _ in range(120):
        state = made.camera.read()
        found.append(detect_cup(state.value, made.camera.pixels_to_world))
    true = made.ledger.cup_at_many(made.ledger.frames_ns()[:, 1])[:, :2]
    assert np.abs(np.array(found) - true).max() < 3e-4


def test_codes_are_read_and_tell_the_delay(list_sink: MakeSink) -> None:
    made = world(list_sink)
    made.camera.look_at("screen")
    frames, stamps, drawn = film(made, 6.0, 71 * MS)
    assert frames[0].shape == (480, 640)
    read = [(stamp, zxingcpp.read_barcodes(frame)) for frame, stamp in zip(frames, stamps, strict=True)]
    ages_ms = [(stamp - int(codes[0].text)) / MS for stamp, codes in read if codes]
    assert {int(codes[0].text) for _, codes in read if codes} <= set(drawn)
    assert len(ages_ms) > 0.85 * len(frames)
    # Light follows the draw by 1.5 refreshes on average, and a code is on for 71 ms.
    camera_ms = made.ledger.truth()["camera"]["receive_latency"] * 1e3
    assert min(ages_ms) > camera_ms + 1e3 / 59.94 - 5
    assert np.mean(ages_ms) == pytest.approx(camera_ms + 1.5e3 / 59.94 + 71 / 2, abs=4)


def test_covered_code_is_not_read(list_sink: MakeSink) -> None:
    made = world(list_sink)
    made.camera.look_at("screen")
    made.camera.cover(True)
    frames, _, _ = film(made, 1.0, 71 * MS)
    assert not any(zxingcpp.read_barcodes(frame) for frame in frames)
    made.camera.cover(False)
    assert zxingcpp.read_barcodes(made.camera.read().value)


def test_dark_screen_shows_no_code(list_sink: MakeSink) -> None:
    made = world(list_sink)
    made.camera.look_at("screen")
    image = made.camera.read().value
    assert image.max() < 100
    assert not zxingcpp.read_barcodes(image)


def test_frame_whose_exposure_is_not_decided_yet_is_refused(list_sink: MakeSink) -> None:
    made = world(list_sink)
    for _ in range(4):
        made.camera.read()
    made.camera.look_at("screen")
    with pytest.raises(DeviceError, match="ms from now; read it when the last one arrived"):
        made.camera.read()


def test_camera_takes_no_commands_and_holds_still(list_sink: MakeSink) -> None:
    made = world(list_sink)
    made.camera.hold()
    with pytest.raises(DeviceError, match="takes no commands"):
        made.camera.write(Command(START_NS, np.zeros(1)))


def test_unknown_view_is_refused(list_sink: MakeSink) -> None:
    with pytest.raises(BadInput, match="one of cup, screen"):
        world(list_sink).camera.look_at("door")


def test_camera_from_a_yaml_is_the_one_of_the_world(list_sink: MakeSink) -> None:
    made = World(6, ManualClock(START_NS), RestingCup(), fast=True, make_sink=list_sink)
    alone = SimulatedCamera(Seeded({"seed": 6}), ManualClock(START_NS))
    for camera in (made.camera, alone):
        camera.connect()
    one, two = made.camera.read(), alone.read()
    assert np.array_equal(one.value, two.value)
    assert (one.receive_ns, one.seq, one.span_ns) == (two.receive_ns, two.seq, two.span_ns)
    assert np.array_equal(made.camera.pixels_to_world, alone.pixels_to_world)
    assert alone.info.kind == "camera"
    alone.close()
    with pytest.raises(DeviceError, match="not connected"):
        alone.read()


def test_drawn_cameras_lie_in_their_range() -> None:
    for seed in range(200):
        camera = draw_camera(np.random.default_rng(seed), typical=seed == 0)
        assert 0.040 < camera.nominal_latency_s < 0.130
        assert 0.004 <= camera.exposure_s <= 0.016
        assert 0.010 <= camera.transfer_s <= 0.060
        # The next frame's exposure may end after now, but by less than the panel's delay of one refresh.
        assert 1 / camera.frame_hz - camera.after_exposure_s < 1 / 59.94
