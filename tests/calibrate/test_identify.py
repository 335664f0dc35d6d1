"""The procedure on a device of known dead time and lag, on a manual clock: real loop, real module, no hardware."""

from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.excitation import MOTIONS, Motion
from onbeat.calibrate.identify import JointPlant, Request, check_places, excitation_of, identify_joint, known_plant, move_joint
from onbeat.clock import ManualClock
from onbeat.device import DeviceInfo, ModuleConfig, Provenance
from onbeat.errors import BadInput, DeviceError
from onbeat.loop import SendLoop
from onbeat.motion import Limits
from onbeat.policy import Module, Rig
from tests.calibrate.lagged_axis import MS, LaggedAxis, SoftAxis, axis_rig

INFO = DeviceInfo("joints", 2, "rad", "test")
TRUE_S = 0.5 / 250 + 0.02 + 0.03


def device_of(rig: Rig) -> LaggedAxis:
    device = rig["axis"].device
    assert isinstance(device, LaggedAxis)
    return device


def identified(rig: Rig, joint: int = 0, request: Request | None = None) -> JointPlant:
    module = rig["axis"]
    excitation = excitation_of(module.config, module.info, joint, request or Request(seconds=30.0))
    with rig:
        return identify_joint(move_joint(rig, "axis", joint, excitation))


@pytest.mark.parametrize("motion", MOTIONS)
def test_device_that_stamps_its_samples_is_known_exactly(motion: Motion) -> None:
    found = identified(axis_rig(ManualClock(MS), {"stamps": "ours"}), request=Request(motion, 30.0))
    plant = found.plant
    assert plant.accepted, plant.reason
    assert (found.stamps, found.biased) == ("sample", False)
    assert plant.l_eff.value == pytest.approx(TRUE_S, abs=5e-5)
    assert plant.dead_time.value == pytest.approx(0.02, abs=2e-4)
    assert plant.lag.value == pytest.approx(0.03, abs=2e-4)
    assert plant.gain == pytest.approx(1.0, abs=1e-3)


def test_device_with_a_python_sdk_only() -> None:
    found = identified(axis_rig(ManualClock(MS), {"stamps": "ours"}, device=SoftAxis))
    assert found.plant.l_eff.value == pytest.approx(TRUE_S, abs=5e-5)


def test_one_joint_moves_smoothly_and_comes_back() -> None:
    rig = axis_rig(ManualClock(MS), {"stamps": "ours", "width": 2})
    seconds: list[float] = []
    module = rig["axis"]
    excitation = excitation_of(module.config, module.info, 1, Request(seconds=30.0))
    with rig:
        moved = move_joint(rig, "axis", 1, excitation, seconds.append)
    sent_ns, values = zip(*device_of(rig).sent, strict=True)
    sent = np.array(values)
    assert (sent[:, 0] == 0).all()
    assert sent[0, 1] == sent[-1, 1] == 0.0
    assert np.abs(np.diff(sent[:, 1])).max() <= excitation.peak_speed / 250 * (1 + 1e-9)
    # What is taken for sent is what arrived, bit for bit.
    arrived = dict(zip(sent_ns, sent[:, 1].tolist(), strict=True))
    taken = dict(zip(moved.sent_ns.tolist(), moved.command.tolist(), strict=True))
    both = sorted(taken.keys() & arrived.keys())
    assert len(both) >= len(taken) - 5  # the last ones arrive after the last read
    assert [arrived[t] for t in both] == [taken[t] for t in both]
    assert sum(seconds) == pytest.approx(30.0 + 0.9, abs=0.1)
    assert moved.joint == 1
    assert moved.measured.shape == moved.samples.t_ns.shape
    assert device_of(rig).calls[-2:] == ["hold", "close"]


def test_the_same_motion_gives_the_same_bits() -> None:
    first, second = (identified(axis_rig(ManualClock(MS), {"stamps": "ours"})) for _ in range(2))
    assert first.plant == second.plant
    assert np.array_equal(first.moved.command, second.moved.command)


