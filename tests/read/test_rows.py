"""Tests of onbeat.read.rows: batches, and which times a stream truly has."""

from typing import Any

import numpy as np

from onbeat.read.ros_messages import Content
from onbeat.read.rows import Rows, Topic


def test_rows_come_in_batches_and_the_rest_at_the_end() -> None:
    rows, topic = Rows(), Topic("/a")
    batches = [batch for k in range(4500) for batch in rows.add(topic, k + 1, 0, [Content(stamp_ns=k + 1)])]
    assert [len(batch.rows) for batch in batches] == [2000, 2000]
    (rest,) = rows.rest()
    assert len(rest.rows) == 500
    assert rest.info is batches[0].info
    assert list(rows.rest()) == []


def one_batch(counts: list[int], **content: Any) -> tuple[str, ...]:
    rows, topic = Rows(), Topic("/a")
    for k, count in enumerate(counts):
        assert list(rows.add(topic, k + 1, count, [Content(**content)])) == []
    (batch,) = rows.rest()
    return batch.rows.dtype.names or ()


def test_count_that_rises_is_one() -> None:
    assert one_batch([1, 2, 3, 5, 5, 6, 7, 8]) == ("log_ns", "seq")


def test_zeros_are_no_count() -> None:
    assert one_batch([0, 0, 0]) == ("log_ns",)


def test_counts_of_two_sources_are_none_of_the_stream() -> None:
    assert one_batch([1, 900, 2, 901, 3, 902]) == ("log_ns",)


def test_exposure_is_there_where_it_was_said() -> None:
    assert one_batch([0], stamp_ns=4, exposure_ns=7) == ("stamp_ns", "log_ns", "exposure_ns")


def test_file_without_log_times_has_stamps_only() -> None:
    rows, topic = Rows(), Topic("/a")
    assert list(rows.add(topic, 0, 0, [Content(stamp_ns=4)])) == []
    assert next(rows.rest()).rows.dtype.names == ("stamp_ns",)


def test_values_of_another_width_are_missing() -> None:
    rows, topic = Rows(), Topic("/a")
    for columns, values in ((("a", "b"), (1.0, 2.0)), (("a",), (1.0,)), ((), ())):
        assert list(rows.add(topic, 1, 0, [Content("numbers", "", columns, values)])) == []
    np.testing.assert_array_equal(next(rows.rest()).rows["value"], [[1, 2], [np.nan, np.nan], [np.nan, np.nan]])


def test_two_topics_of_one_name_are_told_apart_by_their_types() -> None:
    rows = Rows()
    for topic in (Topic("/a", "X"), Topic("/a", "Y"), Topic("/a", "Y")):
        assert list(rows.add(topic, 1, 0, [Content()])) == []
    assert [batch.info.name for batch in rows.rest()] == ["/a", "/a (Y)", "/a (Y) #2"]
