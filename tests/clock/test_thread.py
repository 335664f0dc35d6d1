import os
import select
import subprocess
import sys
import threading

import pytest

from onbeat.clock.thread import BelledThread
from onbeat.errors import BadInput


def wait_for(bell: int) -> None:
    select.select([bell], [], [])


def test_it_is_ended_once_by_however_many_and_can_be_started_again() -> None:
    bells: list[int] = []

    def work(bell: int) -> None:
        bells.append(bell)
        wait_for(bell)

    thread = BelledThread("test")
    thread.stop()
    for _ in range(3):
        thread.start(work)
        assert thread.started
        callers = [threading.Thread(target=thread.stop) for _ in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert not thread.started
    assert len(bells) == 3
    for bell in bells:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(bell)


def test_it_may_end_itself() -> None:
    seen: list[int] = []
    done = threading.Event()
    thread = BelledThread("test")

    def work(bell: int) -> None:
        thread.stop()
        wait_for(bell)
        seen.append(bell)
        done.set()

    thread.start(work)
    assert done.wait(20)
    thread.stop()
    for left in [each for each in threading.enumerate() if each.name == "test"]:
        left.join()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(seen[0])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_forked_child_lets_go_of_it_and_does_not_ring_in_the_parent() -> None:
    rung = threading.Event()

    def work(bell: int) -> None:
        wait_for(bell)
        rung.set()

    thread = BelledThread("test")
    thread.start(work)
    if (child := os.fork()) == 0:
        thread.stop()
        thread.start(wait_for)
        thread.stop()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert not rung.is_set()
    thread.stop()
    assert rung.is_set()


NOTHING_LEFT = """
import os, resource
from onbeat.clock import ClockClient, ClockServer
from onbeat.errors import BadInput

most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
taken = []
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
for left in range(2):  # none for the socket; one, and none for the bell
    for each in (ClockServer(port=0), ClockClient(port=9)):
        try:
            each.start()
        except BadInput as error:
            print(error)
        each.stop()
    os.close(taken.pop())
for each in (ClockServer(port=0), ClockClient(port=9)):
    each.start()  # what failed left nothing open
    each.stop()
"""


def test_process_without_descriptors_gets_a_sentence_and_loses_none() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", NOTHING_LEFT], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "no socket (too many open files); close some files",
        "no socket (too many open files); close some files",
        "no descriptor for a thread's bell (too many open files); close some files",
        "no descriptor for a thread's bell (too many open files); close some files",
    ]
    assert done.stderr == ""


def test_machine_without_threads_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    thread = BelledThread("test")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(BadInput, match="can't start new thread"):
        thread.start(wait_for)
    assert not thread.started
    thread.stop()