def test_reads_are_taken_back_by_half_and_widen_the_interval() -> None:
    found = identified(axis_rig(ManualClock(MS), {"read_s": 0.003, "share": 0.4}))
    plant = found.plant
    assert (found.stamps, found.biased) == ("corrected", False)
    assert plant.l_eff.value is not None
    assert plant.l_eff.ci95 is not None
    assert abs(plant.l_eff.value - TRUE_S) < plant.l_eff.ci95
    assert plant.l_eff.value - TRUE_S == pytest.approx(0.1 * 0.0033, abs=1e-4)
    assert 0.001 < plant.l_eff.ci95 < 0.002
    assert "because the stamps are known only to 1.5" in plant.dead_time.reason
    assert plant.lag.value == pytest.approx(0.03, abs=2e-4)


def test_receive_latency_that_was_measured_is_taken_off() -> None:
    provenance = {"receive_latency": Provenance("measured", 0.0033, 2e-4)}
    rig = axis_rig(ManualClock(MS), {"read_s": 0.003, "share": 0.0}, receive_latency=0.0033, provenance=provenance)
    found = identified(rig)
    assert found.stamps == "corrected"
    assert found.plant.l_eff.value == pytest.approx(TRUE_S, abs=1e-4)
    assert found.plant.l_eff.ci95 == pytest.approx(2e-4, rel=0.3)
    assert found.plant.dead_time.accepted
    assert "receive_latency 3.30 +- 0.20 ms, measured before" in found.remarks[0]


def test_driver_that_answers_from_memory_makes_l_eff_too_large() -> None:
    found = identified(axis_rig(ManualClock(MS), {"read_s": 2e-5, "share": -200.0}))
    assert (found.stamps, found.biased) == ("receipt", True)
    assert found.plant.l_eff.value is not None
    assert found.plant.l_eff.value > TRUE_S + 0.004
    assert "a read takes 22 us: the driver answers from its memory" in found.remarks[0]
    assert any("stamps of receipt" in remark for remark in found.remarks)


class LimitedModule(Module):
    """Sends within half of the speed that is asked for."""

    def start(self) -> SendLoop | None:
        super().start()
        assert self.plan is not None
        self.loop = SendLoop(self.device.sink, 250, self.plan, limits=Limits(max_speed=0.5))  # type: ignore[attr-defined]
        return self.loop


class ForgetfulModule(Module):
    """Keeps no more than a handful of records."""

    def start(self) -> SendLoop | None:
        super().start()
        assert self.plan is not None
        self.loop = SendLoop(self.device.sink, 250, self.plan, record_capacity=16)  # type: ignore[attr-defined]
        return self.loop


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (LimitedModule, "targets were not sent as planned: a limit of the send loop moved them"),
        (ForgetfulModule, "records of what was sent were lost"),
    ],
)
def test_what_was_not_sent_as_planned_is_refused(module: type[Module], says: str) -> None:
    found = identified(axis_rig(ManualClock(MS), {"stamps": "ours"}, module))
    assert not found.plant.accepted
    assert says in found.plant.reason
    with pytest.raises(BadInput, match="the plant of joint 0 was refused and is not kept"):
        known_plant(found, "2026-12-01", "here")


def test_device_that_fails_is_held() -> None:
    rig = axis_rig(ManualClock(MS), {"fails_after": 900})
    with pytest.raises(DeviceError, match="module 'axis' stopped: the cable came off; all modules hold"):
        identified(rig)
    assert "hold" in device_of(rig).calls
    assert device_of(rig).calls[-1] == "close"


def test_device_that_says_nothing_new_is_not_moved_on_unseen() -> None:
    rig = axis_rig(ManualClock(MS), {"silent_after": 900})
    with pytest.raises(DeviceError, match=r"axis has given no new reading for 2\.\d s, and a joint is not moved unseen"):
        identified(rig)
    assert rig.clock.now_ns() * 1e-9 < 900 / 173 + 3.5
    assert device_of(rig).calls[-2:] == ["hold", "close"]


