from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onbeat.calibrate.follow import Follower
from onbeat.errors import BadInput
from onbeat.health import delays
from onbeat.health.check import Verdict
from onbeat.health.dataset import DATASET
from onbeat.health.delays import DELAYS
from onbeat.health.examine import Examined, examine
from onbeat.read.lerobot import open_lerobot_streams
from onbeat.read.streams import Batch, StreamInfo, StreamRecording, row_dtype
from onbeat.record.joints import JointEpisode, JointRecording
from onbeat.record.lerobot import open_lerobot
from onbeat.testing.lerobot_set import DELAY_S, JOINTS, write_lerobot_set


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("set") / "arm"
    return write_lerobot_set(root, rng=np.random.default_rng(1), episodes=4, seconds=8, cameras=())


def asked(root: Path) -> Examined:
    return examine(open_lerobot_streams(root), (DATASET, DELAYS))


def delay(examined: Examined) -> Verdict:
    (one,) = [v for v in examined.verdicts if v.fault == "delay"]
    return one


def test_delay_of_every_joint_is_a_note(arm: Path) -> None:
    examined = asked(arm)
    note = delay(examined)
    assert note.level == "note"
    assert note is examined.verdicts[0]
    assert next(iter(note.figures)) == "arm"
    for name in ("arm", *JOINTS):
        assert note.figures[name].value == pytest.approx(DELAY_S, abs=0.001)
    assert "the same in every episode" in note.sentence
    assert note.plot is not None
    assert [curve.label for curve in note.plot.curves] == list(JOINTS)
    assert examined.shared["delays"].arm.accepted


def test_delay_by_the_stamps_of_a_slow_loop_is_said_to_be_bent(tmp_path: Path) -> None:
    root = write_lerobot_set(tmp_path, rng=np.random.default_rng(2), episodes=2, seconds=10, fault="slow_loop", cameras=())
    note = delay(asked(root))
    assert note.figures["arm"].value * note.figures["true time over stamps"].value == pytest.approx(DELAY_S, abs=0.002)
    assert "truly takes 1" in note.sentence


def test_many_episodes_are_sampled_evenly_and_it_says_so(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delays, "_MOST_FITS", 2 * len(JOINTS))
    examined = asked(arm)
    assert delay(examined).sentence.endswith("from 2 of 4 episodes")
    assert [e.episode for e in examined.shared["delays"].episodes] == [0, 3]


def recording(read: Iterator[JointEpisode] | BadInput) -> StreamRecording:
    def opened() -> JointRecording:
        if isinstance(read, BadInput):
            raise read
        return JointRecording(Path("a"), "CSV", "", ("j",), None, "taken", None, lambda only: read)

    def batches() -> Iterator[Batch]:
        rows = np.zeros(3, dtype=row_dtype(("stamp_ns",)))
        rows["stamp_ns"] = range(3)
        yield Batch(StreamInfo("state", "joints"), rows)

    return StreamRecording(Path("a"), "CSV", batches, joints=opened)


def test_joints_at_rest_cannot_be_told(tmp_path: Path) -> None:
    still = JointEpisode(0, np.arange(300) * 33_333_333, np.zeros((300, 1)), np.zeros((300, 1)))
    verdict = delay(examine(recording(iter([still])), (DELAYS,)))
    assert verdict.level == "unjudged"
    assert "no joint can be told" in verdict.sentence


def test_broken_joints_are_unjudged_with_the_reason() -> None:
    verdict = delay(examine(recording(BadInput("row 7 repeats an instant; sort the rows")), (DELAYS,)))
    assert verdict.level == "unjudged"
    assert "row 7 repeats an instant" in verdict.sentence


def test_recording_without_commands_is_silent() -> None:
    opened = recording(iter([]))
    bare = StreamRecording(opened.path, opened.kind, opened.read)
    assert examine(bare, (DELAYS,)).verdicts == ()


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["so101_v3", "g1_v21"])
def test_real_sets_have_the_delays_of_onbeat_delay(data_dir: Path, name: str) -> None:
    root = data_dir / "lerobot" / name
    source = open_lerobot(root)
    follower = Follower(source.joints, range(len(source.joints)), 0.5)
    for episode in source.episodes():
        follower.add(episode)
    expected = follower.result()
    note = delay(asked(root))
    told = {joint.name: joint.result.value for joint in expected.accepted}
    assert {k: f.value for k, f in note.figures.items() if k in told} == told
    assert note.figures["arm"].value == expected.arm.value
