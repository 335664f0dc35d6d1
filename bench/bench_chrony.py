"""Beside a real chronyd: server, router and client in network namespaces of one machine, where the true offset is nought.

Both follow their own server through the same cables at 16 Hz, and both are read at the same instants. First idle, then with a
flood through the router's narrow way to the server: a queue on one leg, which no stamp of either end can see. Needs root,
chronyd, ip and tc; the clock is never touched (chronyd -x).
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ONBEAT = [sys.executable, "-c", "import sys; from onbeat.cli.main import main; sys.exit(main())"]
RUNS, RATE_HZ, LOOK_S = 3, 16, 0.1
WARM_S, IDLE_S, CONGESTED_S = 12.0, 20.0, 40.0
NARROW = ("tbf", "rate", "8mbit", "burst", "3kb", "latency", "12ms")
SERVER, PORT, SINK = "10.77.1.1", 5558, 5999
# 1200 bytes each, 12 Mbit/s into 8: the queue stands at its limit of 12 ms while it is on, and empties while it is off.
FLOOD = f"""
import random, socket, time
draw, sock = random.Random(1), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    end, due = time.monotonic() + draw.uniform(5.0, 10.0), time.monotonic()
    while time.monotonic() < end:
        for _ in range(5):
            sock.sendto(bytes(1200), ("{SERVER}", {SINK}))
        due += 0.004
        time.sleep(max(due - time.monotonic(), 0))
    time.sleep(draw.uniform(1.0, 3.0))
