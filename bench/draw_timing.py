"""Draw what examples/06_timing_becomes_motion.py does, and put its lines into docs/timing.md.

On a shared machine others take the processors from both senders. So the run is repeated, up to six times, until the host took at
most 1 % of the processor time and other processes kept at most half of one busy; else the run with the least beside it counts.
"""

import argparse
import importlib.util
import os
import re
import time
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onbeat.report.drawing import BLUE, GRID, INK, MUTED, ORANGE, Sheet, sheet

ROOT = Path(__file__).resolve().parent.parent
RUNS, MAX_STOLEN, MAX_OTHERS = 6, 0.01, 0.5
WIDTH, LEFT, RIGHT, HALF = 900, 56, 880, 380
MS, SECOND = 1_000_000, 1_000_000_000
PLAN = {"color": MUTED, "linewidth": 1.0, "linestyle": (0, (3, 2.2))}


class Seen(NamedTuple):
    """A run, and what went on beside it."""

    run: Any
    stolen: float  # share of the time of all processors
    others: float  # processors that other processes kept busy

    @property
    def quiet(self) -> bool:
        return self.stolen <= MAX_STOLEN and self.others <= MAX_OTHERS


def processors() -> NDArray[np.int64]:
    """Read ticks of all processors: stolen by the host, busy, and in all."""
    user, nice, system, idle, wait, interrupt, soft, stolen = map(int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9])
    busy = user + nice + system + interrupt + soft
    return np.array([stolen, busy, busy + idle + wait + stolen])


def watch(made: ModuleType) -> Seen:
    before, own_s, began_s = processors(), time.process_time(), time.monotonic()
    run = made.race()
    stolen, busy, every = (processors() - before).tolist()
    seconds, own_s = time.monotonic() - began_s, time.process_time() - own_s
    others = max(0.0, (busy / os.sysconf("SC_CLK_TCK") - own_s) / seconds)
    return Seen(run, stolen / max(1, every), others)


