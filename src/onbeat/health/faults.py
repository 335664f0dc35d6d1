"""The faults that onbeat can name, one sentence each: the words that reports, JSON and planted faults share."""

from types import MappingProxyType

__all__ = ("FAULTS",)

FAULTS = MappingProxyType(
    {
        # clocks against each other
        "skew": "the two clocks run at different rates: their offset is a straight line",
        "step": "a clock was set: the offset jumps once and stays",
        "slew": "a clock was slewed: the offset runs along a steep line that ends",
        "rate_flips": "a clock's rate flips between two values again and again",
        "reference_died": "the offset is flat and then a line: the daemon or its reference stopped",
        "drift": "the offset bends: a clock's rate changes slowly, as with temperature",
        "two_clocks": "stamps and log times are on two clocks with different epochs",
        "tai_utc": "stamps are on TAI or GPS time and log times on UTC, or the other way round",
        "wrap": "a counter of few bits wrapped: the stamp jumps by a power of two of its tick",
        "future_stamps": "stamps are later than their own arrival",
        # where and how the stamp was taken
        "stamped_at_delivery": "stamps were taken at delivery, so they carry the transport's delay and jitter",
        "bursts": "samples arrive together and were stamped at arrival: a sawtooth",
        "one_period_late": "stamps belong to the neighbouring sample: they are wrong by exactly one period",
        "quantised_stamps": "stamps are rounded, by their clock or by a float",
        "exposure_shift": "the delay moves with the exposure time: stamps are not taken at mid-exposure",
        # samples that are missing, repeated or uneven
        "dropped_samples": "samples were lost",
        "repeated_samples": "the same content came again with a new stamp: a frozen or cached source",
        "repeated_stamps": "several samples carry the same stamp",
        "unsorted_stamps": "stamps go back and forth: samples are out of order",
        "rate_not_held": "the declared rate is not the true one",
        "gap": "the stream is silent for much longer than its period",
        "jitter": "intervals vary so much that a policy sees another speed",
        # streams against each other
        "offset": "two streams that see the same motion are shifted in time",
        "action_before_observation": "actions come before the observations that they answer",
        "delay": "how late joints follow their commands",
        # onbeat's own recordings
        "late_waypoints": "waypoints were due before they could be sent",
        "deadline_misses": "the send loop missed deadlines",
        # what a file's counted stamps cannot show
        "counted_stamps": "stamps were computed from a count, not taken",
    }
)
