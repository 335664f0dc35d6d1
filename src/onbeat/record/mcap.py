"""Write a recording while the robot runs: one MCAP file that other tools read too.

The log time of a message is when it was in hand, the publish time when it was true (or due).
"""

import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.capture import Stamp
from onbeat.device import ModuleConfig
from onbeat.errors import BadInput, ClockMismatch, OnbeatError
from onbeat.motion import Chunk, Outcome
from onbeat.record import messages
from onbeat.record.messages import Decided, Measured, Message, Stamped

__all__ = ("FORMAT", "Recorder")

FORMAT = "1"
_FLUSH_NS = 1_000_000_000
_IDLE_S = 1.0


class Recorder:
    """Writes one recording. All `add_*` may be called from several threads.

    The file grows under the name PATH.partial, by a chunk each second of log time, and gets its own name when it is closed. Where
    the process dies, `read_recording(partial, partial=True)` reads what was written by then. An error inside a `with` block
    still closes the recording properly: a run that failed is the one that somebody wants to see.

    Args:
        path: Where the recording will be, normally NAME.mcap.
        clock_id: The clock of all instants in it.
        threaded: True: a thread of its own encodes and writes, and what comes while the queue is full is dropped and counted, so
            that no caller ever waits for a disk. False: every call writes at once, and the same calls give the same bytes.
        capacity: Calls that the queue holds.
        overwrite: Whether a file of that name (or its .partial) may be replaced.

    Raises:
        BadInput: the file is there already, or its folder cannot be written to.
    """

    def __init__(
        self, path: str | Path, clock_id: str, *, threaded: bool = True, capacity: int = 65_536, overwrite: bool = False
    ) -> None:
        from mcap.writer import CompressionType, Writer

        self.path = Path(path)
        self.partial_path = self.path.with_name(f"{self.path.name}.partial")
        self.clock_id = clock_id
        if capacity < 1:
            raise BadInput(f"the queue of a recorder holds at least 1 call, not {capacity}")
        if self.path.exists() and not overwrite:
            raise BadInput(f"{self.path} is there already; choose another name, or pass overwrite=True")
        try:
            self._file = self.partial_path.open("wb" if overwrite else "xb")
        except FileExistsError:
            raise BadInput(
                f"{self.partial_path} is what another run writes, or has left when it died; read it with partial=True and move "
                f"it away, or pass overwrite=True"
            ) from None
        except OSError as error:
            raise BadInput(f"{self.partial_path} cannot be written ({error.strerror}); choose another folder") from None
        self._writer: Any = Writer(self._file, compression=CompressionType.ZSTD, enable_data_crcs=True)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._sequence: Counter[str] = Counter()
        self._flushed_ns: int | None = None
        # The name and version of the library would make the bytes depend on what is installed.
        self._writer.start(profile="", library="onbeat")
        self._writer.add_metadata("onbeat", {"format": FORMAT, "clock": clock_id, "unit": "ns"})

        # Held for a few instructions when a thread writes, and for the whole write when there is none.
        self._lock = threading.RLock()
        self._shapes: dict[str, Any] = {}
        self._latest_ns = 0
        self._written = 0
        self._dropped: Counter[str] = Counter()
        self._failure: Exception | None = None
        self._closed = False
        self._queue: queue.Queue[tuple[str, int, Callable[[], object]] | None] = queue.Queue(capacity)
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._run, name="onbeat-recorder", daemon=True)
            self._thread.start()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Recorder({str(self.path)!r}, {self.counts['written']} written, {self.counts['dropped']} dropped)"

    @property
    def counts(self) -> dict[str, int]:
        """Messages written and dropped."""
        return {"written": self._written, "dropped": self._dropped.total()}

    def add_stream(self, stream: str) -> None:
        """Announce a stream, so that it is in the file even if nothing of it arrives."""
        topic = f"readings/{stream}"
        self._submit(topic, 0, partial(self._channel, Message(topic, "onbeat.Reading", 0, 0, {})))

    def add_reading(self, stream: str, reading: Stamped) -> None:
        """Record one reading: logged when it arrived, published when it was true. Of an image only the stamp is recorded.

        Raises:
            BadInput: the value has another width than the stream's first one.
            ClockMismatch: the stamp is on another clock than the recording.
        """
        self.add_sample(stream, reading.stamp, reading.value)

    def add_sample(self, stream: str, stamp: Stamp, value: Any = None) -> None:
        """Record a stamp and its value of shape (width,), which is copied; raises as `add_reading` does."""
        if stamp.clock != self.clock_id:
            raise ClockMismatch(
                f"reading {stamp.seq} of {stream!r} is on clock {stamp.clock!r} and the recording on {self.clock_id!r}; "
                f"translate it with a ClockMap"
            )
        row = np.array(value, dtype=np.float64) if value is not None and np.ndim(value) == 1 else None
        topic = f"readings/{stream}"
        self._same_shape(topic, None if row is None else len(row))
        self._submit(topic, 1, partial(self._write, messages.of_reading(stream, stamp, row)), stamp.receive_ns)

    def add_chunk(self, module: str, chunk: Chunk, log_ns: int) -> None:
        """Record a policy's chunk: logged when it was in hand, published at its anchor."""
        self._submit(f"chunks/{module}", 1, partial(self._write, messages.of_chunk(module, chunk, log_ns)), log_ns)

    def add_outcomes(self, module: str, outcomes: Sequence[Outcome], log_ns: int) -> None:
        """Record what became of waypoints: logged at the decision, published at the waypoint's instant.

        Knots of the old plan that lost their place (`outcomes.tail`) are recorded too, marked as replaced.
        """
        self._submit(
            f"outcomes/{module}", _size(outcomes), partial(self._write, messages.of_outcomes(module, outcomes, log_ns)), log_ns
        )

    def add_decision(self, decision: Decided) -> None:
        """Record one turn of a policy's loop: its instants, its chunks and what became of them."""
        size = 1 + len(decision.chunks) + sum(map(_size, decision.outcomes.values()))
        self._submit("decisions", size, partial(self._write, messages.of_decision(decision)), decision.ready_ns)

    def add_cycles(self, module: str, records: NDArray[Any]) -> None:
        """Record a send loop's cycles: logged when done, published at the deadline.

        Args:
            module: Name of the module.
            records: Structured array as `SendLoop.records()` gives it; copied.

        Raises:
            BadInput: it has no done_ns or deadline_ns, or other fields than the first one.
        """
        self._add_table(f"cycles/{module}", "onbeat.Cycle", records, "done_ns", "deadline_ns")

    def add_commands(self, module: str, records: NDArray[Any]) -> None:
        """Record what was sent: logged at the instant of sending, published at the instant that the target is for.

        Args:
            module: Name of the module.
            records: Structured array as `MemorySink.drain()` gives it; copied.

        Raises:
            BadInput: it has no sent_ns or t_eff_ns, or other fields than the first one.
        """
        self._add_table(f"commands/{module}", "onbeat.Command", records, "sent_ns", "t_eff_ns")

    def add_calibration(self, module: str, result: Measured, log_ns: int | None = None) -> None:
        """Record a measurement, accepted or refused; without log_ns at the newest log time so far."""
        log_ns = self._latest_ns if log_ns is None else log_ns
        self._submit("calibration", 1, partial(self._write, messages.of_calibration(module, result, log_ns)), log_ns)

    def add_config(self, config: ModuleConfig, log_ns: int | None = None) -> None:
        """Record the figures that a module runs with and where they come from; without log_ns at the newest log time so far."""
        log_ns = self._latest_ns if log_ns is None else log_ns
        self._submit("config", 1, partial(self._write, messages.of_config(config, log_ns)), log_ns)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Record facts about the whole run. What differs from run to run (a date, a path) makes the bytes differ too."""
        self._submit("metadata", 0, partial(self._writer.add_metadata, name, dict(values)))

    def close(self) -> None:
        """Write what is left, finish the file and give it its name; may be called twice.

        Raises:
            OnbeatError: something could not be written; what could is in PATH.partial.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        try:
            if self._failure is None:
                if self._dropped:
                    self._writer.add_metadata("dropped", {topic: str(n) for topic, n in sorted(self._dropped.items())})
                self._writer.finish()
                self._file.flush()
                os.fsync(self._file.fileno())
        except OSError as error:
            self._failure = error
        finally:
            with suppress(OSError):
                self._file.close()
        self._raise_failure()
        os.replace(self.partial_path, self.path)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise OnbeatError(
                f"recording {self.path} stopped after {self._written} messages ({self._failure}); remove the cause and "
                f"record again"
            ) from self._failure

    def _same_shape(self, topic: str, shape: Any) -> None:
        with self._lock:
            first = self._shapes.setdefault(topic, shape)
        if first != shape:
            raise BadInput(f"{topic} began with {_shown(first)} and now comes with {_shown(shape)}; give it a name of its own")

    def _add_table(self, topic: str, schema: str, records: NDArray[Any], log: str, publish: str) -> None:
        names = records.dtype.names or ()
        if log not in names or publish not in names:
            raise BadInput(
                f"{topic} needs a structured array with {log} and {publish}, not the fields {', '.join(names) or 'none'}"
            )
        self._same_shape(topic, records.dtype)
        if len(records):
            latest_ns = int(records[log].max())
            table = messages.of_table(topic, schema, records.copy(), log, publish)
            self._submit(topic, len(records), partial(self._write, table), latest_ns)

    def _submit(self, topic: str, size: int, act: Callable[[], object], latest_ns: int = 0) -> None:
        with self._lock:
            if self._closed:
                raise BadInput(f"{topic} came after {self.path} was closed; stop what records before closing the recorder")
            self._latest_ns = max(self._latest_ns, latest_ns)
            if self._thread is None:
                self._guard(topic, size, act)
                self._raise_failure()
                return
            try:
                self._queue.put_nowait((topic, size, act))
            except queue.Full:
                self._dropped[topic] += size

    def _run(self) -> None:
        while True:
            try:
                entry = self._queue.get(timeout=_IDLE_S)
            except queue.Empty:
                # Log time stands still while nothing comes; what came last must not wait for what comes next.
                entry = ("", 0, self._writer.flush)
            if entry is None:
                return
            self._guard(*entry)

    def _guard(self, topic: str, size: int, act: Callable[[], object]) -> None:
        """Write, or remember why not: a recorder never stops the robot; `close` says what happened."""
        if self._failure is None:
            try:
                act()
                self._written += size
                return
            except Exception as error:
                self._failure = error
        with self._lock:
            self._dropped[topic] += size

    def _write(self, items: Iterable[Message]) -> None:
        for message in items:
            channel = self._channel(message)
            if self._flushed_ns is None:
                self._flushed_ns = message.log_ns
            elif message.log_ns - self._flushed_ns >= _FLUSH_NS:
                self._writer.flush()
                self._flushed_ns = message.log_ns
            sequence = self._sequence[message.topic]
            self._sequence[message.topic] += 1
            # MCAP's own two times are unsigned: an instant before a manual clock's zero stands exactly in the fields only.
            log_ns, publish_ns = max(message.log_ns, 0), max(message.publish_ns, 0)
            self._writer.add_message(channel, log_ns, message.encoded(), publish_ns, sequence & 0xFFFFFFFF)

    def _channel(self, message: Message) -> int:
        """Give the channel of a message; the first one registers it."""
        if message.topic not in self._channels:
            name, schema = messages.schema_of(message)
            if name not in self._schemas:
                self._schemas[name] = self._writer.register_schema(name, "jsonschema", schema)
            metadata = {} if message.dtype is None else {"dtype": messages.described(message.dtype)}
            self._channels[message.topic] = self._writer.register_channel(message.topic, "json", self._schemas[name], metadata)
        return self._channels[message.topic]


def _size(outcomes: Sequence[Outcome]) -> int:
    return len(outcomes) + len(getattr(outcomes, "tail", ()))


def _shown(shape: Any) -> str:
    if isinstance(shape, np.dtype):
        return f"the fields {', '.join(shape.names or ())}"
    return "stamps only" if shape is None else f"{shape} numbers"
