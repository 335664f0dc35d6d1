"""One clock across machines: a server, a client that follows it, a bound that is asked for, and a server that is restarted.

Run it with: python examples/08_synced_clock.py
Here both are one process, so the true offset is nought. On two machines: `onbeat clock serve --host 0.0.0.0` on the first, and
`ClockClient("its-name")` on the second.
"""

from onbeat.clock import ClockClient, ClockServer, SyncedClock, SyncState, SystemClock
from onbeat.errors import EpochChanged, NotSynced

local = SystemClock()


def wait_for_epoch(clock: SyncedClock, epoch: int) -> None:
    """Wait until the clock reads the time line with that number."""
    while clock.epoch < epoch:
        local.sleep_until_ns(local.now_ns() + 10_000_000)


server = ClockServer(port=0)  # a free port
server.start()
with ClockClient("127.0.0.1", server.port, rate_hz=50) as client:
    clock = client.clock  # a Clock: everything in onbeat runs on it
    try:
        clock.now_ns()
    except NotSynced as error:
        print(f"at first: {error}")

    wait_for_epoch(clock, 0)
    while client.status().state is not SyncState.LOCKED:
        local.sleep_until_ns(local.now_ns() + 10_000_000)
    status = client.status()
    print(f"{status.state.value}: offset {status.offset_ns} ns, true to +-{status.bound_ns} ns, stamps by {status.stamps}")
    stamp_ns, epoch = clock.require(0.020), clock.epoch  # at most 20 ms off, or NotSynced
    try:
        clock.require(1e-9)
    except NotSynced as error:
        print(f"too much asked: {error}")

    server.stop()  # the reference is restarted: what was stamped before is on another time line
    server = ClockServer(port=server.port)
    server.start()
    wait_for_epoch(clock, epoch + 1)
    try:
        clock.require(0.020, epoch=epoch)
    except EpochChanged as error:
        print(f"the stamp {stamp_ns} is void: {error}")
    print("what happened:", ", ".join(event.kind for event in client.events()))
server.stop()
