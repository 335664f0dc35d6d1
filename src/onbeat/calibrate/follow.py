"""How late does each joint of a recorded robot follow its command: for each episode, for each joint, for the arm."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median

from onbeat.calibrate.delay import estimate_delay, pool_delays
from onbeat.calibrate.result import CalibrationResult
from onbeat.record.joints import JointEpisode

__all__ = ("EpisodeDelay", "FollowResult", "Follower", "JointDelay", "is_gripper")

_QUANTITY = "delay"
_METHOD = "delay of each episode, pooled"
_MOST_OFTEN = "most often: "
_GRIPPER_WORDS = frozenset(("gripper", "grippers", "jaw", "jaws", "finger", "fingers", "claw", "hand", "thumb", "index", "pinky"))
_GRIPPER_PARTS = ("gripper", "finger", "thumb")
# How a refusal begins when the episode says nothing about the joint; any other refusal speaks against it.
_SILENT = ("the command is constant", "too short", "the motion says")


@dataclass(frozen=True, slots=True)
class EpisodeDelay:
    """What one episode says: about a joint, or about the arm."""

    episode: int
    result: CalibrationResult


@dataclass(frozen=True, slots=True)
class JointDelay:
    """What a recording says about one joint.

    Args:
        name: As the recording calls it.
        gripper: Whether its name says that it is one; it then stays out of the arm's figure.
        result: Pooled over the episodes; refused when most of the episodes that speak refuse it.
        episodes: What each episode says.
    """

    name: str
    gripper: bool
    result: CalibrationResult
    episodes: tuple[EpisodeDelay, ...]

    @property
    def refusal(self) -> str:
        """The kind of the refusal, the clause before its figures; "" when accepted."""
        return _kind(self.result.reason.rpartition(_MOST_OFTEN)[2]) if not self.result.accepted else ""

    @property
    def r2(self) -> float | None:
        """Median over the accepted episodes of the share of motion that the shifted command explains."""
        return self._median("r2")

    @property
    def gain(self) -> float | None:
        """Median over the accepted episodes of measured motion over commanded motion."""
        return self._median("gain")

    def _median(self, name: str) -> float | None:
        values = [float(e.result.conditions[name]) for e in self.episodes if e.result.accepted]
        return median(values) if values else None


@dataclass(frozen=True, slots=True)
class FollowResult:
    """What a recording says.

    Args:
        arm: Pooled over the accepted joints that are no grippers. `conditions["between_std_s"]` is how far joints differ.
        joints: Each joint.
        episodes: The arm in each episode.
        rows: Rows read.
        duration_s: Time covered, all episodes together.
    """

    arm: CalibrationResult
    joints: tuple[JointDelay, ...]
    episodes: tuple[EpisodeDelay, ...]
    rows: int
    duration_s: float

    @property
    def accepted(self) -> tuple[JointDelay, ...]:
        """The joints that the recording can speak about."""
        return tuple(joint for joint in self.joints if joint.result.accepted)

    @property
    def refusals(self) -> dict[str, list[str]]:
        """Names of the refused joints by the kind of their refusal."""
        kinds: dict[str, list[str]] = {}
        for joint in self.joints:
            if not joint.result.accepted:
                kinds.setdefault(joint.refusal, []).append(joint.name)
        return kinds

    @property
    def episode_std_s(self) -> float | None:
        """By how much an arm joint's delay moves between episodes beyond what the intervals explain: rms over joints, or None."""
        pooled = [joint.result.conditions for joint in self.accepted if not joint.gripper]
        moves = [float(c["between_std_s"]) for c in pooled if c["groups"] > 1]
        return sqrt(fmean(m * m for m in moves)) if moves else None


