"""What `onbeat doctor` says against the calls themselves: as root, without privileges, and on one CPU; and how long it takes.

    python bench/bench_doctor.py [--json]

The other side is RESTATED: a program without onbeat that makes each call or reads each setting, in the same situation.
Of a check whose value is one, the values are compared; of one that judges, its verdict against what was granted.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.machine.situations import SITUATIONS

RESTATED = r"""
import ctypes, json, mmap, os, resource, socket, sys, threading, time
from pathlib import Path

def refused(call):
    try:
        call()
    except OSError as error:
        return error.errno
    return 0

def read(path):
    try:
        return Path(path).read_text().strip().strip("\0")
    except OSError:
        return ""

def fifo(priority, flags=0):
    return refused(lambda: os.sched_setscheduler(0, os.SCHED_FIFO | flags, os.sched_param(priority)))

libc = ctypes.CDLL(None, use_errno=True)
out = {}
allowed = sorted(os.sched_getaffinity(0))
out["allowed_cpus"] = allowed
out["inherited_priority"] = "good" if os.sched_getscheduler(0) == os.SCHED_OTHER else "warn"
out["rtprio_limit"] = None
rt, lock, rttime = (resource.getrlimit(k)[0] for k in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK, resource.RLIMIT_RTTIME))
status = dict(line.split(":\t", 1) for line in read("/proc/self/status").splitlines() if ":\t" in line)
capabilities = int(status["CapEff"], 16)
nice_right, lock_right = bool(capabilities >> 23 & 1), bool(capabilities >> 14 & 1)
out["rtprio_limit"] = "good" if nice_right or rt == -1 or rt >= 80 else "bad"
out["memlock_limit"] = "good" if lock_right or lock == -1 or lock >= 65536 * 65 else "bad"
out["rttime_limit"] = "good" if rttime == -1 else "warn"
out["locked_memory"] = "good" if int(status["VmLck"].split()[0]) <= 65536 else "warn"
out["seccomp"] = "off" if status["Seccomp"] == "0" else "filters calls"
slack = libc.prctl(29, 1, 0, 0, 0)
out["timer_slack"] = "good" if slack == 0 else "warn"
out["timer_resolution"] = f"{time.clock_getres(time.CLOCK_MONOTONIC) * 1e9:g} ns"
memory = mmap.mmap(-1, 65536 * 64 + 65536)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
out["memory_lock"] = "bad" if libc.mlock(address, ctypes.c_size_t(len(memory))) else "good"
out["cpu_dma_latency"] = "warn" if refused(lambda: os.close(os.open("/dev/cpu_dma_latency", os.O_WRONLY))) else "good"
out["nice_priority"] = "warn" if refused(lambda: os.setpriority(os.PRIO_PROCESS, 0, -20)) else "good"
granted = [p for p in (1, 50, 80, 98) if fifo(p) == 0]
out["sched_fifo"] = "good" if 80 in granted else "bad"
out["fifo_priority"] = max(granted, default=0)
out["realtime_session"] = "good" if 80 in granted else "bad"
out["reset_on_fork"] = "unknown" if not granted else "good" if fifo(80, os.SCHED_RESET_ON_FORK) == 0 else "warn"
out["capabilities"] = "good" if (nice_right and lock_right) or (80 in granted and out["memory_lock"] == "good") else "warn"
out["cpu_pinning"] = "bad" if any(refused(lambda c=c: os.sched_setaffinity(0, {c})) for c in allowed) else "good"

version = read("/proc/version")
realtime = read("/sys/kernel/realtime") == "1" or "PREEMPT_RT" in version
out["realtime_kernel"] = "good" if realtime else "warn"
options = dict((word + "=").split("=", 1) for word in read("/proc/cmdline").split())
out["threaded_interrupts"] = realtime or "threadirqs" in options
runtime, period = read("/proc/sys/kernel/sched_rt_runtime_us"), read("/proc/sys/kernel/sched_rt_period_us")
out["rt_throttling"] = "off" if runtime == "-1" else f"{runtime} of {period} us"
out["timer_migration"] = read("/proc/sys/kernel/timer_migration") == "1"
listed = lambda text: [c for part in text.split(",") if part and part[0].isdigit()
                       for c in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]
