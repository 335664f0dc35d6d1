"""What was late in a policy's loop: counted by kind, and said once a second with its numbers."""

import logging
from dataclasses import dataclass

__all__ = ("Verdicts",)

_EVERY_NS = 1_000_000_000


@dataclass(slots=True)
class _Tally:
    times: int = 0
    worst_ns: int = 0
    limit_ns: int = 0
    why: str = ""


class Verdicts:
    """Counts verdicts by kind. The log hears of the first of a kind at once, and then once a second of those since.

    Kinds: "anchor_old" (the observation was older than it may be), "inference_slow" (the policy took longer than its step),
    "frame_missing" (an image of a history was lost, and another frame was taken), "starved" (no observation could be made).

    Args:
        log: Takes the lines, as warnings.
    """

    def __init__(self, log: logging.Logger) -> None:
        self.counts = dict.fromkeys(_WORDS, 0)
        self._log = log
        self._since: dict[str, _Tally] = {}
        self._told_ns: dict[str, int] = {}

    def note(self, kind: str, now_ns: int, by_ns: int, limit_ns: int, why: str = "") -> None:
        """Count one verdict of a kind: it took by_ns where limit_ns is allowed."""
        self.counts[kind] += 1
        tally = self._since.setdefault(kind, _Tally())
        tally.times += 1
        tally.worst_ns = max(tally.worst_ns, by_ns)
        tally.limit_ns, tally.why = limit_ns, why
        self.tell(now_ns)

    def tell(self, now_ns: int) -> None:
        """Say what was counted since the last time, of each kind that was not spoken of within the last second."""
        due = [kind for kind in self._since if kind not in self._told_ns or now_ns - self._told_ns[kind] >= _EVERY_NS]
        for kind in due:
            tally = self._since.pop(kind)
            self._told_ns[kind] = now_ns
            words = _WORDS[kind].format(times=tally.times, worst=tally.worst_ns / 1e6, limit=tally.limit_ns / 1e6)
            self._log.warning("%s", f"{words}: {tally.why}" if tally.why else words)


_WORDS = {
    "anchor_old": "The observation was too old in {times} turns ({worst:.1f} ms at worst, {limit:.1f} ms allowed)",
    "inference_slow": "The policy was slower than its step in {times} turns ({worst:.1f} ms at worst, a step is {limit:.1f} ms)",
    "frame_missing": "Passed over {times} frames without their whole history",
    "starved": "No observation for {worst:.1f} ms ({limit:.1f} ms allowed)",
}
