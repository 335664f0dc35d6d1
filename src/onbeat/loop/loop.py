"""SendLoop: start it, replace its plan, stop it. A native thread does the work, or a soft one for a Python-only device."""

import weakref
from fractions import Fraction
from math import inf, isfinite
from numbers import Rational
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat._core import Cycle, monotonic_ns
from onbeat.errors import BadInput, DeviceError
from onbeat.loop.cycle import LoopStatus, as_records
from onbeat.loop.feedback import Feeding
from onbeat.loop.lock import ProcessLock
from onbeat.loop.native import NativeLoop
from onbeat.loop.process import ProcessDevice
from onbeat.loop.process_loop import ProcessLoop
from onbeat.loop.realtime import check_request
from onbeat.loop.sinks import Sink
from onbeat.loop.thread import DeviceSink, SoftLoop
from onbeat.motion.lead import Feedback
from onbeat.motion.limits import Limits
from onbeat.motion.tick import Tick
from onbeat.motion.trajectory import Trajectory
from onbeat.units import to_ns, whole_ns

__all__ = ("SendLoop",)

_Columns = NDArray[np.float64]
# An instant further from now than these was read on another clock.
_AHEAD_NS = 100_000_000
_BEHIND_NS = 10_000_000_000
_TICK_AGE_NS = 600_000_000_000


