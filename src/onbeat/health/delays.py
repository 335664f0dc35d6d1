"""How late do the joints follow their commands, and how steadily from episode to episode: what `onbeat delay` says, as notes."""

from collections.abc import Iterator, Sequence

import numpy as np

from onbeat.calibrate.follow import Follower, FollowResult, JointDelay
from onbeat.calibrate.signals import half_width
from onbeat.errors import OnbeatError
from onbeat.health.check import Check, Curve, Evidence, Figure, Plot, Verdict
from onbeat.health.dataset import STRETCH
from onbeat.record.joints import JointRecording

__all__ = ("DELAYS", "judge_delays")

_MAX_DELAY_S = 0.5  # as `onbeat delay` looks for
_MOST_FITS = 200  # of a joint in an episode: tens of milliseconds each
_STEADY_S = 0.003
_MOST_CURVES = 8


def judge_delays(evidence: Evidence) -> Iterator[Verdict]:
    """Say the delay of each joint, pooled over episodes; nothing where a recording has no commands beside measurements."""
    opener = evidence.recording.joints
    if opener is None:
        return
    streams = tuple(name for name, line in evidence.timelines.items() if line.info.kind in ("joints", "action"))
    if not streams:
        return  # others were asked for
    try:
        recording = opener()
        total, result = _follow(recording)
    except OnbeatError as error:
        yield Verdict("delay", streams, "unjudged", f"how late joints follow their commands cannot be told: {error}")
        return
    if result is None:
        return
    evidence.shared["delays"] = result
    if result.accepted:
        yield _note(streams, result, total, evidence.shared.get(STRETCH))
    if result.refusals and not result.accepted:
        kind, names = max(result.refusals.items(), key=lambda pair: len(pair[1]))
        why = f"no joint can be told, {len(names)} of {len(result.joints)} since {kind}"
        yield Verdict("delay", streams, "unjudged", f"how late joints follow their commands: {why}")


def _follow(recording: JointRecording) -> tuple[int, FollowResult | None]:
    """Fit every joint in every episode, or in as many episodes as there is time for, spread evenly."""
    columns = range(len(recording.joints))
    most = max(_MOST_FITS // max(len(columns), 1), 1)
    count = recording.episode_count
    keep: set[int] | None = None
    if count is not None and count > most:
        keep = set(np.linspace(0, count - 1, most).astype(int).tolist())
    follower = Follower(recording.joints, columns, _MAX_DELAY_S)
    total = fitted = 0
    for episode in recording.episodes():
        if total in keep if keep is not None else fitted < most:
            follower.add(episode)
            fitted += 1
        total += 1
    return total, follower.result() if fitted else None


def _note(streams: tuple[str, ...], result: FollowResult, total: int, stretch: float | None) -> Verdict:
    arm = [joint for joint in result.accepted if not joint.gripper]
    grippers = [joint for joint in result.accepted if joint.gripper]
    figures: dict[str, Figure] = {}
    parts = []
    if result.arm.accepted:
        figures["arm"] = _figure(result.arm.value, result.arm.ci95)
        low, high = (f(joint.result.value or 0.0 for joint in arm) for f in (min, max))
        spread = f", {_ms(low)} to {_ms(high)} from joint to joint" if len(arm) > 1 else ""
        parts.append(f"the arm follows its commands {_ms(result.arm.value)} late (95 %: {half_width(result.arm.ci95)}{spread})")
    if grippers:
        listed = ", ".join(f"{joint.name} {_ms(joint.result.value)}" for joint in grippers[:2])
        parts.append(f"{listed}{f' and {len(grippers) - 2} more' if len(grippers) > 2 else ''}")
    if stretch is not None:
        longest = result.arm if result.arm.accepted else result.accepted[0].result
        figures["true time over stamps"] = Figure(stretch, "1")
        stated_s = longest.value or 0.0
        parts.append(f"those stamps run false: what they call {_ms(stated_s)} truly takes {_ms(stated_s * stretch)}")
    std_s = result.episode_std_s
    if std_s is not None:
        figures["from episode to episode"] = Figure(std_s, "s")
        parts.append("the same in every episode" if std_s < _STEADY_S else f"it moves by {_ms(std_s)} (std) between episodes")
    for joint in (*arm, *grippers):
        figures[joint.name] = _figure(joint.result.value, joint.result.ci95)
    refused = len(result.joints) - len(result.accepted)
    if refused:
        parts.append(f"{refused} of {len(result.joints)} joints cannot be told")
    if total > len(result.episodes):
        parts.append(f"from {len(result.episodes)} of {total} episodes")
    return Verdict(
        "delay",
        streams,
        "note",
        "; ".join(parts),
        figures,
        "move one joint to and fro by hand-made commands, and film command light and joint together",
        "give the policy's runner this delay as action latency; `onbeat delay` writes the line for it",
        _plot(result, [*arm, *grippers][:_MOST_CURVES]),
        weight=1.0,
    )


def _plot(result: FollowResult, joints: Sequence[JointDelay]) -> Plot:
    curves = []
    for joint in joints:
        told = [(e.episode, 1e3 * (e.result.value or 0.0)) for e in joint.episodes if e.result.accepted]
        points = np.array(told, dtype=np.float64).reshape(-1, 2)
        curves.append(Curve(joint.name, points[:, 0], points[:, 1], "dots"))
    return Plot("Delay of each joint behind its command", "episode", "delay (ms)", tuple(curves))


def _figure(value: float | None, ci95: float | None) -> Figure:
    centre, half = value or 0.0, ci95 or 0.0
    return Figure(centre, "s", centre - half, centre + half)


def _ms(value: float | None) -> str:
    return f"{1e3 * (value or 0.0):.1f} ms"


# After the check of data sets, which knows whether the stamps run true.
DELAYS = Check("delays", ("delay",), judge_delays)
