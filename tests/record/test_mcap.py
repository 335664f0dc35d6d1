import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import Writer

from onbeat.capture import Stamp
from onbeat.device import ModuleConfig, Provenance
from onbeat.errors import BadInput, ClockMismatch, OnbeatError
from onbeat.motion import Chunk, Outcome, Waypoint
from onbeat.record import Recorder, Recording, read_recording

CYCLE = np.dtype(
    [
        ("deadline_ns", "<i8"),
        ("wake_ns", "<i8"),
        ("sent_ns", "<i8"),
        ("done_ns", "<i8"),
        ("t_eff_ns", "<i8"),
        ("plan", "<u8"),
        ("skipped", "<u4"),
        ("flags", "<u4"),
    ]
)
COMMAND = np.dtype([("sequence", "<u8"), ("sent_ns", "<i8"), ("t_eff_ns", "<i8"), ("values", "<f8", (2,))])


@dataclass(frozen=True)
class Reading:
    stamp: Stamp
    value: Any


@dataclass(frozen=True)
class Decision:
    start_ns: int
    anchor_ns: int
    ready_ns: int
    chunks: Mapping[str, Chunk]
    outcomes: Mapping[str, Sequence[Outcome]]


@dataclass(frozen=True)
class Result:
    quantity: str = "action_latency"
    value: float | None = 0.1026
    ci95: float | None = 0.0004
    n: int = 1200
    method: str = "chirp"
    conditions: Mapping[str, Any] = field(default_factory=lambda: {"gain": np.float64(0.99), "window": (0, 3)})
    verdict: str = "accepted"
    reason: str = ""


class Tailed(list[Outcome]):
    tail: tuple[Outcome, ...] = ()


def stamp(k: int, clock: str = "manual", latency_ns: int = 2_100_000) -> Stamp:
    receive_ns = k * 10_000_000 + 1
    return Stamp(receive_ns - latency_ns, receive_ns, 5, 7, k, clock, corrected=True)


def outcomes() -> Tailed:
    made = Tailed(
        [
            Outcome(Waypoint(1_000_000_000, np.array([0.1, -0.0])), "kept", 0, 900_000_000),
            Outcome(Waypoint(1_100_000_000, np.array([1 / 3, 5e-324])), "stretched", 40_000_001, 1_000_000_000),
        ]
    )
    made.tail = (Outcome(Waypoint(1_200_000_000, np.array([0.0, 1.0])), "dropped", 3, 1_100_000_000),)
    return made


CHUNK = Chunk(1_000_000_000, 100_000_001, np.array([[0.1, 0.2], [1 / 3, np.nextafter(1.0, 2.0)]]), first_step=0)


def cycles(n: int, start: int = 0) -> np.ndarray[Any, np.dtype[Any]]:
    table = np.zeros(n, CYCLE)
    table["deadline_ns"] = 2**62 + np.arange(start, start + n) * 4_000_000
    for name in ("wake_ns", "sent_ns", "done_ns", "t_eff_ns"):
        table[name] = table["deadline_ns"] + 7
    table["plan"] = 2**64 - 1
    table["flags"] = 2**31
    return table


def record_all(recorder: Recorder) -> None:
    recorder.add_metadata("run", {"seed": "3"})
    recorder.add_stream("silent")
    for k in range(400):
        recorder.add_reading("arm", Reading(stamp(k), np.array([k / 3, -float(k)])))
        recorder.add_sample("camera", stamp(k), np.zeros((2, 2, 3), np.uint8))
    recorder.add_decision(Decision(1, 2, 3, {"arm": CHUNK}, {"arm": outcomes()}))
    recorder.add_chunk("gripper", CHUNK, 12)
    recorder.add_outcomes("gripper", outcomes(), 13)
    recorder.add_cycles("arm", cycles(3))
    recorder.add_cycles("arm", cycles(2, 3))
    commands = np.zeros(2, COMMAND)
    commands["values"] = [[1 / 7, np.nan], [-np.inf, np.inf]]
    recorder.add_commands("arm", commands)
    recorder.add_calibration("arm", Result())
    recorder.add_calibration("gripper", Result(value=None, ci95=None, verdict="refused", reason="no motion"), log_ns=5)
    config = ModuleConfig("arm", "a:B", action_latency=0.1026, provenance={"action_latency": Provenance("measured", 0.1026, n=9)})
    recorder.add_config(config)


