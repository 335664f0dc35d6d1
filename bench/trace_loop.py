"""What the send loop asks of the kernel, under strace: ten seconds of 500 Hz into a UDP socket. It sleeps and sends, no more."""

import argparse
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

RATE_HZ = 500
SECONDS = 10.0
ALLOWED = {"clock_nanosleep", "sendto", "write"}
CALL = re.compile(r"^(\d+) +([a-z0-9_]+)\(")
NAMED = re.compile(r'^(\d+) +prctl\(PR_SET_NAME, "onbeat-loop"')


def run_loop() -> None:
    """Be the traced process: run the loop while its plan is replaced, and say how it went."""
    from onbeat.loop import SendLoop, UdpSink
    from onbeat.motion import Trajectory

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        loop = SendLoop(UdpSink("127.0.0.1", receiver.getsockname()[1], 6), RATE_HZ, Trajectory([0], [[0.0] * 6]))
        loop.start()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            loop.replace(Trajectory([time.monotonic_ns()], [[0.5] * 6]))
            time.sleep(0.05)
        loop.stop()
    print(json.dumps({"cycles": loop.status().cycles, "error": loop.status().error}))


def calls_of_the_loop(trace: str) -> Counter[str]:
    """Count the loop thread's system calls from its first sleep to its last."""
    lines = trace.splitlines()
    thread = next((match[1] for line in lines if (match := NAMED.match(line))), None)
    calls = [match[2] for line in lines if (match := CALL.match(line)) and match[1] == thread]
    sleeps = [i for i, call in enumerate(calls) if call == "clock_nanosleep"]
    return Counter(calls[sleeps[0] : sleeps[-1] + 1]) if sleeps else Counter()


def trace() -> tuple[Counter[str], int, str]:
    """Give the counts, the cycles that the loop itself counted, and why there are none."""
    if shutil.which("strace") is None:
        return Counter(), 0, "not measured: there is no strace on this machine"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "trace"
        command = ["strace", "-f", "-qq", "-o", str(out), sys.executable, __file__, "--run"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not out.exists():
            said = (done.stderr.strip().splitlines() or ["no reason"])[-1]
            return Counter(), 0, f"not measured: strace did not run: {said}"
        return calls_of_the_loop(out.read_text()), json.loads(done.stdout)["cycles"], ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_loop()
        return
    calls, cycles, reason = trace()
    figure = reason or ", ".join(f"{n} {call}" for call, n in calls.most_common()) + f" in {cycles} cycles"
    met = None if reason else bool(calls) and set(calls) <= ALLOWED and calls["sendto"] >= 0.99 * cycles
    bar = {
        "what": f"system calls of the loop's thread, {SECONDS:g} s at {RATE_HZ} Hz under strace",
        "bar": "only clock_nanosleep and sendto or write",
        "figure": figure,
        "met": met,
    }
    print(json.dumps({"bars": [bar]}) if options.json else f"{bar['what']}: {figure} (bar: {bar['bar']})")


if __name__ == "__main__":
    main()
