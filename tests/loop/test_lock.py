import os
import signal
import threading

import pytest

from onbeat.loop.lock import ProcessLock


def test_it_keeps_other_threads_out_and_its_own_in() -> None:
    lock, order = ProcessLock(), []

    def other() -> None:
        with lock:
            order.append("other")

    with lock, lock:
        thread = threading.Thread(target=other)
        thread.start()
        order.append("ours")
    thread.join()
    assert order == ["ours", "other"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_child_finds_open_what_a_thread_of_its_parent_holds() -> None:
    lock, held, go = ProcessLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            go.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(20)
    if (child := os.fork()) == 0:
        signal.alarm(20)
        with lock, lock:
            os._exit(7)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    go.set()
    thread.join()
    assert code == 7