out["isolated_cpus"] = listed(read("/sys/devices/system/cpu/isolated"))
out["rcu_nocbs"] = listed(options.get("rcu_nocbs", "").rstrip("="))
mask = int(read("/proc/irq/default_smp_affinity").replace(",", "") or "0", 16)
out["interrupt_affinity"] = [c for c in range(mask.bit_length()) if mask >> c & 1]
governors = {read(f"/sys/devices/system/cpu/cpu{c}/cpufreq/scaling_governor") for c in allowed} - {""}
out["cpu_governor"] = ", ".join(sorted(governors)) or "no cpufreq"
where = allowed[-1]
siblings = listed(read(f"/sys/devices/system/cpu/cpu{where}/topology/thread_siblings_list"))
out["core_siblings"] = [c for c in siblings if c != where]
states = Path(f"/sys/devices/system/cpu/cpu{where}/cpuidle").glob("state*")
latencies = [int(read(s / "latency") or 0) for s in states if read(s / "disable") != "1"]
out["idle_states"] = f"up to {max(latencies)} us to wake" if latencies else "none"
out["virtual_machine"] = " hypervisor" in read("/proc/cpuinfo")
out["swap"] = ", ".join(line.split()[0] for line in read("/proc/swaps").splitlines()[1:]) or "none"
pages = read("/sys/kernel/mm/transparent_hugepage/enabled")
out["transparent_hugepages"] = pages[pages.index("[") + 1 : pages.index("]")] if "[" in pages else "not in this kernel"
out["clocksource"] = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
slept = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
out["suspend"] = "warn" if slept > 0.001 else "good"
buffer = ctypes.create_string_buffer(256)
libc.adjtimex(buffer)
out["clock_discipline"] = "warn" if int.from_bytes(buffer.raw[40:44], "little") & 0x40 else "good"
names = {read(path) for path in Path("/proc").glob("[0-9]*/comm")}
out["modem_manager"] = "runs" if "ModemManager" in names else "does not run"
serial = [p for name in ("USB", "ACM", "THS", "AMA") for p in Path("/dev").glob(f"tty{name}*")]
out["serial_access"] = "bad" if any(not os.access(p, os.R_OK | os.W_OK) for p in serial) else "good"
timers = [int(read(p)) for p in Path("/sys/bus/usb-serial/devices").glob("*/latency_timer")]
out["serial_latency"] = "bad" if any(t > 1 for t in timers) else "good"
up = [p.parent.name for p in Path("/sys/class/net").glob("*/wireless") if read(p.parent / "operstate") == "up"]
out["wireless"] = ", ".join(sorted(up)) or "off"
def quota(group):
    while True:
        words = read(group / "cpu.max").split()
        share = read(group / "cpu.cfs_quota_us")
        if (words and words[0].isdigit()) or (share and int(share) > 0):
            return "bad"
        if group == group.parent or group.name == "cgroup":
            return "good"
        group = group.parent
own = dict((line.split(":")[1], line.split(":")[2]) for line in read("/proc/self/cgroup").splitlines())
out["cpu_quota"] = quota(Path("/sys/fs/cgroup/cpu" + own["cpu"]) if "cpu" in own else Path("/sys/fs/cgroup" + own.get("", "/")))
out["board"] = read("/proc/device-tree/model") or read("/sys/class/dmi/id/product_name") or "not named"
taken, over = [], threading.Event()
def count():
    n = 0
    while not over.is_set():
        n += 1
counter = threading.Thread(target=count)
counter.start()
for _ in range(40):
    begin = time.perf_counter()
    time.sleep(1e-4)  # lets go of the lock, and comes back to wait for it
    taken.append(time.perf_counter() - begin)
over.set()
counter.join()
out["lock_waits"] = "warn" if max(taken) > 0.0015 else "good"
# The nearer the second look, the greater the difference: the greatest of nine had nothing in between.
raw = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC) - time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
def rate():
    begin, then = max(raw() for _ in range(9)), time.monotonic()
    time.sleep(0.5)
    return (max(raw() for _ in range(9)) - begin) / (time.monotonic() - then) * 1e-3
