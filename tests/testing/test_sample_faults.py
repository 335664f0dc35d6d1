import numpy as np
import pytest

from onbeat.testing.faults import plant
from tests.testing.plain import PERIOD_NS, N, plain, planted, rows_of


def test_lost_samples_leave_the_others_as_they_were_and_are_counted() -> None:
    before, after, truth = planted("dropped_samples", share=0.05)
    assert N - len(after) == truth.parameters["lost"]
    assert truth.parameters["lost"] == pytest.approx(0.05 * N, rel=0.2)
    np.testing.assert_array_equal(after, before[np.isin(before["seq"], after["seq"])])
    assert (after["seq"][0], after["seq"][-1]) == (before["seq"][0], before["seq"][-1])
    assert np.diff(after["seq"]).max() >= 2


def test_gap_is_one_silence() -> None:
    _, after, _ = planted("gap", at_s=20.0, gap_s=1.5)
    steps = np.diff(after["stamp_ns"])
    assert np.count_nonzero(steps != PERIOD_NS) == 1
    assert steps.max() == 1_500_000_000 + PERIOD_NS
    assert N - len(after) == 150


def test_frozen_source_repeats_one_content_with_new_stamps() -> None:
    before, after, truth = planted("repeated_samples", from_s=20.0, for_s=3.0, each=float(N))
    assert truth.parameters["repeated"] == pytest.approx(299)
    for field in ("stamp_ns", "log_ns", "seq"):
        np.testing.assert_array_equal(after[field], before[field])
    for field in ("value", "digest", "exposure_ns"):
        np.testing.assert_array_equal(after[field][2000:2300], np.repeat(before[field][2000:2001], 300, axis=0))
        np.testing.assert_array_equal(after[field][2300:], before[field][2300:])


def test_cached_source_gives_every_content_three_times() -> None:
    before, after, truth = planted("repeated_samples", from_s=0.0, for_s=100.0, each=3.0)
    np.testing.assert_array_equal(after["digest"], before["digest"][np.arange(N) // 3 * 3])
    assert truth.parameters["repeated"] == pytest.approx(4000)


def test_repeated_stamps_are_those_of_the_sample_before() -> None:
    before, after, truth = planted("repeated_stamps", share=0.1)
    same = np.diff(after["stamp_ns"]) == 0
    assert same.sum() == truth.parameters["samples"]
    assert np.all(after["stamp_ns"][1:][~same] == before["stamp_ns"][1:][~same])
    for field in ("log_ns", "seq", "value"):
        np.testing.assert_array_equal(after[field], before[field])


def test_overtaken_samples_change_places_with_all_but_their_log_times() -> None:
    before, after, truth = planted("unsorted_stamps", share=0.02)
    back = np.flatnonzero(np.diff(after["stamp_ns"]) < 0)
    assert 0.8 * truth.parameters["samples"] <= len(back) <= truth.parameters["samples"]
    np.testing.assert_array_equal(after["log_ns"], before["log_ns"])
    np.testing.assert_array_equal(np.sort(after["stamp_ns"]), before["stamp_ns"])
    np.testing.assert_array_equal(after["seq"] - 7, after["value"][:, 0])
    assert np.abs(after["seq"] - before["seq"]).max() == 1


def test_rate_that_is_not_held_changes_only_what_is_declared() -> None:
    made, truth = plant(plain(), "rate_not_held", np.random.default_rng(0), "s", declared_hz=120.0)
    info = {batch.info.name: batch.info for batch in made.read()}
    assert info["s"].declared_hz == 120
    assert info["events"].declared_hz is None
    assert truth.parameters["true_hz"] == pytest.approx(100)
    np.testing.assert_array_equal(rows_of(made), rows_of(plain()))


def test_jitter_moves_both_times_and_keeps_the_order() -> None:
    before, after, truth = planted("jitter", share=0.4)
    moved = after["stamp_ns"] - before["stamp_ns"]
    np.testing.assert_array_equal(after["log_ns"] - before["log_ns"], moved)
    steps = np.diff(after["stamp_ns"])
    assert steps.min() > 0
    assert np.std(steps) / 1e9 == pytest.approx(truth.parameters["std_s"], rel=0.05)
    assert abs(moved.mean()) < 0.02 * PERIOD_NS


@pytest.mark.parametrize(("late_s", "logged"), [(0.05, 50_000_000), (-0.05, 0)])
def test_offset_delays_a_pipeline_or_corrects_too_much(late_s: float, logged: int) -> None:
    before, after, _ = planted("offset", late_s=late_s)
    assert np.all(after["stamp_ns"] - before["stamp_ns"] == round(late_s * 1e9))
    assert np.all(after["log_ns"] - before["log_ns"] == logged)
    np.testing.assert_array_equal(after["value"], before["value"])


def test_actions_are_later_than_what_they_cause() -> None:
    before, after, _ = planted("action_before_observation", kind="action", late_s=0.2)
    for field in ("stamp_ns", "log_ns"):
        assert np.all(after[field] - before[field] == 200_000_000)