class SendLoop:
    """Send a plan's targets to a sink at a fixed rate.

    Deadline k is start + floor(k * period), computed from the start and never accumulated. Each cycle evaluates the newest plan
    at its deadline plus the lead, limits it, hands it to the sink and leaves a record. After a stall it sends once at once,
    evaluated at the instant of sending, counts the deadlines that were missed and goes on with the grid; a deadline less than
    3/4 of a period after that send counts as missed too. So no two sends are closer than 3/4 of a period, and a stall is never
    followed by a burst.

    Args:
        sink: A MemorySink, UdpSink, TcpSink or SerialSink (native thread), a DeviceSink (soft, a thread), or a ProcessDevice
            (soft, a process of its own).
        rate_hz: Sends per second, up to 1e5; an int or a Fraction is exact, a float is taken at its exact binary value.
        plan: What to send. Outside its knots the nearest end is held, and flagged HELD.
        limits: `max_speed` (of a pose with `max_angular_speed`) bounds the step from the last target that was sent to what fits
            into the time since then, at most one period; `lower` and `upper` bound the target (of a pose, its position). A target
            that they move is flagged LIMITED. With `max_acceleration`, and `max_jerk` beside it, joints catch up and brake within
            those too, from the last targets that were sent; of a pose they are refused. None: no limits.
        lead_s: How much later than its deadline a cycle looks into the plan; for plans whose own lead is 0.
        on_late: After waking more than half a period late: "skip" goes on with the plan, "hold" repeats the last target that was
            sent until replace(), "stop" ends the loop without sending.
        priority: SCHED_FIFO priority to ask for, 1..98. A refusal is no error: see status().
        cpu: Id of the CPU to stay on; None leaves it to the scheduler.
        spin_us: How long before the deadline to stop sleeping and spin instead; at most half a period.
        record_capacity: Records that wait for records(), 64 bytes each.
        extrapolate_s: What a plan's end means. None: a place to stay, which is held. A number: the stream was cut there; the loop
            goes on for so long at the speed of the last targets that were sent, then comes to rest within `max_acceleration`,
            which it needs (EXTRAPOLATED), and stays there (HELD).
        stale_s: A plan that was not replaced for so long, or a stream whose newest target is older, is given up: the loop comes
            to rest likewise until the next replace or aim (STALE_PLAN). Without `max_acceleration` it repeats the last target.
            None: a plan is good for ever, and the last target of a stream is a place to stay.
        phase_s: Put the deadlines at whole periods of the monotonic clock plus this, so that several loops of one rate keep their
            distances; less than a period. None: the grid begins where the loop starts.
        feedback: What samples of the device (`feed`) add to the targets of a plan. None: nothing.
        k_ff: The share of the lead by which the targets of a stream (`aim`) are carried on; 1 for all.

    Raises:
        BadInput: an argument out of range, widths that differ, or a lead in both the plan and the loop.
    """

    def __init__(
        self,
        sink: Sink | DeviceSink | ProcessDevice,
        rate_hz: int | float | Fraction,
        plan: Trajectory,
        limits: Limits | None = None,
        lead_s: float = 0.0,
        on_late: Literal["skip", "hold", "stop"] = "skip",
        priority: int = 80,
        cpu: int | None = None,
        spin_us: float = 0,
        record_capacity: int = 65536,
        extrapolate_s: float | None = None,
        stale_s: float | None = None,
        phase_s: float | None = None,
        feedback: Feedback | None = None,
        k_ff: float = 1.0,
    ) -> None:
        check_request(priority, cpu)
        period = _period(rate_hz)
        speed, lower, upper, acceleration, jerk = _bounds(limits or Limits(), plan.width)
        angular = inf if limits is None or limits.max_angular_speed is None else limits.max_angular_speed
        durations = [None if given is None else to_ns(given) for given in (extrapolate_s, stale_s, phase_s)]
        settings: tuple[Any, ...] = (
            *(*period, plan, speed, lower, upper, angular, to_ns(lead_s), on_late, record_capacity),
            *(acceleration, jerk, *durations, feedback is not None and feedback.on, k_ff),
        )
        self._cycle: Cycle | ProcessLoop
        self._runner: NativeLoop | SoftLoop | ProcessLoop
        if isinstance(sink, DeviceSink | ProcessDevice) and sink.width != plan.width:
            raise BadInput(f"the plan has width {plan.width} and the device has width {sink.width}")
        if isinstance(sink, ProcessDevice):
            self._runner = self._cycle = ProcessLoop(settings, sink, priority, cpu)
        else:
            cycle = self._cycle = Cycle(*settings)
            if isinstance(sink, DeviceSink):
                self._runner = SoftLoop(cycle, sink.device)
            else:
                self._runner = NativeLoop(cycle, sink, priority, cpu, spin_us, record_capacity)
        self._feeding = Feeding(self._cycle, feedback or Feedback())
        self._rate_hz = rate_hz
        self._order = ProcessLock()
        # Stops the thread when this object goes, at the latest before the interpreter does.
        weakref.finalize(self, self._runner.stop)

    def __repr__(self) -> str:
        state = "running" if self._runner.running else "stopped"
        return f"SendLoop({float(self._rate_hz):g} Hz, width {self._cycle.width}, {'soft, ' if self._runner.soft else ''}{state})"

    def start(self) -> None:
        """Start the thread; the first deadline lies 1 ms after its set-up.

        Raises:
            BadInput: it runs already, or the sink belongs to another loop.
        """
        self._runner.start()

    def place(self, at: ArrayLike) -> None:
        """Say where the device stands, before the loop starts: the first target is then limited against it, as all others are.

        Without it the first target has nothing before it, and goes out as the plan has it.

        Args:
            at: Shape (width,).

        Raises:
            BadInput: another width, a number that is not finite, or the loop runs.
        """
        self._runner.place(_numbers(at, "where the device stands"))

    def stop(self) -> None:
        """End after the cycle in progress, within 50 ms, and join the thread. May be called again, and from any thread."""
        self._runner.stop()

    def replace(self, plan: Trajectory) -> int:
        """Follow another plan from the next cycle on.

        A plan that has ended or begins later is held at its nearest end and flagged (HELD; STALE_PLAN when it ended before its
        first cycle). May be called from any thread.

        Returns:
            The plan's id in the records: 1 for the first replace, then one more each time.

        Raises:
            BadInput: another width, or a lead in both the plan and the loop.
        """
        return self._cycle.replace(plan)

    def aim(self, target: ArrayLike, velocity: ArrayLike | None = None, t_ns: int | None = None) -> int:
        """Follow a stream of targets whose future is unknown, as a hand sends it: this is its newest one.

        From the next cycle on the loop goes to q + qdot * age + k_ff * qdot * lead, shaped within the limits (see
        `onbeat.motion.OnlineShaper`), from where it is and as it moves; `replace` takes over from it likewise. Before anything
        was sent it begins at rest where the plan is. Targets that come faster than the loop's rate replace each other. May be
        called from any thread; it never waits for the loop, nor the loop for it (a ProcessDevice's is told by a message).

        Args:
            target: q, where to be at `t_ns`. Shape (width,), joints.
            velocity: qdot, how fast the target moves then, units a second. Shape (width,). None: estimated from the targets,
                which lags more; until the third target, and after a pause, a target is then a place.
            t_ns: When the target was true, on the monotonic clock (by hand: on that of the cycles). None: now.

        Returns:
            The stream's id in the records, counted with those of the plans; the same for every target until a `replace`.

        Raises:
            BadInput: limits that lack max_speed, max_acceleration or max_jerk; a loop of poses; another width; not finite; older
                than the newest target, or another one with its stamp; stamped on another clock; no t_ns where the loop does not
                run.
        """
        goal = _numbers(target, "a target")
        rate = None if velocity is None else _numbers(velocity, "a target's velocity")
        with self._order:  # two threads that say "now" are told in the order of their stamps
            return self._cycle.aim(self._instant(t_ns, "target"), goal, rate)

    def _instant(self, t_ns: int | None, what: str) -> int:
        """Give when something was true. The clock of a loop that runs is the monotonic one: one far from now is not on it."""
        if not self._runner.running:
            if self._runner.error:
                raise BadInput(f"the loop has stopped, and the {what} would go nowhere: {self._runner.error}")
            if t_ns is None:
                raise BadInput(f"the loop does not run, so its clock is not known; start it, or give the {what}'s t_ns")
            return t_ns
        now_ns = monotonic_ns()
        if t_ns is None:
            return now_ns
        if not -_BEHIND_NS <= t_ns - now_ns <= _AHEAD_NS:
            side = "ahead of" if t_ns > now_ns else "behind"
            raise BadInput(
                f"the {what} is stamped {abs(t_ns - now_ns) / 1e9:.1f} s {side} now on this machine's monotonic clock; "
                "map it to that clock first"
            )
        return t_ns

    def feed(self, t_sample_ns: int, measured: ArrayLike) -> bool:
        """Take one sample of where the device was: with `feedback`, k_p e + k_i (integral of e) is added to the plan's targets.

        e is q_ref(t_sample) - q(t_sample), with q_ref of the plan whose command took effect at the sample's own instant, and
        without any lead: so a late sample does not show the delay as an error, and a lead is counted once. The correction is
        added before the limits. When no sample has come for `max_age_s` it fades, and is gone after twice that. May be called
        from any thread.

        Args:
            t_sample_ns: When the sample was true, on the monotonic clock (by hand: on that of the cycles).
            measured: Shape (width,).

        Returns:
            Whether it was used: not where no plan was in force at that instant, or a stream was.

        Raises:
            BadInput: the loop has no feedback; another width; not finite; older than the newest sample; stamped on another clock.
        """
        values = _numbers(measured, "a sample")
        with self._order:  # the integral is one
            return self._feeding.feed(self._instant(t_sample_ns, "sample"), values)

    def centre(self, tick: Tick | None, margin_s: float | None = None, travel_s: float = 0.0) -> None:
        """Send so that each command is there a margin before the device's tick: the grid moves to that phase, and stays with it.

        It moves by at most 1/500 of a period each cycle, at most half of the shorter of both periods, and follows a device
        whose clock differs by up to 0.1 %. No two sends come closer than 3/4 of a period for it, and no deadline is lost.
        `deadline_ns` in the records is the moved one. The period of a tick is known as well as its reports allow, so give a
        newer one each time that as many reports have come again as it was found in.

        Args:
            tick: From `onbeat.motion.tick.find_tick`, on the monotonic clock (by hand: on that of the cycles). None: the grid
                stays where it is.
            margin_s: How long before the tick; None: half of the beat, in the middle between two.
            travel_s: From sending to being there.

        Raises:
            BadInput: the loop's period and the tick's have no beat in common; a margin outside of the tick's period, or smaller
                than what is known of the tick; a travel that is negative; a loop with `phase_s`; a tick of another clock, or
                more than ten minutes old.
        """
        if tick is None:
            self._cycle.centre(0, 0.0)
            return
        beat_ns = tick.beat_ns(float(1_000_000_000 / Fraction(self._rate_hz)))
        travel_ns = to_ns(travel_s)
        if travel_ns < 0:
            raise BadInput(f"travel_s must be >= 0, not {travel_s}")
        if self._runner.running and abs(tick.t_ns - monotonic_ns()) > _TICK_AGE_NS:
            raise BadInput(
                f"the tick is {(monotonic_ns() - tick.t_ns) / 1e9:.0f} s old on this machine's monotonic clock; find it again, "
                "in stamps of that clock"
            )
        margin_ns = round(beat_ns / 2) if margin_s is None else to_ns(margin_s)
        self._cycle.centre(tick.send_at(tick.t_ns, margin_ns, travel_ns), beat_ns)

    def set_lead(self, lead_s: float) -> None:
        """Look `lead_s` further than the deadline into the plan, from the next cycle on.

        Time does not run backwards: after a lead that shrank by more than a period the path stands until time has caught up.

        Raises:
            BadInput: a lead that is negative or not finite, or that the plan has one of its own.
        """
        self._cycle.set_lead(whole_ns(to_ns(lead_s), "lead_s"))

    def cycle(self, deadline_ns: int, wake_ns: int) -> int:
        """Do one cycle by hand, on any clock, while the loop is not started: sent and done are stamped wake_ns.

        The first deadline begins the grid. A later one that does not lie on it begins a new one.

        Returns:
            The next deadline.

        Raises:
            BadInput: the loop is started, or wake_ns < deadline_ns.
            DeviceError: an earlier cycle stopped the loop.
        """
        if self._runner.error:
            raise DeviceError(f"the loop has stopped: {self._runner.error}")
        return self._runner.cycle(deadline_ns, wake_ns)

    def records(self) -> NDArray[Any]:
        """Take out the records that wait, oldest first: a structured array of RECORD_DTYPE, 64 bytes each."""
        return as_records(self._cycle.records())

    def status(self) -> LoopStatus:
        """Say how it goes."""
        runner = self._runner
        running = runner.running
        cycles, missed, late, limited, would_block, dropped = self._cycle.counts()
        return LoopStatus(
            running,
            runner.soft,
            runner.realtime,
            runner.refused,
            runner.locked_bytes,
            cycles,
            missed,
            late,
            limited,
            would_block,
            dropped,
            runner.error,
            self._feeding.sentence,
        )