def test_no_room_is_said_before_anything_moves() -> None:
    rig = axis_rig(ManualClock(MS), {"width": 2}, lower=(-3.0, -0.1), upper=(3.0, 3.0))
    module = rig["axis"]
    motions = {k: excitation_of(module.config, module.info, k, Request(seconds=30.0)) for k in (0, 1)}
    with rig, pytest.raises(BadInput, match=r"axis joint 1 stands at 0 rad, 0.1 rad from its lower limit -0.1"):
        check_places(rig, "axis", motions)
    assert all((value == 0).all() for _, value in device_of(rig).sent)


def test_rig_that_is_not_started() -> None:
    rig = axis_rig(ManualClock(MS))
    excitation = excitation_of(rig["axis"].config, rig["axis"].info, 0, Request())
    with pytest.raises(BadInput, match="module 'axis' is not started"):
        move_joint(rig, "axis", 0, excitation)


def test_speed_and_range_of_the_module_size_the_motion() -> None:
    config = ModuleConfig("arm", "a:B", max_speed=0.6, lower=-0.1, upper=(0.1, 3.0))
    near, far = (excitation_of(config, INFO, joint, Request()) for joint in (0, 1))
    assert near.peak_speed <= 0.3
    assert 0.08 < near.reach[1] <= 0.09
    assert 0.16 > far.reach[1] > 0.15  # the speed is what holds it
    asked = excitation_of(config, INFO, 1, Request(amplitude=0.05, speed=0.1, acceleration=1.0))
    assert asked.reach[1] <= 0.05
    assert asked.peak_speed <= 0.1
    assert asked.peak_acceleration <= 1.0


@pytest.mark.parametrize(
    ("changes", "info", "joint", "request_", "says"),
    [
        (
            {"max_speed": 1.5},
            INFO,
            0,
            Request(speed=2.0),
            "a speed of 2 rad/s is above max_speed 1.5 rad/s of arm; give --speed 0.75",
        ),
        (
            {"lower": -0.2, "upper": 0.2},
            INFO,
            1,
            Request(amplitude=0.3),
            r"joint 1 has 0.4 rad, .* give --amplitude 0.18 or less",
        ),
        ({"poll_hz": 9.0}, INFO, 0, Request(), r"arm is read 9 times a second \(poll_hz\), and a tone of 2.5 Hz needs 10"),
        ({"rate_hz": 9.5}, INFO, 0, Request(), r"arm is told 9.5 times a second \(rate_hz\)"),
        ({}, INFO, 2, Request(), "module 'arm' has joints 0 to 1, and no joint 2"),
        ({}, DeviceInfo("pose", 7, "m", "t"), 0, Request(), "module 'arm' takes poses"),
        ({}, DeviceInfo("camera", 0, "", "t"), 0, Request(), "module 'arm' takes no commands"),
    ],
)
def test_motion_that_does_not_fit(changes: dict[str, Any], info: DeviceInfo, joint: int, request_: Request, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        excitation_of(ModuleConfig("arm", "a:B", **changes), info, joint, request_)


def test_what_is_kept_has_six_digits_and_says_where_it_comes_from() -> None:
    found = identified(axis_rig(ManualClock(MS), {"stamps": "ours"}))
    known = known_plant(found, "2026-12-01T00:00:00Z", "here")
    assert known.l_eff == float(f"{found.plant.l_eff.value:.6g}")
    assert (known.stamps, known.motion) == ("sample", "sines")
    assert known.provenance.source == "measured"
    assert known.provenance.value == known.l_eff
    assert known.provenance.date == "2026-12-01T00:00:00Z"
    assert str(known.provenance.method).endswith("sines, 30 s")
