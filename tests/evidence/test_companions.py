import numpy as np

from onbeat.evidence.companions import with_exposures
from onbeat.evidence.timeline import Timeline
from tests.health.made import START_NS, line

N = 200
STAMP = START_NS + np.arange(N) * 33_333_333
EXPOSURE = 8_000_000 + 100_000 * np.arange(N)


def picture(name: str = "/camera/image", stamp: np.ndarray = STAMP, **more: np.ndarray) -> Timeline:
    return line(name, {"kind": "image"}, stamp_ns=stamp, log_ns=stamp + 5_000_000, **more)


def said(name: str = "/camera/metadata", stamp: np.ndarray = STAMP, exposure: np.ndarray = EXPOSURE) -> Timeline:
    return line(name, stamp_ns=stamp, log_ns=stamp + 6_000_000, exposure_ns=exposure)


def joined(*lines: Timeline, beside: tuple[Timeline, ...] = ()) -> dict[str, Timeline]:
    return with_exposures({one.name: one for one in lines}, {one.name: one for one in beside})


def test_exposures_are_put_to_the_pictures_and_not_judged_again() -> None:
    found = joined(picture(), said(), line("imu", stamp_ns=STAMP))
    assert set(found) == {"/camera/image", "imu"}
    np.testing.assert_array_equal(found["/camera/image"].column("exposure_ns"), EXPOSURE)
    np.testing.assert_array_equal(found["/camera/image"].column("stamp_ns"), STAMP)


def test_order_of_the_messages_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(N)
    found = joined(picture(), said(stamp=STAMP[order], exposure=EXPOSURE[order]))
    np.testing.assert_array_equal(found["/camera/image"].column("exposure_ns"), EXPOSURE)


def test_picture_without_a_message_has_the_exposure_before_it() -> None:
    kept = np.delete(np.arange(N), [0, 50, 51])
    found = joined(picture(), said(stamp=STAMP[kept], exposure=EXPOSURE[kept]))["/camera/image"].column("exposure_ns")
    assert found[[0, 1, 49, 50, 51, 52]].tolist() == EXPOSURE[[1, 1, 49, 49, 49, 52]].tolist()


def test_other_stamps_are_of_other_frames() -> None:
    found = joined(picture(), said(stamp=STAMP + 1000))
    assert set(found) == {"/camera/image", "/camera/metadata"}
    assert not found["/camera/image"].has("exposure_ns")


def test_two_cameras_of_one_trigger_have_their_own() -> None:
    found = joined(
        picture("/left/image"), picture("/right/image"), said("/right/metadata"), said("/left/metadata", STAMP, EXPOSURE + 1)
    )
    assert set(found) == {"/left/image", "/right/image"}
    assert found["/left/image"].column("exposure_ns")[0] == EXPOSURE[0] + 1
    assert found["/right/image"].column("exposure_ns")[0] == EXPOSURE[0]


def test_exposure_that_the_picture_says_itself_stays() -> None:
    found = joined(picture(exposure_ns=EXPOSURE + 7), said())
    assert found["/camera/image"].column("exposure_ns")[0] == EXPOSURE[0] + 7
    assert "/camera/metadata" in found


def test_exposures_are_also_found_beside_the_chosen_streams() -> None:
    found = joined(picture(), beside=(said(),))
    assert set(found) == {"/camera/image"}
    np.testing.assert_array_equal(found["/camera/image"].column("exposure_ns"), EXPOSURE)
