"""What a recording holds: the messages of its channels as plain fields, and the JSON schema of each.

Instants are exact integers of nanoseconds. Floats are written with as many digits as bring back the same bits; what JSON has no
number for is written as "NaN", "Infinity" or "-Infinity".
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onbeat.capture import Stamp
from onbeat.device import ModuleConfig
from onbeat.device.config import MEASURED_KEYS
from onbeat.motion import Chunk, Outcome

__all__ = (
    "SCHEMAS",
    "Decided",
    "Measured",
    "Message",
    "Stamped",
    "described",
    "dtype_of",
    "of_calibration",
    "of_chunk",
    "of_config",
    "of_decision",
    "of_outcomes",
    "of_reading",
    "of_table",
    "schema_of",
)

_INTEGER = {"type": "integer"}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
_NUMBERS = {"type": "array", "items": _NUMBER}
_FIGURE = {"anyOf": [_NUMBER, {"type": "null"}]}
_OBJECT = {"type": "object"}

SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "onbeat.Reading": {
        "capture_ns": _INTEGER,
        "receive_ns": _INTEGER,
        "seq": _INTEGER,
        "span_ns": _INTEGER,
        "bound_ns": _INTEGER,
        "corrected": _FLAG,
        "value": {"anyOf": [_NUMBERS, {"type": "null"}]},
    },
    "onbeat.Chunk": {
        "log_ns": _INTEGER,
        "anchor_ns": _INTEGER,
        "step_ns": _INTEGER,
        "first_step": _INTEGER,
        "targets": {"type": "array", "items": _NUMBERS},
    },
    "onbeat.Outcome": {
        "log_ns": _INTEGER,
        "t_ns": _INTEGER,
        "due_ns": _INTEGER,
        "kind": _TEXT,
        "by_ns": _INTEGER,
        "replaced": _FLAG,
        "target": _NUMBERS,
    },
    "onbeat.Decision": {"start_ns": _INTEGER, "anchor_ns": _INTEGER, "ready_ns": _INTEGER},
    "onbeat.Calibration": {
        "log_ns": _INTEGER,
        "module": _TEXT,
        "quantity": _TEXT,
        "value": _FIGURE,
        "ci95": _FIGURE,
        "n": _INTEGER,
        "method": _TEXT,
        "conditions": _OBJECT,
        "verdict": _TEXT,
        "reason": _TEXT,
    },
    "onbeat.Config": {"log_ns": _INTEGER, "module": _TEXT, "provenance": _OBJECT, **dict.fromkeys(MEASURED_KEYS, _FIGURE)},
}


class Stamped(Protocol):
    """A reading with its stamp; what is not one row of numbers (an image) is recorded by its stamp alone."""

    @property
    def stamp(self) -> Stamp:
        """When it was true and when it arrived."""
        ...

    @property
    def value(self) -> Any:
        """Shape (width,), or an image."""
        ...


class Decided(Protocol):
    """One turn of a policy's loop."""

    @property
    def start_ns(self) -> int:
        """When the observation was asked for."""
        ...

    @property
    def anchor_ns(self) -> int:
        """The instant of the observation."""
        ...

    @property
    def ready_ns(self) -> int:
        """When the chunks were scheduled."""
        ...

    @property
    def chunks(self) -> Mapping[str, Chunk]:
        """What the policy answered, by module."""
        ...

    @property
    def outcomes(self) -> Mapping[str, Sequence[Outcome]]:
        """What became of it, by module."""
        ...


class Measured(Protocol):
    """The result of a measurement, accepted or refused."""

    @property
    def quantity(self) -> str:
        """What was measured."""
        ...

    @property
    def value(self) -> float | None:
        """In SI units; None when refused."""
        ...

    @property
    def ci95(self) -> float | None:
        """Half-width of the 95 % interval."""
        ...

    @property
    def n(self) -> int:
        """Samples that speak."""
        ...

    @property
    def method(self) -> str:
        """How."""
        ...

    @property
    def conditions(self) -> Mapping[str, Any]:
        """Figures that go with the value."""
        ...

    @property
    def verdict(self) -> str:
        """Accepted or refused."""
        ...

    @property
    def reason(self) -> str:
        """Why it was refused."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a channel.

    Args:
        topic: Name of the channel.
        schema: Name of its schema.
        log_ns: When it was in hand.
        publish_ns: When it was true, or due.
        fields: As the schema says.
        dtype: Of the channel's structured array, for messages of a table.
    """

    topic: str
    schema: str
    log_ns: int
    publish_ns: int
    fields: Mapping[str, Any]
    dtype: np.dtype[Any] | None = field(default=None, compare=False)

    def encoded(self) -> bytes:
        """Give the fields as JSON; the same fields give the same bytes."""
        return json.dumps(self.fields, separators=(",", ":"), allow_nan=False).encode()


def of_reading(stream: str, stamp: Stamp, row: NDArray[np.float64] | None) -> Iterator[Message]:
    """Give the message of a reading; row None: of an image, whose stamp alone is recorded."""
    fields: dict[str, Any] = {
        "capture_ns": int(stamp.capture_ns),
        "receive_ns": int(stamp.receive_ns),
        "seq": int(stamp.seq),
        "span_ns": int(stamp.span_ns),
        "bound_ns": int(stamp.bound_ns),
        "corrected": bool(stamp.corrected),
        "value": None if row is None else _numbers(row),
    }
    yield Message(f"readings/{stream}", "onbeat.Reading", fields["receive_ns"], fields["capture_ns"], fields)


