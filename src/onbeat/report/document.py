"""The JSON document of a run: strict, so that every reader takes it, and the same bytes for the same result."""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

__all__ = ("iso_date", "plain_json")


def plain_json(data: Any) -> str:
    """Write a JSON document: numbers that are not finite become null, arrays and tuples lists; the keys keep their order."""
    return json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, float):
        return float(data) if isfinite(data) else None
    if isinstance(data, (str, bool, int)) or data is None:
        return data
    if hasattr(data, "tolist"):  # numpy's scalars and arrays
        return _plain(data.tolist())
    if isinstance(data, Sequence):
        return [_plain(value) for value in data]
    return str(data)


def iso_date(wall_ns: int) -> str:
    """Write an instant of the wall clock in UTC, to the second: 2026-03-01T12:00:00Z."""
    import numpy as np

    return f"{np.datetime64(wall_ns // 1_000_000_000, 's')}Z"
