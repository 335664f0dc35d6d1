"""What to say of a fault of a clock: the sentence with its numbers, the measurement that confirms it, and the fix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onbeat.evidence.epochs import clock_kind
from onbeat.health.check import Figure

__all__ = ("Words", "words")

_TIMES = frozenset({"gap", "unsorted_stamps", "repeated_stamps", "dropped_samples", "jitter", "rate_not_held"})
_LATER = frozenset({"future_stamps", "offset", "stamped_at_delivery", "action_before_observation"})


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a verdict, and the faults that are only its consequences."""

    sentence: str
    confirm: str
    fix: str
    explains: frozenset[str]


def words(
    fault: str,
    figures: Mapping[str, Figure],
    streams: Sequence[str],
    among: int,
    side: str,
    log_ns: int,
    base_ns: int,
) -> Words:
    """Say what a fault is.

    Args:
        fault: Its name.
        figures: Its numbers.
        streams: The streams that have it.
        among: How many have both times.
        side: Which time moved: "stamp", "log" or "".
        log_ns: The first log time.
        base_ns: The median offset.
    """
    value = {name: figure.value for name, figure in figures.items()}
    say = _step_alone if (fault, side) == ("step", "alone") else _SAY[fault]
    return say(value, _whose(streams, among, side), log_ns, base_ns)


def _whose(streams: Sequence[str], among: int, side: str) -> str:
    some = streams[0] if len(streams) == 1 else f"{len(streams)} of {among} streams ({streams[0]} most)"
    if side == "alone":
        return f"the stamps of {some} leave their even grid and stay off it, which lost samples do not do"
    if side == "stamp":
        return f"the stamps of {some} moved and the log times did not: the source's clock"
    if len(streams) == among and among > 1:
        return f"all {among} streams show it alike: the recorder's clock, or the one clock that stamps them all"
    if among > 1:
        only = f"only {some} of {among} streams shows" if len(streams) == 1 else f"{some} show"
        return f"{only} it: the source's clock, not the recorder's"
    if side == "log":
        return f"the log times of {some} moved and the stamps did not: the recorder's clock, or a delay that changed for good"
    return f"{some} is the only stream with both times, so it may be either clock"


