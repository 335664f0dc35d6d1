"""The servo that ptp4l and phc2sys run, and what a clock does when nothing steers it."""

from onbeat.errors import BadInput

__all__ = ("PiServo", "hold_time_s", "holdover_error_s")

# linuxptp's scaling of its gains with the interval of the updates (ptp4l(8): pi_proportional_scale and its kin), hardware stamps.
_KP_SCALE, _KP_EXPONENT, _KP_NORM_MAX = 0.7, -0.3, 0.7
_KI_SCALE, _KI_EXPONENT, _KI_NORM_MAX = 0.3, 0.4, 0.3


class PiServo:
    """A proportional-integral servo of a clock's frequency: ``integral += ki o; correction = kp o + integral``.

    With an offset in ns and an interval of 1 s the correction comes out in ns per s, which is ppb. linuxptp takes 0.7 and 0.3
    where stamps come from hardware, 0.1 and 0.001 where they come from software: with those a crystal that is 46 ppm off is
    386 us away at worst and within 1 us after 570 s only.

    Args:
        kp: Proportional gain.
        ki: Integral gain.
        interval_s: Time between updates, s.
        scaled: Take linuxptp's gains for that interval, min(0.7 T^-0.3, 0.7 / T) and min(0.3 T^0.4, 0.3 / T), instead of kp, ki.

    Raises:
        BadInput: a gain is negative or the interval is not positive.
    """

    def __init__(self, kp: float = 0.7, ki: float = 0.3, interval_s: float = 1.0, scaled: bool = False) -> None:
        if not (kp >= 0 and ki >= 0 and interval_s > 0):
            raise BadInput(f"a servo needs gains of 0 or more and a positive interval, not {kp}, {ki} and {interval_s} s")
        self.interval_s = interval_s
        self.kp = min(_KP_SCALE * interval_s**_KP_EXPONENT, _KP_NORM_MAX / interval_s) if scaled else kp
        self.ki = min(_KI_SCALE * interval_s**_KI_EXPONENT, _KI_NORM_MAX / interval_s) if scaled else ki
        self._integral_ppb = 0.0

    @property
    def integral_ppb(self) -> float:
        """What the servo takes for the clock's own rate error, ppb."""
        return self._integral_ppb

    def step(self, offset_ns: float) -> float:
        """Take the offset (this clock minus the reference) at the end of an interval; give the correction for the next one, ppb.

        The correction is what the clock's rate is to be lowered by.
        """
        self._integral_ppb += self.ki * offset_ns
        return self.kp * offset_ns + self._integral_ppb


def hold_time_s(spec_s: float, drift_ppm: float, bound_s: float = 0.0) -> float:
    """Give for how long a clock that nothing steers stays within a spec: (spec - bound now) / drift.

    Args:
        spec_s: The error that is allowed, s.
        drift_ppm: How fast the clock leaves, ppm; the sign does not matter.
        bound_s: How wrong it may be already, s.

    Returns:
        Seconds; 0 when the spec is exceeded already, infinity without drift.

    Raises:
        BadInput: the spec or the bound is negative.
    """
    if not (spec_s >= 0 and bound_s >= 0):
        raise BadInput(f"a spec and a bound are 0 or more, not {spec_s} s and {bound_s} s")
    left_s = max(spec_s - bound_s, 0.0)
    if left_s == 0.0:
        return 0.0
    return left_s / (abs(drift_ppm) * 1e-6) if drift_ppm else float("inf")


def holdover_error_s(t_s: float, skew_ppm: float, aging_per_s: float = 0.0) -> float:
    """Give how far a clock is off after a time without its reference: skew t + aging t^2 / 2, s.

    Args:
        t_s: Time since the reference was lost, s.
        skew_ppm: Rate error that was left then, ppm.
        aging_per_s: By how much the rate changes in a second, 1/s (3e-8 for a crystal that warms up).
    """
    return skew_ppm * 1e-6 * t_s + 0.5 * aging_per_s * t_s**2