def recorded(path: Path, threaded: bool = False) -> Recording:
    with Recorder(path, "manual", threaded=threaded) as recorder:
        record_all(recorder)
    return read_recording(path)


@pytest.mark.parametrize("threaded", [False, True])
def test_everything_comes_back_bit_for_bit(tmp_path: Path, threaded: bool) -> None:
    recording = recorded(tmp_path / "run.mcap", threaded)
    assert recording.complete
    assert recording.clock == "manual"
    assert recording.metadata["run"] == {"seed": "3"}

    assert set(recording.readings) == {"silent", "arm", "camera"}
    assert len(recording.readings["silent"]) == 0
    arm, camera = recording.readings["arm"], recording.readings["camera"]
    assert camera.values is None
    assert arm.values is not None
    assert arm.values.tobytes() == np.array([[k / 3, -float(k)] for k in range(400)]).tobytes()
    for k in (0, 399):
        there = stamp(k)
        assert (arm.capture_ns[k], arm.receive_ns[k], arm.seq[k]) == (there.capture_ns, there.receive_ns, k)
        assert (arm.span_ns[k], arm.bound_ns[k], arm.corrected[k]) == (7, 5, True)

    assert [entry.chunk for entry in recording.chunks["arm"]] == [CHUNK]
    assert recording.chunks["arm"][0].log_ns == 3
    assert recording.chunks["gripper"][0].log_ns == 12
    for module in ("arm", "gripper"):
        logged = recording.outcomes[module]
        assert [entry.outcome for entry in logged] == [*outcomes(), *outcomes().tail]
        assert [entry.replaced for entry in logged] == [False, False, True]
    assert np.signbit(recording.outcomes["arm"][0].outcome.waypoint.target[1])
    assert recording.decisions.tolist() == [(1, 2, 3)]

    assert recording.cycles["arm"].dtype == CYCLE
    assert recording.cycles["arm"].tobytes() == cycles(5).tobytes()
    values = recording.commands["arm"]["values"]
    assert recording.commands["arm"].dtype == COMMAND
    assert np.array_equal(values, [[1 / 7, np.nan], [-np.inf, np.inf]], equal_nan=True)

    first, second = recording.calibration
    assert (first.module, first.quantity, first.value, first.ci95, first.n) == ("arm", "action_latency", 0.1026, 0.0004, 1200)
    assert first.conditions == {"gain": 0.99, "window": [0, 3]}
    assert first.log_ns == 2**62 + 4 * 4_000_000 + 7
    assert (second.value, second.verdict, second.reason, second.log_ns) == (None, "refused", "no motion", 5)
    assert recording.figures[0].provenance["action_latency"] == Provenance("measured", 0.1026, n=9)
    assert recording.figures[0].max_speed is None


@given(
    values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20),
    instants=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
)
def test_any_number_survives(tmp_path_factory: pytest.TempPathFactory, values: list[float], instants: list[int]) -> None:
    path = tmp_path_factory.mktemp("run") / "run.mcap"
    table = np.zeros(len(instants), CYCLE)
    for name in ("deadline_ns", "sent_ns", "done_ns"):
        table[name] = instants
    with Recorder(path, "manual", threaded=False) as recorder:
        recorder.add_sample("arm", stamp(0), values)
        recorder.add_cycles("arm", table)
    recording = read_recording(path)
    read = recording.readings["arm"].values
    assert read is not None
    assert read.tobytes() == np.array([values]).tobytes()
    assert recording.cycles["arm"].tobytes() == table.tobytes()


def test_same_calls_give_the_same_bytes(tmp_path: Path) -> None:
    recorded(tmp_path / "a.mcap")
    recorded(tmp_path / "b.mcap")
    assert (tmp_path / "a.mcap").read_bytes() == (tmp_path / "b.mcap").read_bytes()