"""
HOLE = f"""
import socket, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("{SERVER}", {SINK}))
time.sleep(3600)
"""


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Rig:
    """Server - router - client; everything that it started ends with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server, self.router, self.client = (f"onbeat-{os.getpid()}-{role}" for role in ("server", "router", "client"))
        self._stack = ExitStack()

    def __enter__(self) -> "Rig":
        try:
            self._cable()
            self._keepers()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def inside(self, where: str, *command: str, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["ip", "netns", "exec", where, *command], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, **options
        )
        self._stack.callback(self._end, process)
        return process

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _cable(self) -> None:
        for name in (self.server, self.router, self.client):
            run("ip", "netns", "add", name)
            self._stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
            run("ip", "-n", name, "link", "set", "lo", "up")
        for end, subnet, device in ((self.server, 1, "s"), (self.client, 2, "c")):
            run("ip", "-n", end, "link", "add", "up0", "type", "veth", "peer", "name", device, "netns", self.router)
            run("ip", "-n", end, "address", "add", f"10.77.{subnet}.1/24", "dev", "up0")
            run("ip", "-n", self.router, "address", "add", f"10.77.{subnet}.254/24", "dev", device)
            for where, name in ((end, "up0"), (self.router, device)):
                run("ip", "-n", where, "link", "set", name, "up")
            run("ip", "-n", end, "route", "add", "default", "via", f"10.77.{subnet}.254")
        run("ip", "netns", "exec", self.router, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")

    def _keepers(self) -> None:
        for role, where, lines in (
            ("server", self.server, "local stratum 1\nallow\n"),
            ("client", self.client, f"server {SERVER} minpoll -4 maxpoll -4 xleave iburst\nport 0\n"),
        ):
            text = f"{lines}cmdport 0\nbindcmdaddress {self.folder}/{role}.sock\npidfile {self.folder}/{role}.pid\n"
            (self.folder / f"{role}.conf").write_text(text)
            self.inside(where, "chronyd", "-x", "-n", "-u", "root", "-f", f"{self.folder}/{role}.conf", stdout=subprocess.DEVNULL)
        self.inside(self.server, *ONBEAT, "clock", "serve", "--host", SERVER, "--port", str(PORT), stdout=subprocess.DEVNULL)
        self.watch = self.inside(
            self.client, *ONBEAT, "clock", "watch", f"{SERVER}:{PORT}", "--rate", str(RATE_HZ), "--json", stdout=subprocess.PIPE
        )
        self.newest: dict[str, Any] = {}
        reader = threading.Thread(target=self._follow, daemon=True)
        reader.start()
        self._stack.callback(reader.join)
        self._stack.callback(self._end, self.watch)

    def _follow(self) -> None:
        with suppress(ValueError):  # a last line that was cut, or a pipe that was closed
            for line in self.watch.stdout or ():
                self.newest = json.loads(line)

    def chrony(self) -> tuple[float, float]:
        """Give chronyd's own offset and its bound, us."""
        fields = run("chronyc", "-h", f"{self.folder}/client.sock", "-c", "tracking").split(",")
        return float(fields[4]) * 1e6, (float(fields[10]) / 2 + float(fields[11])) * 1e6

    def narrow(self) -> None:
        """Congest the way from the client to the server, inside the router."""
        run("tc", "-n", self.router, "qdisc", "add", "dev", "s", "root", *NARROW)
        self.inside(self.server, sys.executable, "-c", HOLE, stdout=subprocess.DEVNULL)
        self.inside(self.client, sys.executable, "-c", FLOOD, stdout=subprocess.DEVNULL)

    def look(self, seconds: float) -> tuple[np.ndarray, int]:
        """Read both ten times a second: columns ours, our bound, chronyd's, its bound, us; and the exchanges in that time."""
        rows, due, before = [], time.monotonic(), self.newest.get("exchanges", 0)
        end = due + seconds
        while due < end:
            due += LOOK_S
            time.sleep(max(due - time.monotonic(), 0))
            theirs = self.chrony()
            ours = self.newest
            rows.append((ours["offset_ns"] / 1e3, ours["bound_ns"] / 1e3, *theirs))
        return np.array(rows), self.newest["exchanges"] - before


def once() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, Rig(Path(folder)) as rig:
        time.sleep(WARM_S)
        idle, idle_exchanges = rig.look(IDLE_S)
        rig.narrow()
        congested, exchanges = rig.look(CONGESTED_S)
        stamps = rig.newest["stamps"]
    found: dict[str, Any] = {"stamps": stamps, "outside": 0}
    for name, rows, count in (("idle", idle, idle_exchanges), ("congested", congested, exchanges)):
        ours, theirs = (float(np.percentile(np.abs(rows[:, k]), 99)) for k in (0, 2))
        medians = [float(np.median(np.abs(rows[:, k]))) for k in (0, 2)]
        found[name] = (ours, theirs)
        found["outside"] += int((np.abs(rows[:, 0]) > rows[:, 1]).sum())
        bounds = np.median(rows[:, [1, 3]], axis=0)
        print(
            f"{name}: {len(rows)} looks, {count} exchanges, {stamps}; onbeat p50 {medians[0]:.2f} p99 {ours:.2f} us, bound "
            f"{bounds[0]:.0f}; chronyd p50 {medians[1]:.2f} p99 {theirs:.2f} us, bound {bounds[1]:.0f} us",
            file=sys.stderr,
        )
    return found


def cannot() -> str | None:
    """Say why this cannot be measured here."""
    missing = [program for program in ("chronyd", "chronyc", "ip", "tc") if shutil.which(program) is None]
    if missing:
        return f"not run: {', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "not run: network namespaces need root"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
            name = f"onbeat-{os.getpid()}-try"
            run("ip", "netns", "add", name)
            try:
                run("tc", "-n", name, "qdisc", "add", "dev", "lo", "root", *NARROW)
            finally:
                run("ip", "netns", "del", name)
    except OSError as error:
        return f"not run: {error}"
    return None


def bars(runs: int) -> list[dict[str, Any]]:
    asked = {
        "idle": ("p99 beside a real chronyd between idle namespaces", "no worse", 1.0),
        "congested": ("p99 beside a real chronyd through a congested router", "1/2", 2.0),
    }
    if (why := cannot()) is not None:
        return [{"what": what, "bar": wanted, "figure": why, "met": None} for what, wanted, _ in asked.values()]
    found = [once() for _ in range(runs)]
    rows = []
    for name, (what, wanted, times) in asked.items():
        pairs = sorted((run[name] for run in found), key=lambda pair: pair[1] / pair[0])
        ours, theirs = pairs[len(pairs) // 2]
        spread = ", ".join(f"{theirs / ours:.1f}" for ours, theirs in pairs)
        figure = (
            f"1/{theirs / ours:.1f} ({ours:.2f} against {theirs:.2f} us; {len(pairs)} runs: 1/{spread.replace(', ', ', 1/')})"
        )
        rows.append({"what": what, "bar": wanted, "figure": figure, "met": theirs / ours >= times})
    outside = sum(run["outside"] for run in found)
    rows.append(
        {
            "what": "hard bound beside chronyd, idle and congested",
            "bar": "no miss",
            "figure": f"{outside} missed",
            "met": not outside,
        }
    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    arguments = parser.parse_args()
    found = bars(arguments.runs)
    for row in found:
        mark = {True: "met", False: "MISSED", None: "-"}[row["met"]]
        print(f"{mark:7}{row['what']}: {row['figure']} (bar {row['bar']})", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"bars": found}))


if __name__ == "__main__":
    main()
