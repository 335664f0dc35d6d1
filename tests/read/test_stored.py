"""Tests of onbeat.read.stored: messages of any container become rows, and pictures."""

from collections.abc import Iterator

import numpy as np
import pytest

from onbeat.errors import Damaged
from onbeat.read.decode import Description
from onbeat.read.stored import Stored, batches, kinds_of, pictures
from tests.read.ros_build import START_NS, cdr, definition, image

CAMERA = Description("/camera", "cdr", "sensor_msgs/msg/Image", "ros2msg", definition("sensor_msgs/msg/Image"))


def frames(n: int, damaged: bool = False) -> Iterator[Stored]:
    for k in range(n):
        yield Stored(CAMERA, 0, START_NS + k, cdr(image(START_NS + k, np.full((2, 3), k, dtype=np.uint8))))
    if damaged:
        raise Damaged("it ends early")


def test_encodings_have_the_names_that_people_use() -> None:
    assert kinds_of(iter(["cdr", "json", "cdr", "", "cbor"])) == ["JSON", "ROS 2", "cbor"]


def test_rows_come_before_the_damage() -> None:
    found = batches(frames(3, damaged=True))
    assert len(next(found).rows) == 3
    with pytest.raises(Damaged, match="ends early"):
        next(found)


def test_channels_that_carry_one_topic_are_one_stream() -> None:
    channels = [Description("/x", "json", "T"), Description("/x", "json", "T")]
    (batch,) = batches(Stored(what, 0, 1, b"{}") for what in channels)
    assert len(batch.rows) == 2


def test_of_onbeat_only_readings_are_streams() -> None:
    plan = Description("chunks/arm", "json", "onbeat.Chunk")
    assert list(batches(iter([Stored(plan, 0, 1, b"{}")]), onbeat=True)) == []


def test_pictures_are_those_of_some_neighbours_also_of_a_damaged_file() -> None:
    found = list(pictures(lambda: frames(9, damaged=True), "/camera", 3))
    assert [(frame.row, int(frame.gray[1, 2])) for frame in found] == [(3, 3), (4, 4), (5, 5)]
    assert list(pictures(lambda: frames(9), "/other", 3)) == []