def of_chunk(module: str, chunk: Chunk, log_ns: int) -> Iterator[Message]:
    """Give the message of a chunk, published at its anchor."""
    fields = {
        "log_ns": int(log_ns),
        "anchor_ns": chunk.anchor_ns,
        "step_ns": chunk.step_ns,
        "first_step": int(chunk.first_step),
        "targets": [_numbers(row) for row in chunk.targets],
    }
    yield Message(f"chunks/{module}", "onbeat.Chunk", int(log_ns), chunk.anchor_ns, fields)


def of_outcomes(module: str, outcomes: Sequence[Outcome], log_ns: int) -> Iterator[Message]:
    """Give a message for each waypoint, published at its instant; knots of the old plan that lost their place are marked."""
    for replaced, part in ((False, outcomes), (True, getattr(outcomes, "tail", ()))):
        for outcome in part:
            fields = {
                "log_ns": int(log_ns),
                "t_ns": outcome.waypoint.t_ns,
                "due_ns": int(outcome.due_ns),
                "kind": outcome.kind,
                "by_ns": int(outcome.by_ns),
                "replaced": replaced,
                "target": _numbers(outcome.waypoint.target),
            }
            yield Message(f"outcomes/{module}", "onbeat.Outcome", int(log_ns), outcome.waypoint.t_ns, fields)


def of_decision(decision: Decided) -> Iterator[Message]:
    """Give the messages of a turn: its three instants, then its chunks and their outcomes."""
    fields = {"start_ns": int(decision.start_ns), "anchor_ns": int(decision.anchor_ns), "ready_ns": int(decision.ready_ns)}
    yield Message("decisions", "onbeat.Decision", fields["ready_ns"], fields["anchor_ns"], fields)
    for module, chunk in decision.chunks.items():
        yield from of_chunk(module, chunk, decision.ready_ns)
    for module, outcomes in decision.outcomes.items():
        yield from of_outcomes(module, outcomes, decision.ready_ns)


def of_calibration(module: str, result: Measured, log_ns: int) -> Iterator[Message]:
    """Give the message of a measurement, accepted or refused."""
    fields = {
        "log_ns": int(log_ns),
        "module": module,
        "quantity": result.quantity,
        "value": _plain(result.value),
        "ci95": _plain(result.ci95),
        "n": int(result.n),
        "method": result.method,
        "conditions": _plain(result.conditions),
        "verdict": result.verdict,
        "reason": result.reason,
    }
    yield Message("calibration", "onbeat.Calibration", int(log_ns), int(log_ns), fields)


def of_config(config: ModuleConfig, log_ns: int) -> Iterator[Message]:
    """Give the message of the figures that a module runs with, and of where they come from."""
    fields = {
        "log_ns": int(log_ns),
        "module": config.name,
        "provenance": {key: _plain(asdict(config.provenance_of(key))) for key in MEASURED_KEYS},
        **{key: _plain(getattr(config, key)) for key in MEASURED_KEYS},
    }
    yield Message("config", "onbeat.Config", int(log_ns), int(log_ns), fields)


def of_table(topic: str, schema: str, records: NDArray[Any], log: str, publish: str) -> Iterator[Message]:
    """Give a message for each row of a structured array of which two fields are its instants."""
    dtype = records.dtype
    names = dtype.names or ()
    vectors = {name for name in names if dtype[name].shape}
    for record in records:
        fields: dict[str, Any] = {name: _numbers(record[name]) if name in vectors else _plain(record[name]) for name in names}
        yield Message(topic, schema, fields[log], fields[publish], fields, dtype)


def schema_of(message: Message) -> tuple[str, bytes]:
    """Give the name and the JSON schema of a message's channel; a table has its own, from its dtype."""
    name = message.schema
    properties: Mapping[str, Any] = SCHEMAS.get(name, {})
    if message.dtype is not None:
        name = f"{name}.{message.topic.partition('/')[2]}"
        properties = {column: _property(message.dtype[column]) for column in message.dtype.names or ()}
    schema = {"title": name, "type": "object", "properties": properties, "required": list(properties)}
    return name, json.dumps(schema).encode()


def described(dtype: np.dtype[Any]) -> str:
    """Write a structured dtype as text: name, kind and shape of each field."""
    return json.dumps([[name, dtype[name].base.str, list(dtype[name].shape)] for name in dtype.names or ()])


def dtype_of(text: str) -> np.dtype[Any]:
    """Read what `described` wrote."""
    return np.dtype([(name, kind, tuple(shape)) for name, kind, shape in json.loads(text)])


def _property(dtype: np.dtype[Any]) -> Mapping[str, Any]:
    if dtype.shape:
        return _NUMBERS
    return _INTEGER if dtype.kind in "iu" else _FLAG if dtype.kind == "b" else _NUMBER


def _numbers(row: NDArray[Any]) -> list[Any]:
    numbers: list[Any] = row.tolist()
    return numbers if np.isfinite(row).all() else [_plain(number) for number in numbers]


def _plain(value: Any) -> Any:
    """Give what JSON can hold of a value; numbers keep their bits, what is neither number nor text is written as text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
