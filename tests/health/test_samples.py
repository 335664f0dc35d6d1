import numpy as np
import pytest

from onbeat.health import Timeline, Verdict
from onbeat.health.intervals import rhythm
from onbeat.health.samples import judge_samples, lost_samples
from tests.health.made import evidence, findings, healthy, line


def said(*lines: Timeline) -> list[Verdict]:
    return list(judge_samples(evidence(*lines)))


def camera(rng: np.random.Generator, keep: np.ndarray | None = None, count: bool = True, **info: object) -> Timeline:
    stamp, log = healthy(rng, 30, 100)
    columns = {"stamp_ns": stamp, "log_ns": log, **({"seq": np.arange(len(stamp))} if count else {})}
    return line("camera", {"kind": "image", **info}, **{k: v if keep is None else v[keep] for k, v in columns.items()})


@pytest.mark.parametrize("count", [True, False])
def test_two_percent_lost_is_counted_exactly(count: bool) -> None:
    rng = np.random.default_rng(1)
    keep = rng.random(3000) > 0.02
    keep[[0, -1]] = True
    (verdict,) = said(camera(rng, keep, count))
    assert verdict.fault == "dropped_samples"
    assert verdict.figures["lost"].value == 3000 - keep.sum()
    share = verdict.figures["share lost"]
    assert share.value == pytest.approx(1 - keep.mean())
    assert share.low is not None
    assert share.low < 0.02 < (share.high or 0)
    assert "too short" in verdict.sentence


def test_loss_before_the_count_was_given_shows_in_the_intervals() -> None:
    """As where the recorder counts what reaches it."""
    rng = np.random.default_rng(11)
    stamp, log = healthy(rng, 30, 100)
    keep = rng.random(3000) > 0.04
    columns = {"stamp_ns": stamp[keep], "log_ns": log[keep], "seq": np.arange(int(keep.sum()))}
    (verdict,) = said(line("camera", {"kind": "image"}, **columns))
    assert verdict.fault == "dropped_samples"
    assert verdict.figures["share lost"].value == pytest.approx(1 - keep.mean(), rel=0.05)
    assert "the count goes on" in verdict.sentence
    assert said(line("detections", {"kind": "other"}, **columns)) == []


def test_late_samples_are_not_lost() -> None:
    rng = np.random.default_rng(2)
    stamp, _ = healthy(rng, 100, 60)
    late = np.maximum.accumulate(stamp + (rng.random(len(stamp)) < 0.02) * 25_000_000) + np.arange(len(stamp))
    assert said(line("x", stamp_ns=late)) == []
    assert said(line("x", log_ns=late)) == []


def test_loop_with_a_long_tail_loses_nothing() -> None:
    rng = np.random.default_rng(3)
    steps = 1e7 * (0.9 + rng.exponential(0.15, 6000))
    assert findings(said(line("x", stamp_ns=np.cumsum(steps).astype(np.int64)))) == []


def test_camera_that_halves_its_rate_in_the_dark_loses_nothing() -> None:
    steps = np.full(3000, 33_333_333)
    steps[1000:1500] *= 2
    assert said(line("x", {"kind": "image"}, stamp_ns=np.cumsum(steps))) == []


def test_published_on_change_is_not_accused() -> None:
    rng = np.random.default_rng(4)
    ticks = np.cumsum(rng.geometric(0.4, 1000))
    assert said(line("x", stamp_ns=ticks * 20_000_000)) == []


@pytest.mark.parametrize(("jumps", "words"), [(True, "taken and lost"), (False, "the source paused")])
def test_gap_says_what_the_count_says(jumps: bool, words: str) -> None:
    stamp, log = healthy(np.random.default_rng(5), 30, 100)
    keep = (np.arange(3000) < 1000) | (np.arange(3000) >= 1060)
    count = np.arange(3000)[keep] if jumps else np.arange(keep.sum())
    (verdict,) = said(line("x", {"kind": "image"}, stamp_ns=stamp[keep], log_ns=log[keep], seq=count))
    assert verdict.fault == "gap"
    assert words in verdict.sentence
    assert "falls silent once, for 2" in verdict.sentence
    assert verdict.figures["longest gap"].value == pytest.approx(61 / 30, abs=0.01)


def test_gap_of_all_streams_is_one_verdict() -> None:
    rng = np.random.default_rng(6)
    lines = []
    for name, hz in (("camera", 30), ("imu", 200), ("joints", 50)):
        stamp, log = healthy(rng, hz, 60)
        at = stamp - stamp[0]
        keep = (at < 20_000_000_000) | (at > 21_000_000_000)
        lines.append(line(name, {"kind": "numbers"}, stamp_ns=stamp[keep], log_ns=log[keep]))
    (verdict,) = said(*lines)
    assert verdict.streams == ("camera", "imu", "joints")
    assert "other streams" not in verdict.confirm
    assert "together" in verdict.sentence


def test_stamp_that_jumps_while_the_log_goes_on_is_no_gap() -> None:
    stamp, log = healthy(np.random.default_rng(7), 30, 100)
    stamp[1500:] += 2_000_000_000
    assert said(line("x", stamp_ns=stamp, log_ns=log)) == []


def test_commands_may_pause() -> None:
    stamp, _ = healthy(np.random.default_rng(8), 20, 100)
    keep = (np.arange(2000) < 500) | (np.arange(2000) > 800)
    assert said(line("cmd", {"type": "geometry_msgs/msg/Twist", "kind": "numbers"}, log_ns=stamp[keep])) == []


def test_samples_that_come_in_a_hurry_after_a_stall_were_late_and_not_missing() -> None:
    stamp, _ = healthy(np.random.default_rng(9), 100, 60, 0.0)
    late = np.maximum(stamp, np.where(np.arange(6000) >= 3000, stamp[3050], 0)) + np.arange(6000) * 1000
    assert said(line("x", stamp_ns=late)) == []


def test_counted_stamps_are_not_judged() -> None:
    rng = np.random.default_rng(10)
    assert said(camera(rng, rng.random(3000) > 0.1, False, counted=True)) == []


def test_every_loss_of_a_long_stream_is_counted() -> None:
    rng = np.random.default_rng(11)
    count = np.flatnonzero(rng.random(300_000) > 0.01)
    (verdict,) = said(line("imu", {"kind": "rotation"}, stamp_ns=count * 2_500_000, seq=count))
    assert verdict.figures["lost"].value == count[-1] - count[0] + 1 - len(count)


def test_lost_samples_for_other_checks() -> None:
    rng = np.random.default_rng(12)
    whole, lossy = camera(rng), camera(rng, rng.random(3000) > 0.05)
    assert lost_samples(whole, rhythm(whole)) == 0
    assert lost_samples(lossy, rhythm(lossy)) > 100
