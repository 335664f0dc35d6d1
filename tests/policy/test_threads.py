import threading

import pytest

from onbeat.clock import ManualClock, SystemClock
from onbeat.errors import BadInput, DeviceError, OnbeatError
from onbeat.policy import Drive


def test_manual_steps_run_in_the_order_of_their_instants() -> None:
    clock = ManualClock()
    seen: list[tuple[str, int]] = []

    def every(name: str, period_ns: int):  # type: ignore[no-untyped-def]
        def step(now_ns: int) -> int:
            seen.append((name, now_ns))
            return now_ns + period_ns

        return step

    drive = Drive(clock)
    drive.add("slow", every("slow", 30))
    drive.add("fast", every("fast", 10), first_ns=5)
    drive.run_until(31)
    assert seen == [("slow", 0), ("fast", 5), ("fast", 15), ("fast", 25), ("slow", 30)]
    assert clock.now_ns() == 31


def test_equal_instants_run_in_the_order_of_adding() -> None:
    seen: list[str] = []
    drive = Drive(ManualClock())
    for name in ("b", "a"):
        drive.add(name, lambda now_ns, name=name: seen.append(name) or now_ns + 10)  # type: ignore[misc,func-returns-value]
    drive.run_until(10)
    assert seen == ["b", "a", "b", "a"]


def test_step_may_remove_itself_and_add_another() -> None:
    drive = Drive(ManualClock())
    seen: list[str] = []

    def once(now_ns: int) -> int:
        seen.append("once")
        drive.remove("once")
        drive.add("next", lambda now_ns: seen.append("next") or now_ns + 100)  # type: ignore[func-returns-value]
        return now_ns

    drive.add("once", once)
    drive.run_until(50)
    assert seen == ["once", "next"]


def test_name_twice_is_refused_and_free_again_after_remove() -> None:
    drive = Drive(ManualClock())
    drive.add("a", lambda now_ns: now_ns + 1)
    with pytest.raises(BadInput, match="'a' runs already"):
        drive.add("a", lambda now_ns: now_ns + 1)
    drive.remove("a")
    drive.remove("a")
    drive.add("a", lambda now_ns: now_ns + 1)


def test_threads_run_steps_until_closed() -> None:
    called = threading.Event()

    def step(now_ns: int) -> int:
        called.set()
        return now_ns + 1_000_000

    with Drive(SystemClock()) as drive:
        drive.add("tick", step)
        assert called.wait(5)
        names = {thread.name for thread in threading.enumerate()}
        assert "onbeat-tick" in names
    assert "onbeat-tick" not in {thread.name for thread in threading.enumerate()}


def test_error_in_a_thread_is_raised_by_run_until_with_its_name() -> None:
    def step(now_ns: int) -> int:
        raise ValueError("the bus is gone")

    clock = SystemClock()
    with Drive(clock) as drive:
        drive.add("arm", step)
        with pytest.raises(OnbeatError, match="arm stopped: the bus is gone") as caught:
            drive.run_until(clock.now_ns() + 10**10)
    assert isinstance(caught.value.__cause__, ValueError)


def test_error_of_a_manual_step_comes_out_as_it_is() -> None:
    def step(now_ns: int) -> int:
        raise ValueError("no")

    drive = Drive(ManualClock())
    drive.add("arm", step)
    with pytest.raises(ValueError, match="no"):
        drive.run_until(1)


def test_call_that_does_not_end_is_left_behind_and_is_the_last() -> None:
    begun, release, calls = threading.Event(), threading.Event(), []

    def step(now_ns: int) -> int:
        calls.append(now_ns)
        begun.set()
        release.wait(30)
        return now_ns

    with Drive(SystemClock()) as drive:
        drive.add("stuck", step)
        assert begun.wait(5)
        thread = next(thread for thread in threading.enumerate() if thread.name == "onbeat-stuck")
        assert not drive.remove("stuck", 0.01)
        release.set()
        thread.join(5)
    assert len(calls) == 1
    assert not thread.is_alive()


def test_device_error_of_a_thread_comes_as_it_is() -> None:
    def step(now_ns: int) -> int:
        raise DeviceError("module 'arm' stopped: the bus is gone")

    clock = SystemClock()
    with Drive(clock) as drive:
        drive.add("arm", step)
        with pytest.raises(DeviceError, match=r"^module 'arm' stopped: the bus is gone$"):
            drive.run_until(clock.now_ns() + 10**10)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_thread_never_ends_in_silence(error: BaseException) -> None:
    def step(now_ns: int) -> int:
        raise error

    clock = SystemClock()
    with Drive(clock) as drive:
        drive.add("policy", step)
        with pytest.raises(OnbeatError, match=f"policy stopped: {type(error).__name__}"):
            drive.run_until(clock.now_ns() + 10**10)
