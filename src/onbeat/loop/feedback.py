"""Samples of the device become a correction of what a cycle sends; what that means is said aloud, with their age as measured."""

import logging

import numpy as np
from numpy.typing import ArrayLike

from onbeat._core import Cycle
from onbeat.errors import BadInput
from onbeat.loop.process_loop import ProcessLoop
from onbeat.motion.lead import Feedback, feedback_warning
from onbeat.units import to_ns

__all__ = ("Feeding",)

_MEASURED = 100  # corrected sends, after which the age is known


class Feeding:
    """The way of a sample: the plan's place at its instant, the error, the correction, into the cycle.

    Args:
        cycle: Made with `feedback` where it is on; here or in another process.
        feedback: The law and its gains.
    """

    __slots__ = ("_cycle", "_feedback", "_said")

    def __init__(self, cycle: Cycle | ProcessLoop, feedback: Feedback) -> None:
        self._cycle = cycle
        self._feedback = feedback
        self._said = False

    @property
    def sentence(self) -> str:
        """What feedback at these gains means, with the age of the samples; "" when it is off."""
        if not self._feedback.on:
            return ""
        count, p50_ns, p99_ns = self._cycle.feedback_ages()
        if count < _MEASURED:
            return (
                f"feedback is on (k_p {self._feedback.k_p:g}, k_i {self._feedback.k_i:g}); how old its samples are is not known "
                f"yet: {count} of {_MEASURED} sends were corrected by one"
            )
        return feedback_warning(self._feedback.k_p, self._feedback.k_i, p50_ns * 1e-9, p99_ns * 1e-9)

    def feed(self, t_sample_ns: int, measured: ArrayLike) -> bool:
        """Take one sample; gives whether it was used. `SendLoop.feed` has the rules."""
        if not self._feedback.on:
            raise BadInput("feedback is off; make the loop with feedback=Feedback(k_p=...), and read what that does")
        values = np.asarray(measured, dtype=np.float64)
        if values.shape != (self._cycle.width,):
            raise BadInput(f"the sample has the shape {values.shape} and the loop has width {self._cycle.width}")
        if not np.isfinite(values).all():
            raise BadInput(f"the sample at {t_sample_ns} ns is not finite; leave it out")
        reference = self._cycle.reference(t_sample_ns)
        if reference is None:
            return False
        self._feedback, correction = self._feedback.after(t_sample_ns, reference, values)
        self._cycle.correct(t_sample_ns, correction, to_ns(self._feedback.max_age_s))
        if not self._said and self._cycle.feedback_ages()[0] >= _MEASURED:
            self._said = True
            logging.getLogger("onbeat.loop").warning("%s", self.sentence)
        return True