class Follower:
    """Takes episodes one at a time and keeps only what they say.

    Args:
        joints: Names of the joints, in the order of the columns.
        columns: Which of them to look at, by position.
        max_delay_s: The longest delay looked for.
    """

    def __init__(self, joints: Sequence[str], columns: Sequence[int], max_delay_s: float) -> None:
        self._names = {k: joints[k] for k in columns}
        self._max_delay_s = max_delay_s
        self._results: dict[int, list[EpisodeDelay]] = {k: [] for k in columns}
        self._episodes: list[int] = []
        self._rows = 0
        self._duration_s = 0.0

    def add(self, episode: JointEpisode, tell: Callable[[int], None] | None = None) -> None:
        """Estimate the delay of every joint in one episode; `tell(1)` is called after each."""
        self._episodes.append(episode.index)
        self._rows += len(episode.t_ns)
        self._duration_s += int(episode.t_ns[-1] - episode.t_ns[0]) / 1e9
        for k, results in self._results.items():
            result = estimate_delay(episode.t_ns, episode.command[:, k], episode.t_ns, episode.measured[:, k], self._max_delay_s)
            results.append(EpisodeDelay(episode.index, result))
            if tell:
                tell(1)

    def result(self) -> FollowResult:
        """Pool what the episodes said."""
        joints = tuple(
            JointDelay(name, is_gripper(name), _pool(self._results[k]), tuple(self._results[k]))
            for k, name in self._names.items()
        )
        arm = [joint for joint in joints if not joint.gripper]
        by_episode = []
        for number, index in enumerate(self._episodes):
            said = [joint.episodes[number].result for joint in arm if joint.result.accepted]
            by_episode.append(EpisodeDelay(index, _pool_joints(said, len(arm))))
        return FollowResult(
            _pool_joints([joint.result for joint in arm], len(arm)), joints, tuple(by_episode), self._rows, self._duration_s
        )


def is_gripper(name: str) -> bool:
    """Tell whether a joint's name says that it is a gripper: gripper, jaw, finger, hand, thumb, ..."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return any(word.lower() in _GRIPPER_WORDS for word in re.split(r"[^A-Za-z]+", words)) or any(
        part in name.lower() for part in _GRIPPER_PARTS
    )


def _pool(episodes: Sequence[EpisodeDelay]) -> CalibrationResult:
    """Pool one joint over episodes; refuse it when more episodes speak against it than for it."""
    results = [episode.result for episode in episodes]
    accepted = [r for r in results if r.accepted]
    against = [r for r in results if not r.accepted and not r.reason.startswith(_SILENT)]
    if accepted and len(accepted) >= len(against):
        return pool_delays(results)
    n = sum(r.n for r in results)
    if len(results) == 1:
        return CalibrationResult.refuse(_QUANTITY, results[0].reason, n=n, method=_METHOD, alternatives=results[0].alternatives)
    reason = _commonest(r.reason for r in (against or results) if not r.accepted)
    return CalibrationResult.refuse(
        _QUANTITY,
        f"refused in {len(results) - len(accepted)} of {len(results)} episodes, {_MOST_OFTEN}{reason}",
        n=n,
        method=_METHOD,
    )


def _pool_joints(results: Sequence[CalibrationResult], joints: int) -> CalibrationResult:
    accepted = [r for r in results if r.accepted]
    if accepted:
        return pool_delays(results)
    reason = f"none of {joints} arm joints can be told: {results[0].reason}" if results else "no joint of the arm was looked at"
    return CalibrationResult.refuse(_QUANTITY, reason, n=0, method=_METHOD)


def _commonest(reasons: Iterable[str]) -> str:
    """Give one of the reasons of the commonest kind; the kind stands before the colon or the first figure."""
    reasons = list(reasons)
    kinds = Counter(_kind(reason) for reason in reasons)
    kind = kinds.most_common(1)[0][0]
    return next(reason for reason in reasons if _kind(reason) == kind)


def _kind(reason: str) -> str:
    """Give the clause before the figures; one word before a colon ("saturated: ...") keeps the clause after it."""
    found = re.match(r"(?:\w+: )?[^:;,(\d]*", reason)
    return found[0].strip() if found else reason