def _skew(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    ppm = v["skew"]
    return Words(
        f"the stamps' clock runs {'fast' if ppm > 0 else 'slow'} by {abs(ppm):.3g} ppm against the log's: the offset is a "
        f"straight line, "
        f"{_ms(v['error'])} over this file; at that rate a 3 ms budget lasts {v['hold']:.3g} s; {whose}",
        "compare the two clocks twice, minutes apart: a rate error is proportional to the time between, a delay is not",
        "discipline the clock (chrony, or ptp4l with phc2sys), or map stamps by offset and rate measured all the time, never "
        "by an "
        "offset measured once at start",
        _LATER | {"drift"},
    )


def _step(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    size = v["step"]
    return Words(
        f"the offset of log time against stamp jumps by {_signed(size)} at {v['instant']:.4g} s and stays: a clock was set; "
        f"{whose}",
        "look for a step in the daemon's log at that time (chronyc tracking, journalctl -u chrony, ptp4l's and phc2sys's "
        "output); a delay "
        "that changed would have moved log times only, and of this stream only",
        "step at boot only (chrony: makestep 1.0 3; linuxptp: first_step_threshold, step_threshold 0) and start the sensors "
        "after it; "
        "cut this recording at the step",
        _TIMES | _LATER | {"skew", "drift", "slew"},
    )


def _step_alone(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    said = _step(v, whose, log_ns, base_ns)
    jump = f"stamps jump by {_signed(-v['step'])} at {v['instant']:.4g} s beside their period, and stay"
    return replace(said, sentence=f"{jump}: a clock was set; {whose}")


def _slew(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    return Words(
        f"a clock was slewed: from {v['start']:.4g} s to {v['end']:.4g} s the stamps' clock runs "
        f"{'fast' if v['rate'] > 0 else 'slow'} by "
        f"{abs(v['rate']):.4g} ppm against the log's, which moves the offset by {_signed(v['size'])}; {whose}",
        "compare CLOCK_MONOTONIC_RAW with CLOCK_MONOTONIC on that machine while it happens, or read chronyc tracking: a slew "
        "shows as a "
        "frequency that is far from the usual one",
        "let the clock settle before you record (chronyc waitsync), limit chrony's maxslewrate, and keep ntpd's or adjtime's "
        "corrections "
        "out of a recording",
        _LATER | {"skew", "drift", "step", "rate_not_held"},
    )


def _flips(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    return Words(
        f"the rate of the stamps' clock flips between {v['fast']:+.4g} and {v['slow']:+.4g} ppm, with a period of "
        f"{v['period']:.4g} s: a "
        f"servo that over-corrects, or two daemons that set one clock; {whose}",
        "log the frequency that each daemon sets (adjtimex, phc2sys -m): it flips with the same period",
        "let one daemon only set the clock; lower the servo's gains; on Jetson look at nvpps and its kernel driver",
        _LATER | {"skew", "drift", "slew"},
    )


def _died(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    return Words(
        f"the clocks agree until {v['instant']:.4g} s and then part at {v['skew']:+.3g} ppm, by {_ms(v['error'])} at the end: "
        f"the daemon or "
        f"its reference stopped there; {whose}",
        "see whether phc2sys, ptp4l or chronyd still ran after that time (systemctl status), and whether the link, the "
        "grandmaster or "
        "the PPS was lost",
        "restart it and have it watched (Restart=always, an alarm on the age of its last update); refuse stamps once the bound "
        "is spent",
        _LATER | {"skew", "drift"},
    )


def _drift(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    return Words(
        f"the rate of the stamps' clock changes by {v['drift']:+.3g} ppm per minute against the log's, {_ms(v['error'])} over "
        f"this file: an "
        f"oscillator that warms or cools; {whose}",
        "log its temperature beside the offset: a crystal follows it, a delay does not",
        "discipline the clock all the time instead of by one rate, let it warm up before use, or use a temperature-compensated "
        "oscillator",
        _LATER | {"skew"},
    )


def _two_clocks(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    if "jump" in v:
        return _changed_clocks(v, whose)
    stamps, logs = clock_kind(log_ns - base_ns), clock_kind(log_ns)
    one_kind = stamps.split(" of ")[0] == logs.split(" of ")[0]
    same = " (replayed, or a clock that was never set)" if one_kind else ""
    return Words(
        f"stamps and log times are on two clocks{same}: stamps are {stamps}, log times {logs}; they are "
        f"{_apart(v['offset'])} apart{_pace(v)}; {whose}",
        "print one stamp beside the recorder's time: a delay cannot be that long, and a simulator's /clock or a device's "
        "uptime shows the "
        "same number",
        "use the stamps alone, or the log times alone; with simulated time record with use_sim_time; map a device's clock to "
        "the host's "
        "before stamping",
        _LATER | {"skew", "drift", "step", "slew", "rate_flips", "reference_died", "tai_utc"},
    )


def _changed_clocks(v: Mapping[str, float], whose: str) -> Words:
    often = f" {v['times']:.0f} times, first" if v["times"] > 1 else ""
    return Words(
        f"stamps are from two clocks: they jump{often} at {v['instant']:.4g} s by {v['jump']:+.10g} s, and "
        f"{100 * v['share']:.3g} % of the samples are on {clock_kind(round(v['other'] * 1e9))}; {whose}",
        "print the first stamps after the start, and after the sensor's time was set: they change from one clock to the other",
        "wait until the sensor's clock is set before you record or use it, and refuse stamps that are hours away; here cut off "
        "the samples of the other clock",
        _TIMES | _LATER | {"skew", "drift", "step", "slew", "rate_flips", "reference_died", "tai_utc", "quantised_stamps"},
    )


def _apart(seconds: float) -> str:
    """Write how far two epochs are apart: what is longer than days is read as days, and the exact number is a figure."""
    return f"{seconds / 86_400:.1f} days" if abs(seconds) > 172_800 else f"{seconds:.6f} s"


def _pace(v: Mapping[str, float]) -> str:
    if "rate" not in v:
        return ""
    ppm = (v["rate"] - 1) * 1e6
    rate = f"{v['rate']:.4f} s of stamps pass per 1 s of log" if abs(ppm) > 1000 else f"their rates differ by {ppm:+.3g} ppm"
    return f", {rate}, steady to {_ms(v['unsteady'])}"


def _tai(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    seconds = v["offset"]
    scales = {37: "TAI and log times on UTC", 18: "GPS time and log times on UTC", 19: "TAI and log times on GPS time"}
    flipped = {37: "UTC and log times on TAI", 18: "UTC and log times on GPS time", 19: "GPS time and log times on TAI"}
    named = (scales if seconds > 0 else flipped).get(round(abs(seconds)), "another scale of time than log times")
    return Words(
        f"stamps are on {named}: they are {abs(seconds):.0f} s {'ahead' if seconds > 0 else 'behind'}, and {_ms(v['rest'])} of "
        f"delay remain; "
        f"{whose}",
        "the offset is that whole number of seconds to within a delay, and stays so",
        "set the grandmaster's or the sensor's UTC offset (ptp4l: utc_offset and currentUtcOffsetValid; phc2sys -O -37 or "
        "automatic mode; "
        "chrony: the refclock's tai option), or shift the stamps by the constant",
        _LATER | {"two_clocks"},
    )


def _wrap(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    often = f"{v['times']:.0f} times, first " if v["times"] > 1 else ""
    return Words(
        f"the stamp jumps by {v['turn']:.9g} s, {often}at {v['instant']:.4g} s: 2^{v['bits']:.0f} ticks of {_tick(v['tick'])}, "
        f"a counter "
        "that wrapped",
        "look at the raw counter before and after: it goes from its largest value to its smallest",
        "unwrap it in the driver: add a turn whenever it falls back by more than half of one, with 64 bits from there on",
        _TIMES | _LATER | {"step", "skew", "slew", "drift", "two_clocks", "one_period_late", "quantised_stamps"},
    )


def _future(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    return Words(
        f"stamps are {_ms(v['ahead'])} later than their own arrival, at the least: nothing arrives before it was sent; {whose}",
        "watch the offset with the sensor's time synchronisation off and on: an offset of clocks stays, an exposure or a "
        "rounding does not",
        "measure the offset of the two clocks by request and reply instead of at start, and subtract it; look at the driver's "
        "global time",
        frozenset({"offset", "action_before_observation"}),
    )


def _late(v: Mapping[str, float], whose: str, log_ns: int, base_ns: int) -> Words:
    return Words(
        f"from {v['instant']:.4g} s on the offset is {_signed(v['step'])}, which is exactly one period: stamps belong to the "
        f"neighbouring "
        f"sample; {whose}",
        "move the sensor by hand and compare with a second one: the shift is one period before the fix and none after",
        "match stamps and samples by their count, not by their order of arrival",
        _TIMES | _LATER | {"step", "skew", "drift"},
    )


_SAY = {
    "skew": _skew,
    "step": _step,
    "slew": _slew,
    "rate_flips": _flips,
    "reference_died": _died,
    "drift": _drift,
    "two_clocks": _two_clocks,
    "tai_utc": _tai,
    "wrap": _wrap,
    "future_stamps": _future,
    "one_period_late": _late,
}


def _tick(seconds: float) -> str:
    for unit, length in (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= 0.999 * length:
            return f"{seconds / length:.4g} {unit}"
    return f"{seconds} s"


def _ms(seconds: float) -> str:
    if abs(seconds) < 1.0:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.4g} s"


def _signed(seconds: float) -> str:
    return f"{seconds * 1e3:+.4g} ms" if abs(seconds) < 1.0 else f"{seconds:+.4g} s"
