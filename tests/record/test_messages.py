import json

import numpy as np
import pytest

from onbeat.capture import Stamp
from onbeat.record import messages

TABLE = np.dtype([("done_ns", "<i8"), ("deadline_ns", "<i8"), ("plan", "<u8"), ("late", "?"), ("values", "<f8", (2,))])


def test_reading_is_logged_when_received_and_published_when_true() -> None:
    stamp = Stamp(10, 17, 3, 4, 5, "manual", corrected=True)
    (message,) = messages.of_reading("arm", stamp, np.array([1 / 3, -0.0]))
    assert (message.topic, message.log_ns, message.publish_ns) == ("readings/arm", 17, 10)
    assert message.encoded() == (
        b'{"capture_ns":10,"receive_ns":17,"seq":5,"span_ns":4,"bound_ns":3,"corrected":true,"value":[0.3333333333333333,-0.0]}'
    )


@pytest.mark.parametrize(("number", "word"), [(np.nan, "NaN"), (np.inf, "Infinity"), (-np.inf, "-Infinity")])
def test_what_json_has_no_number_for(number: float, word: str) -> None:
    (message,) = messages.of_reading("arm", Stamp(1, 1, 0, 0, 0, "manual"), np.array([number, 1.0]))
    assert json.loads(message.encoded())["value"] == [word, 1.0]


def test_row_of_a_table() -> None:
    table = np.array([(7, 5, 2**64 - 1, True, [0.5, np.nan])], dtype=TABLE)
    (message,) = messages.of_table("cycles/arm", "onbeat.Cycle", table, "done_ns", "deadline_ns")
    assert (message.log_ns, message.publish_ns) == (7, 5)
    assert message.encoded() == b'{"done_ns":7,"deadline_ns":5,"plan":18446744073709551615,"late":true,"values":[0.5,"NaN"]}'


def test_schema_of_a_table_follows_its_fields() -> None:
    (message,) = messages.of_table("cycles/arm", "onbeat.Cycle", np.zeros(1, TABLE), "done_ns", "deadline_ns")
    name, text = messages.schema_of(message)
    schema = json.loads(text)
    assert name == "onbeat.Cycle.arm"
    assert {key: value.get("type") for key, value in schema["properties"].items()} == {
        "done_ns": "integer",
        "deadline_ns": "integer",
        "plan": "integer",
        "late": "boolean",
        "values": "array",
    }


def test_every_field_is_in_its_schema() -> None:
    (message,) = messages.of_reading("arm", Stamp(1, 1, 0, 0, 0, "manual"), None)
    assert list(message.fields) == json.loads(messages.schema_of(message)[1])["required"]


def test_dtype_survives_as_text() -> None:
    assert messages.dtype_of(messages.described(TABLE)) == TABLE