def test_same_bytes_in_another_process(tmp_path: Path) -> None:
    # Another process has another seed of its hashes: nothing may depend on the order of a set.
    code = (
        "import importlib.util, pathlib, sys\n"
        "spec = importlib.util.spec_from_file_location('twin', sys.argv[1])\n"
        "twin = importlib.util.module_from_spec(spec); sys.modules['twin'] = twin; spec.loader.exec_module(twin)\n"
        "twin.recorded(pathlib.Path(sys.argv[2]))\n"
    )
    recorded(tmp_path / "a.mcap")
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, __file__, str(tmp_path / "b.mcap")], check=True, env=environment)
    assert (tmp_path / "a.mcap").read_bytes() == (tmp_path / "b.mcap").read_bytes()


def test_other_tools_read_it(tmp_path: Path) -> None:
    recorded(tmp_path / "run.mcap")
    with (tmp_path / "run.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        schema, channel, message = next(iter(reader.iter_messages(["readings/arm"])))
        summary = reader.get_summary()
    assert schema is not None
    assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
    assert message.log_time == stamp(0).receive_ns
    assert message.publish_time == 0  # before the manual clock's zero; the exact instant is in the data
    assert f'"capture_ns":{stamp(0).capture_ns},' in message.data.decode()
    assert summary is not None
    assert summary.statistics is not None
    assert summary.statistics.message_count == 819
    assert summary.statistics.chunk_count >= 4


def test_file_has_its_name_only_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with Recorder(path, "manual", threaded=False) as recorder:
        recorder.add_sample("arm", stamp(0), [1.0])
        assert [entry.name for entry in tmp_path.iterdir()] == ["run.mcap.partial"]
        with pytest.raises(
            BadInput, match=r"run\.mcap\.partial is there: its writer runs or has died, read it with partial=True"
        ):
            read_recording(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.mcap"]


def test_run_that_fails_is_kept(tmp_path: Path) -> None:
    def run() -> None:
        with Recorder(tmp_path / "run.mcap", "manual") as recorder:
            recorder.add_sample("arm", stamp(0), [1.0])
            raise RuntimeError("the arm fell off")

    with pytest.raises(RuntimeError, match="the arm fell off"):
        run()
    assert len(read_recording(tmp_path / "run.mcap").readings["arm"]) == 1


def test_process_that_dies_leaves_all_but_the_last_second(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from onbeat.capture import Stamp\n"
        "from onbeat.record import Recorder\n"
        "recorder = Recorder(sys.argv[1], 'manual', threaded=False)\n"
        "for k in range(350):\n"
        "    recorder.add_sample('arm', Stamp(k * 10_000_000, k * 10_000_000, 0, 0, k, 'manual'), [k / 3])\n"
        "os._exit(9)\n"
    )
    path = tmp_path / "run.mcap"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 9
    left = tmp_path / "run.mcap.partial"
    with pytest.raises(BadInput, match=r"ends early after 300 messages up to log time 2\.990 s; read what is there with"):
        read_recording(left)
    recording = read_recording(left, partial=True)
    assert not recording.complete
    assert recording.readings["arm"].seq.tolist() == list(range(300))
    with pytest.raises(BadInput, match="is what another run writes, or has left when it died"):
        Recorder(path, "manual")
    Recorder(path, "manual", overwrite=True).close()


def test_name_that_is_taken(tmp_path: Path) -> None:
    recorded(tmp_path / "run.mcap")
    with pytest.raises(BadInput, match=r"run\.mcap is there already; choose another name"):
        Recorder(tmp_path / "run.mcap", "manual")


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot be written \(No such file or directory\); choose another folder"):
        Recorder(tmp_path / "nowhere" / "run.mcap", "manual")


def test_stream_that_changes_its_width(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.mcap", "manual", threaded=False) as recorder:
        recorder.add_sample("arm", stamp(0), [1.0, 2.0])
        with pytest.raises(
            BadInput, match="readings/arm began with 2 numbers and now comes with 3 numbers; give it a name of its"
        ):
            recorder.add_sample("arm", stamp(1), [1.0, 2.0, 3.0])
        with pytest.raises(BadInput, match="now comes with stamps only"):
            recorder.add_sample("arm", stamp(1))


def test_reading_of_another_clock(tmp_path: Path) -> None:
    with (
        Recorder(tmp_path / "run.mcap", "manual", threaded=False) as recorder,
        pytest.raises(ClockMismatch, match="is on clock 'wall' and the recording on 'manual'; translate it with a ClockMap"),
    ):
        recorder.add_sample("arm", stamp(0, "wall"), [1.0])


def test_table_without_its_instants(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.mcap", "manual", threaded=False) as recorder:
        with pytest.raises(
            BadInput, match="cycles/arm needs a structured array with done_ns and deadline_ns, not the fields none"
        ):
            recorder.add_cycles("arm", np.zeros(3))
        recorder.add_cycles("arm", cycles(1))
        with pytest.raises(
            BadInput, match=r"cycles/arm began with the fields deadline_ns,.* and now comes with the fields done_ns,"
        ):
            recorder.add_cycles("arm", np.zeros(1, [("done_ns", "<i8"), ("deadline_ns", "<i8")]))


def test_empty_table_is_not_recorded(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.mcap", "manual", threaded=False) as recorder:
        recorder.add_cycles("arm", cycles(0))
    assert recorder.counts == {"written": 0, "dropped": 0}


def test_array_that_is_used_again_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    row, table = np.array([1.0]), cycles(1)
    with Recorder(path, "manual") as recorder:
        recorder.add_sample("arm", stamp(0), row)
        recorder.add_cycles("arm", table)
        row[0], table["plan"] = 2.0, 0
    values = read_recording(path).readings["arm"].values
    assert values is not None
    assert values.tolist() == [[1.0]]
    assert read_recording(path).cycles["arm"]["plan"][0] == 2**64 - 1


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with Recorder(path, "manual") as recorder:

        def add(name: str) -> None:
            for k in range(500):
                recorder.add_sample(name, stamp(k), [float(k)])

        threads = [threading.Thread(target=add, args=(f"s{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert recorder.counts == {"written": 2000, "dropped": 0}
    readings = read_recording(path).readings
    assert all(readings[f"s{n}"].seq.tolist() == list(range(500)) for n in range(4))


def test_full_queue_drops_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.mcap"
    writing, go_on = threading.Event(), threading.Event()
    add_message = Writer.add_message

    def slow(self: Writer, *args: Any) -> None:
        writing.set()
        go_on.wait()
        add_message(self, *args)

    monkeypatch.setattr(Writer, "add_message", slow)
    with Recorder(path, "manual", capacity=3) as recorder:
        recorder.add_sample("arm", stamp(0), [0.0])
        writing.wait()
        for k in range(1, 10):
            recorder.add_sample("arm", stamp(k), [float(k)])
        assert recorder.counts["dropped"] == 6
        go_on.set()
    recording = read_recording(path)
    assert recorder.counts == {"written": 4, "dropped": 6}
    assert recording.readings["arm"].seq.tolist() == [0, 1, 2, 3]
    assert recording.metadata["dropped"] == {"readings/arm": "6"}
    assert repr(recorder).endswith("4 written, 6 dropped)")


@pytest.mark.parametrize("threaded", [False, True])
def test_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threaded: bool) -> None:
    def full(self: Writer, *args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "add_message", full)
    recorder = Recorder(tmp_path / "run.mcap", "manual", threaded=threaded)
    sentence = r"run\.mcap stopped after 0 messages \(.*No space left on device\); remove the cause and record again"
    if threaded:
        recorder.add_sample("arm", stamp(0), [0.0])
        recorder.add_sample("arm", stamp(1), [0.0])
    else:
        with pytest.raises(OnbeatError, match=sentence):
            recorder.add_sample("arm", stamp(0), [0.0])
    with pytest.raises(OnbeatError, match=sentence):
        recorder.close()
    assert recorder.counts == {"written": 0, "dropped": 2 if threaded else 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.mcap.partial"]


def test_what_comes_after_closing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.mcap", "manual")
    recorder.close()
    recorder.close()
    with pytest.raises(BadInput, match=r"readings/arm came after .* was closed; stop what records before closing the recorder"):
        recorder.add_sample("arm", stamp(0), [0.0])


def test_queue_without_room(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds at least 1 call, not 0"):
        Recorder(tmp_path / "run.mcap", "manual", capacity=0)