rates = [rate() for _ in range(3)]
out["rate_wander"] = "warn" if max(rates) - min(rates) > 5 else "good"
host, port = sys.argv[1].split(":")
there = socket.create_connection((host, int(port)))
out["device_link"] = "good" if there.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) else "warn"
wanted = "".join(f"{int(part):02X}" for part in reversed(host.split("."))) + f":{int(port):04X}"
rows = [line.split() for line in read("/proc/net/tcp").splitlines()[1:]]
clients = sum(row[2] == wanted and row[3] == "01" for row in rows)
out["device_clients"] = "bad" if clients > 1 else "good"
out["device_route"] = "good" if there.getsockname()[0] == host else "warn"  # to itself: no router, no radio
out["switch_interval"] = f"{sys.getswitchinterval() * 1e3:g} ms"
print(json.dumps(out))
"""

DOCTOR = "\nimport sys\nfrom onbeat.cli.main import main\nsys.exit(main(['doctor', '--json', *sys.argv[1:]]))\n"
MOST_S = 20.0
RIG = 'modules:\n  arm: {device: "socket_arm:Arm", params: {port: %d}}\n'
ARM = """
import socket
import numpy as np
from onbeat.device import DeviceInfo, DeviceState

class Arm:
    info = DeviceInfo("joints", 1, "rad", "behind a socket")
    def __init__(self, config, clock): self.port, self.clock, self.seq = config.params["port"], clock, 0
    def connect(self): self.there = socket.create_connection(("127.0.0.1", self.port))
    def read(self):
        self.seq += 1
        return DeviceState(np.zeros(1), self.clock.now_ns(), self.clock.now_ns(), self.seq)
    def write(self, command): ...
    def hold(self): ...
    def close(self): self.there.close()
"""


def said(program: str, *arguments: str, folder: str) -> Any:
    """Run a program and read the JSON that it prints."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, cwd=folder)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def differences(checks: list[dict[str, Any]], restated: dict[str, Any]) -> list[str]:
    """Name the checks whose value and verdict both differ from what was restated."""
    by_name = {check["name"]: check for check in checks}
    wrong = []
    for name, expected in restated.items():
        check = by_name[name]
        if expected not in (check["verdict"], check["value"]):
            wrong.append(f"{name}: {check['value']!r} ({check['verdict']}), the call says {expected!r}")
    return wrong


def main() -> None:
    bars: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        checks = said(DOCTOR, folder=folder)["checks"]
        took_s = time.monotonic() - begin
        bars.append({"what": "checks of onbeat doctor", "bar": ">= 30", "figure": str(len(checks)), "met": len(checks) >= 30})
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        Path(folder, "rig.yaml").write_text(RIG % port)
        Path(folder, "socket_arm.py").write_text(ARM)
        Path(folder).chmod(0o755)  # for nobody, who is asked about the rig
        # In every second situation another client is there.
        for number, (situation, lines) in enumerate(SITUATIONS.items()):
            others = [socket.create_connection(("127.0.0.1", port))] if number % 2 == 0 else []
            asked = ("--seconds", "1.5", "--device", "arm", "--rig", "rig.yaml")
            found = said(lines + DOCTOR, *asked, folder=folder)["checks"]
            restated = said(lines + RESTATED, f"127.0.0.1:{port}", folder=folder)
            for other in others:
                other.close()
            wrong = differences(found, restated)
            print(f"{situation}: {len(restated) - len(wrong)} of {len(restated)} agree", *wrong, sep="\n  ")
            bars.append(
                {
                    "what": f"checks that agree with the call itself, {situation}",
                    "bar": "all, of 30 or more",
                    "figure": f"{len(restated) - len(wrong)} of {len(restated)}",
                    "met": not wrong and len(restated) >= 30,
                }
            )
    bars.append(
        {"what": "onbeat doctor, wall time", "bar": f"< {MOST_S:g} s", "figure": f"{took_s:.1f} s", "met": took_s < MOST_S}
    )
    print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