def _numbers(values: ArrayLike, what: str) -> _Columns:
    try:
        columns = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{what} must be numbers, not {values!r}") from None
    if columns.ndim != 1:
        raise BadInput(f"{what} must be one row, of shape (width,), not of shape {columns.shape}")
    return columns


def _period(rate_hz: int | float | Fraction) -> tuple[int, int, int]:
    """Split the period into whole nanoseconds and an exact fraction of one."""
    if not isfinite(rate_hz) or not 0 < rate_hz <= 100_000:
        raise BadInput(f"rate_hz must lie in (0, 1e5], not {rate_hz}")
    # numpy's float32 is a number to everybody but Fraction.
    period_ns = 1_000_000_000 / (Fraction(rate_hz) if isinstance(rate_hz, Rational) else Fraction(float(rate_hz)))
    whole, part = divmod(int(period_ns.numerator), int(period_ns.denominator))
    if whole >= 1 << 62 or period_ns.denominator >= 1 << 62:
        raise BadInput(f"rate_hz {rate_hz} has too many digits or is too slow for a grid of 64-bit nanoseconds")
    return whole, part, period_ns.denominator


def _bounds(limits: Limits, width: int) -> tuple[_Columns | None, ...]:
    """Give what the loop enforces, a number for each column."""
    names = ("max_speed", "lower", "upper", "max_acceleration", "max_jerk")
    return tuple(_columns(getattr(limits, name), width, name) for name in names)


def _columns(bound: ArrayLike | None, width: int, name: str) -> _Columns | None:
    if bound is None:
        return None
    values = np.asarray(bound, dtype=np.float64)
    if values.shape not in ((), (1,), (width,)):
        raise BadInput(f"{name} has the shape {values.shape}; give one number, or one for each of {width} columns")
    return np.array(np.broadcast_to(values, (width,)))
