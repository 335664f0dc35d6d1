"""Keep a module's sends a margin before its device's tick, found in the device's own reports as they come."""

import logging
from collections import deque

import numpy as np

from onbeat.errors import BadInput
from onbeat.loop import SendLoop
from onbeat.motion.tick import find_tick

__all__ = ("Centring",)

_REPORTS = 400
_RENEWED = 100  # after so many more; the first time too


class Centring:
    """Collects the instants of reports and moves the loop to their beat, again and again. One thread.

    Args:
        name: The module's, for the log.
        margin_s: How long before the tick to send; None: in the middle between two.
    """

    __slots__ = ("_fresh", "_log", "_margin_s", "_name", "_reports_ns", "_said")

    def __init__(self, name: str, margin_s: float | None) -> None:
        self._name = name
        self._margin_s = margin_s
        self._reports_ns: deque[int] = deque(maxlen=_REPORTS)
        self._fresh = 0
        self._said = ""
        self._log = logging.getLogger("onbeat.module")

    def take(self, report_ns: int, loop: SendLoop) -> None:
        """Take the arrival of a report, in order of time, on the clock of the loop."""
        self._reports_ns.append(report_ns)
        self._fresh += 1
        if self._fresh < _RENEWED:
            return
        self._fresh = 0
        try:
            loop.centre(find_tick(np.array(self._reports_ns, dtype=np.int64)), self._margin_s)
        except BadInput as reason:
            self._say(str(reason))

    def _say(self, reason: str) -> None:
        """Log a reason once, not every time that it comes again with other figures."""
        if not self._said:
            self._log.warning("Module %r: sends are not centred on the device's tick: %s", self._name, reason)
        self._said = reason
