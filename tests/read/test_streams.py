import pytest

from onbeat.errors import BadInput
from onbeat.read import StreamInfo, row_dtype


def test_fields_come_in_one_order_with_the_values_last() -> None:
    assert row_dtype(("seq", "log_ns", "stamp_ns"), 3).names == ("stamp_ns", "log_ns", "seq", "value")
    assert row_dtype(("log_ns",)).names == ("log_ns",)


@pytest.mark.parametrize("fields", [("seq",), ("stamp_ns", "stamp"), ()])
def test_rows_without_a_time_or_with_an_unknown_field_are_refused(fields: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="stamp_ns or log_ns"):
        row_dtype(fields)


def test_kind_that_is_unknown_is_refused() -> None:
    with pytest.raises(BadInput, match="joints"):
        StreamInfo("x", "arm")
