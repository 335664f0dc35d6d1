"""The Python of the documents runs: each block, in the order of its page, with the names that the page takes as given.

What a block needs from outside (a rig, a machine, a file of the reader's) is put in its place by `SWAPS`, word for word, and a
rig runs in stopped time. A new block runs too; where it needs a name, its page's stage gives it.
"""

import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onbeat.capture import Stamp
from onbeat.clock import ClockServer, ManualClock
from onbeat.device import Command, copy_rig, simulated_rig_path
from onbeat.loop import MemorySink, SendLoop
from onbeat.motion import Chunk, Limits, Trajectory
from onbeat.policy import Reading
from onbeat.stream import Aligner, Stream
from onbeat.testing.lerobot_set import write_lerobot_set
from onbeat.testing.recordings import arm_rig
from onbeat.testing.write_mcap import write_mcap

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if "```python\n" in path.read_text(encoding="utf-8")
)
MS, SECOND = 1_000_000, 1_000_000_000
STOPPED = 'onbeat.load_rig("onbeat-demo/rig/rig.yaml", clock=__import__("onbeat.clock", fromlist=["*"]).ManualClock())'
SWAPS = {
    'onbeat.load_rig("onbeat-demo/rig/rig.yaml")': STOPPED,
    "run(duration_s=30)": "run(duration_s=2)",
    '"192.168.1.20"': '"127.0.0.1"',
    '"robot.local"': '"127.0.0.1", port',
}
# (page, number of the block): why it does not run here.
LEFT_OUT = {("docs/motion.md", 3): "needs the extra sim and a model of the reader's arm; tests/motion/test_mujoco_arm.py"}


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)


class Bus:
    """What docs/device.md calls my_bus.Bus."""

    def open(self, port: str) -> None: ...

    def close(self) -> None: ...

    def read_angles(self) -> list[float]:
        return [0.0] * 6

    def write_angles(self, angles: Any) -> None: ...


def still(width: int, at: float = 0.0) -> Trajectory:
    return Trajectory([0], [[at] * width])


def rig_of_the_demo() -> dict[str, Any]:
    copy_rig(simulated_rig_path(), Path("onbeat-demo/rig"))
    return {}


def calibrate() -> dict[str, Any]:
    t_ns = np.arange(1500) * 20 * MS
    t_s = t_ns / SECOND
    command = np.sin(2 * np.pi * (0.2 + 0.02 * t_s) * t_s)
    late = np.interp(t_s - 0.1, t_s, command)
    gyro = np.cos(3 * t_s) + np.sin(1.3 * t_s**1.1)
    return {
        **rig_of_the_demo(),
        "command_t_ns": t_ns,
        "command": command,
        "measured_t_ns": t_ns,
        "measured": late,
        "gyro_t_ns": t_ns,
        "gyro": gyro,
        "camera_t_ns": t_ns - 30 * MS,
        "camera_rate": gyro,
    }


def check() -> dict[str, Any]:
    write_mcap(arm_rig(np.random.default_rng(1), span_s=20.0), "drive.mcap")
    return {}


def delay() -> dict[str, Any]:
    write_lerobot_set(Path("my_arm"), rng=np.random.default_rng(1), cameras=())
    return {}


def device() -> dict[str, Any]:
    copy_rig(simulated_rig_path(), Path("conf"))
    return {"my_bus": types.SimpleNamespace(Bus=Bus)}


def identify() -> dict[str, Any]:
    tones_hz = np.array([0.3, 0.6, 1.0, 1.6, 2.4, 4.0])
    t_ns = np.arange(8000) * 4 * MS
    command = sum(0.05 / f * np.sin(2 * np.pi * f * t_ns / SECOND + f * f) for f in tones_hz)
    true_ns = np.arange(100, 3000) * 10 * MS + 137_000
    measured = np.interp(true_ns - 20 * MS, t_ns, command) + 1e-5 * np.random.default_rng(1).normal(size=len(true_ns))
    return {"sent_ns": t_ns, "command": command, "true_ns": true_ns, "measured": measured}


def loop() -> dict[str, Any]:
    given = {"plan": still(6), "better_plan": still(6, 0.1), "sink": MemorySink(6, 64), "here": still(6), "Limits": Limits}
    reports = np.arange(100) * 4 * MS
    return {**given, "joints": np.zeros(6), "velocity": np.zeros(6), "t_sample_ns": 0, "report_t_ns": reports}


def motion() -> dict[str, Any]:
    chunk = Chunk(0, 100 * MS, np.full((8, 6), 0.1))
    given = {"arm_chunk": chunk, "gripper_chunk": chunk, "plan": still(6), "rows": chunk.targets, "now_ns": 90 * MS}
    return {**given, "observation": types.SimpleNamespace(t_ns=0), "joints": np.zeros(7), "target": np.full(7, 0.1)}


def record() -> dict[str, Any]:
    sender = SendLoop(MemorySink(1, 64), 100, still(1))
    sender.cycle(10 * MS, 10 * MS)
    stamp = Stamp(10 * MS, 12 * MS, bound_ns=0, span_ns=0, seq=1, clock="manual")
    reading = Reading(stamp, np.zeros(1), types.SimpleNamespace())  # type: ignore[arg-type]
    return {"clock": ManualClock(), "reading": reading, "loop": sender}


def read() -> dict[str, Any]:
    Path("recordings").mkdir()
    write_mcap(arm_rig(np.random.default_rng(1), span_s=5.0), "recordings/a.mcap")
    return {}


def stream() -> dict[str, Any]:
    clock = ManualClock(100 * MS)
    made = {name: Stream(name, clock, "linear", width=1, capacity=8) for name in ("camera", "arm", "force")}
    for each in made.values():
        each.push(90 * MS, np.zeros(1))
    stamp = Stamp(10 * MS, 12 * MS, bound_ns=0, span_ns=0, seq=1, clock="manual")
    pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    return {**made, "clock": clock, "stamp": stamp, "frame": stamp, "pose": pose, "Stream": Stream, "Aligner": Aligner}


STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "README.md": rig_of_the_demo,
    "docs/calibrate.md": calibrate,
    "docs/check.md": check,
    "docs/delay.md": delay,
    "docs/device.md": device,
    "docs/identify.md": identify,
    "docs/loop.md": loop,
    "docs/motion.md": motion,
    "docs/policy.md": rig_of_the_demo,
    "docs/read.md": read,
    "docs/record.md": record,
    "docs/report.md": lambda: {"wall_ns": 0},
    "docs/stream.md": stream,
}


@pytest.fixture
def port() -> Iterator[int]:
    server = ClockServer(port=0)
    server.start()
    yield server.port
    server.stop()


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "document", "port": port, **STAGES.get(page, dict)()}
    for number, block in enumerate(blocks(page)):
        if (page, number) in LEFT_OUT:
            continue
        for words, instead in SWAPS.items():
            block = block.replace(words, instead)
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    if sender := names.get("loop"):
        sender.stop()


def test_driver_of_the_device_page_reads_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"my_bus": types.SimpleNamespace(Bus=Bus)}
    block = next(each for each in blocks("docs/device.md") if "class MyArm" in each)
    exec(block, names)
    arm = names["MyArm"](types.SimpleNamespace(params={"port": "/dev/null"}), ManualClock(5))
    arm.connect()
    arm.write(Command(0, np.zeros(6)))
    assert arm.read().seq == 1
    arm.hold()
    arm.close()


def test_what_is_left_out_is_there() -> None:
    assert all(number < len(blocks(page)) for page, number in LEFT_OUT)
