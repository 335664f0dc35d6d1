"""What holds for every test: where the recordings are, which skips are known, and that nothing is left running."""

import os
import signal
import threading
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("ONBEAT_DATA", ROOT.parent / "shared" / "data"))

# The same examples in every run, and nothing that depends on how busy the machine is.
settings.register_profile("onbeat", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("onbeat")


def known_skips(text: str) -> list[tuple[str, str]]:
    """Read the committed list: a nodeid pattern, two spaces, and how the reason begins."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line.split("  ", 1) for line in lines if line and not line.startswith("#")]
    return [(pattern.strip(), reason.strip()) for pattern, reason in pairs]


def is_known(nodeid: str, reason: str, known: list[tuple[str, str]]) -> bool:
    """Say whether the committed list names this skip."""
    return any(fnmatchcase(nodeid, pattern.replace("[", "[[]")) and reason.startswith(start) for pattern, start in known)


def threads_alive() -> set[str]:
    """Name the Python threads but the main one, and the native threads that onbeat names after itself."""
    names = {f"thread {t.name!r}" for t in threading.enumerate() if t is not threading.main_thread()}
    for task in Path("/proc/self/task").glob("*/comm"):
        try:
            name = task.read_text().strip()
        except OSError:  # it ended between the listing and the reading
            continue
        if name.startswith("onbeat"):
            names.add(f"native thread {name!r}")
    return names


def children_alive() -> set[str]:
    """Name the child processes, zombies included: a zombie was not waited for."""
    found = set()
    for children in Path("/proc/self/task").glob("*/children"):
        try:
            pids = children.read_text().split()
        except OSError:
            continue
        found |= {f"child process {pid}" for pid in pids}
    return found


class Watch:
    """Keeps the skips of the run, and after which test each thread or child process was first seen."""

    def __init__(self, known: list[tuple[str, str]]) -> None:
        self.known = known
        self.new_skips: list[str] = []
        self.first_seen: dict[str, str] = {}
        self.at_start = threads_alive() | children_alive()

    def note_skip(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not is_known(report.nodeid, reason, self.known):
            self.new_skips.append(f"{report.nodeid}: {reason}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.note_skip(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.note_skip(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        for name in (threads_alive() | children_alive()) - self.at_start:
            self.first_seen.setdefault(name, nodeid)

    def findings(self) -> list[str]:
        alive = (threads_alive() | children_alive()) - self.at_start
        left = [f"left running: {name}, first seen after {self.first_seen.get(name, 'the last test')}" for name in sorted(alive)]
        return [f"a new skip; if it must be, name it in tests/skips.txt: {skip}" for skip in self.new_skips] + left

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.findings() and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        findings = self.findings()
        if findings:
            terminalreporter.section("the run fails", red=True, bold=True)
            for finding in findings:
                terminalreporter.line(finding)


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts what it puts in the background with SIGINT ignored, and children inherit that: Ctrl-C would end none of them.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    known = known_skips((ROOT / "tests" / "skips.txt").read_text())
    config.pluginmanager.register(Watch(known), "onbeat-watch")


@pytest.fixture
def data_dir(request: pytest.FixtureRequest) -> Path:
    """The recordings beside the repository, or under ONBEAT_DATA; the test carries the marker real_data."""
    if request.node.get_closest_marker("real_data") is None:
        pytest.fail("a test that uses data_dir carries the marker real_data")
    if not DATA.is_dir():
        pytest.skip(f"the recordings are not beside the repository: {DATA} does not exist; set ONBEAT_DATA")
    return DATA
