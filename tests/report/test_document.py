import json

import numpy as np

from onbeat.report import iso_date, plain_json


def test_every_reader_takes_it() -> None:
    data = {
        "a": float("inf"),
        "b": np.float64("nan"),
        "c": np.arange(3),
        "d": (1, 2.5),
        "e": np.int64(7),
        "f": {1: None},
        "g": np.bool_(True),
        "h": "é",
    }
    text = plain_json(data)
    assert json.loads(text) == {
        "a": None,
        "b": None,
        "c": [0, 1, 2],
        "d": [1, 2.5],
        "e": 7,
        "f": {"1": None},
        "g": True,
        "h": "é",
    }
    assert "NaN" not in text
    assert text.endswith("}\n")


def test_a_date_is_in_utc_to_the_second() -> None:
    assert iso_date(1_772_366_400_999_999_999) == "2026-03-01T12:00:00Z"
