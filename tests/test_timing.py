"""The example of how timing becomes motion: its box does what it says, and docs/timing.md shows what it prints."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
MS, SECOND = 1_000_000, 1_000_000_000


@pytest.fixture(scope="module")
def made() -> ModuleType:
    path = ROOT / "examples" / "06_timing_becomes_motion.py"
    spec = importlib.util.spec_from_file_location("timing_becomes_motion", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", ["stall", "delay", "feedback"])
def test_page_shows_what_stopped_time_gives(made: ModuleType, part: str) -> None:
    page = (ROOT / "docs" / "timing.md").read_text(encoding="utf-8")
    for line in getattr(made, part)():
        assert line in page, f"{line!r} is not in docs/timing.md: run bench/draw_timing.py"


def test_box_is_asked_for_the_speed_of_a_steady_plan(made: ModuleType) -> None:
    sent_ns = np.arange(0, SECOND, 4 * MS)
    plan = made.Trajectory([0, SECOND], [[0.0], [100.0]])
    motion = made.box(made.Sent(sent_ns, 100 * sent_ns / SECOND), plan, 252 * MS, SECOND // 2)
    np.testing.assert_allclose(motion.speeds, 100.0)
    np.testing.assert_allclose(motion.errors, 0.654)  # a pure delay of 6.54 ms


def test_box_stands_still_while_nothing_comes(made: ModuleType) -> None:
    sent_ns = np.delete(np.arange(0, SECOND, 4 * MS), 75)  # the send of 300 ms
    plan = made.Trajectory([0, SECOND], [[0.0], [100.0]])
    motion = made.box(made.Sent(sent_ns, 100 * sent_ns / SECOND), plan, 252 * MS, SECOND // 2)
    k = int(np.searchsorted(motion.ticks_ns, 300 * MS))
    np.testing.assert_allclose(motion.speeds[k - 1 : k + 3], [100.0, 0.0, 200.0, 100.0], atol=1e-9)
