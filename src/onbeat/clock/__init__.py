"""What time is it, on which clock, how sure?"""

from onbeat.clock.client import ClockClient, ClockStatus
from onbeat.clock.clock import Clock, ManualClock
from onbeat.clock.estimate import ClockEstimator, ClockEvent
from onbeat.clock.exchange import Exchange
from onbeat.clock.fit import ClockFit, fit_clock
from onbeat.clock.map import ClockMap
from onbeat.clock.one_way import OneWayEstimator
from onbeat.clock.server import ClockServer
from onbeat.clock.servo import PiServo, hold_time_s, holdover_error_s
from onbeat.clock.state import SyncState
from onbeat.clock.synced import SyncedClock
from onbeat.clock.system import SystemClock
from onbeat.clock.ticks import Unwrapped, unwrap_ticks

__all__ = (
    "Clock",
    "ClockClient",
    "ClockEstimator",
    "ClockEvent",
    "ClockFit",
    "ClockMap",
    "ClockServer",
    "ClockStatus",
    "Exchange",
    "ManualClock",
    "OneWayEstimator",
    "PiServo",
    "SyncState",
    "SyncedClock",
    "SystemClock",
    "Unwrapped",
    "fit_clock",
    "hold_time_s",
    "holdover_error_s",
    "unwrap_ticks",
)