def load_example() -> ModuleType:
    path = ROOT / "examples" / "06_timing_becomes_motion.py"
    spec = importlib.util.spec_from_file_location("timing_becomes_motion", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def panel(paper: Sheet, x: float, y: float, width: float, height: float, title: str, unit: str) -> Any:
    """Lay axes under a title; y counts from the top of the title."""
    paper.text(x - 40, y + 14, title, fontsize=13, fontweight="bold")
    axes = paper.axes(x, y + 46, width, height)
    axes.set_ylabel(unit)
    axes.set_xlabel("ms")
    return axes


def key(paper: Sheet, x: float, y: float, entries: list[tuple[str, str]]) -> None:
    """Name the colours in a line, under a panel's title."""
    for words, colour in entries:
        paper.text(x, y, words, color=colour, fontsize=11.5, fontweight="bold")
        x += 7.4 * len(words) + 14


def steps(axes: Any, motion: Any, zero_ns: int, colour: str, width: float = 1.6) -> None:
    """Draw what the box was asked for, a step for each of its periods."""
    axes.step((motion.ticks_ns - zero_ns) / MS, motion.speeds, where="post", color=colour, linewidth=width)


def draw_jump(made: Any, run: Any) -> str:
    senders = ((run.python, ORANGE, 1.4), (run.ours, BLUE, 2.2))
    with sheet(WIDTH, 606) as paper:
        top = panel(paper, LEFT, 4, RIGHT - LEFT, 200, "Beside a Python thread that computes: speed asked of the box", "deg/s")
        key(paper, LEFT - 40, 38, [("a Python thread sends", ORANGE), ("SendLoop sends, in the same process", BLUE)])
        zero_ns = run.begin_ns + SECOND // 2
        for sent, colour, width in senders:
            steps(top, made.box(sent, run.plan, zero_ns, zero_ns + SECOND), zero_ns, colour, width)
        top.set(xlim=(0, 1000))

        y = 310
        low = panel(paper, LEFT, y, HALF, 210, "A call into C holds the interpreter lock", "deg/s")
        key(paper, LEFT - 40, y + 34, [("a Python thread", ORANGE), ("SendLoop", BLUE)])
        zero_ns = run.begin_ns + 3 * SECOND
        low.axvspan(*((t - zero_ns) / MS for t in run.held_ns), color=GRID, alpha=0.5, linewidth=0)
        for sent, colour, width in senders:
            steps(low, made.box(sent, run.plan, zero_ns - 80 * MS, zero_ns + 120 * MS), zero_ns, colour, width)
        low.set(xlim=(-80, 120), ylim=(-40, 1050))

        x = RIGHT - HALF
        low = panel(paper, x, y, HALF, 210, f"The whole machine stalls for {made.STALL_MS} ms (stopped time)", "deg/s")
        key(paper, x - 40, y + 34, list(zip(made.LIMITS, (ORANGE, INK, BLUE), strict=True)))
        low.axvspan(0, made.STALL_MS, color=GRID, alpha=0.5, linewidth=0)
        for limits, colour, width in zip(made.LIMITS.values(), (ORANGE, INK, BLUE), (1.4, 1.4, 2.2), strict=True):
            motion = made.box(made.by_hand(limits, made.DELAY_S, made.STALL_MS), made.swing(0), 920 * MS, 1200 * MS)
            steps(low, motion, SECOND, colour, width)
        low.set(xlim=(-80, 200), ylim=(-40, 1050))
        return paper.svg("A late send is a jump: the speed that a box was asked for")


def draw_delay(made: Any, run: Any) -> str:
    with sheet(WIDTH, 330) as paper:
        near = panel(paper, LEFT, 4, HALF, 220, f"A delay of {made.DELAY_S * 1e3} ms, at 125 deg/s (stopped time)", "deg")
        key(paper, LEFT - 40, 38, [("plan", MUTED), ("no lead", ORANGE), ("exact lead", BLUE)])
        plan = made.swing(0)
        for sent, colour, width in ((made.by_hand(), ORANGE, 1.8), (made.by_hand(lead_s=made.DELAY_S), BLUE, 2.6)):
            motion = made.box(sent, plan, 980 * MS, 1020 * MS)
            t_ms = (motion.t_ns - SECOND) / MS
            near.plot(t_ms, plan.at_many(motion.t_ns)[:, 0] - motion.errors, color=colour, linewidth=width)
        near.plot(t_ms, plan.at_many(motion.t_ns)[:, 0], **{**PLAN, "color": INK})
        behind = made.box(made.by_hand(), plan, SECOND, SECOND + MS).errors[0]
        near.vlines(0, -behind, 0, color=INK, linewidth=1.2)
        near.annotate(f"{behind:.2f} deg behind", (0, -behind), xytext=(8, -16), textcoords="offset points", color=INK)
        near.set(xlim=(-20, 20))

        x = RIGHT - HALF
        far = panel(paper, x, 4, HALF, 220, "The same exact lead, sent beside a busy Python: error", "deg")
        key(paper, x - 40, 38, [("a Python thread sends", ORANGE), ("SendLoop sends", BLUE)])
        for sent, colour, width in ((run.python, ORANGE, 1.0), (run.ours, BLUE, 2.2)):
            motion = made.box(sent, run.plan, run.begin_ns + 500 * MS, run.begin_ns + 1500 * MS)
            far.plot((motion.t_ns - motion.t_ns[0]) / MS, motion.errors, color=colour, linewidth=width)
        far.set(xlim=(0, 1000))
        return paper.svg("A delay is an error that grows with speed, and a lead is as good as the clock that sends")


def draw_feedback(made: Any) -> str:
    with sheet(WIDTH, 330) as paper:
        left = panel(paper, LEFT, 4, HALF, 220, "Exact lead and k_p 0.5: error at 125 deg/s", "deg")
        key(paper, LEFT - 40, 38, [("compared with now", ORANGE), ("with the report's own instant", BLUE)])
        for own_instant, colour, width in ((False, ORANGE, 1.6), (True, BLUE, 2.2)):
            fed = made.fed_back(0.5, own_instant)
            left.plot((fed.t_ns - SECOND) / MS, fed.errors, color=colour, linewidth=width)
        left.set(xlim=(-100, 100))

        x = RIGHT - HALF
        right = panel(paper, x, 4, HALF, 220, "A load makes the joint sag by 1 deg: error", "deg")
        colours = (BLUE, INK, ORANGE)
        key(paper, x - 40, 38, [(f"k_p {gain}", colour) for gain, colour in zip(made.GAINS, colours, strict=True)])
        for gain, colour in zip(made.GAINS, colours, strict=True):
            fed = made.fed_back(gain, sag=1.0)
            right.plot((fed.t_ns - SECOND // 2) / MS, fed.errors, color=colour, linewidth=1.8)
        right.set(xlim=(-20, 200), ylim=(-1.2, 2.2))
        return paper.svg("Old feedback shakes: an error that is not there, and a joint that swings")


def put_into(page: Path, lines: list[str]) -> None:
    block = "<!-- printed: begin -->\n```\n" + "\n".join(lines) + "\n```\n<!-- printed: end -->"
    text = page.read_text(encoding="utf-8")
    page.write_text(
        re.sub(r"<!-- printed: begin -->.*<!-- printed: end -->", lambda _: block, text, flags=re.S), encoding="utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of timing.md and its pictures")
    options = parser.parse_args()
    made = load_example()
    seen: list[Seen] = []
    while len(seen) < RUNS and not any(each.quiet for each in seen):
        seen.append(watch(made))
    best = min(seen, key=lambda each: each.stolen * (os.cpu_count() or 1) + each.others)
    run = best.run
    granted = "granted" if run.status.realtime else "; ".join(run.status.refused)
    lines = made.tell(run)
    lines.append(f"real-time priority of the SendLoop: {granted}; run {seen.index(best) + 1} of {len(seen)}:")
    lines.append(
        f"the host took {100 * best.stolen:.1f} %, other processes kept {best.others:.1f} of {os.cpu_count()} processors busy"
    )
    print("\n".join(lines))
    for name, svg in (("jump", draw_jump(made, run)), ("delay", draw_delay(made, run)), ("feedback", draw_feedback(made))):
        (options.out / f"timing-{name}.svg").write_text(svg, encoding="utf-8")
    put_into(options.out / "timing.md", lines)


if __name__ == "__main__":
    main()
