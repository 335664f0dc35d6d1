"""What `onbeat delay` leaves: the numbers, the sentences, the picture, the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onbeat.calibrate.follow import EpisodeDelay, FollowResult
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.signals import LEAST_HALF_S, half_width
from onbeat.record.joints import JointRecording
from onbeat.report.document import plain_json
from onbeat.report.folder import RunFolder
from onbeat.report.html import Figure, Paragraph, Section, Table, page

__all__ = ("DelayReport",)

_STEADY_S = 0.003  # a move between episodes below this is of no use to anybody
_APART_S = 0.008  # joints further apart than this (standard deviation) are not served by one number


@dataclass(frozen=True, slots=True)
class DelayReport:
    """One run of `onbeat delay`.

    Args:
        recording: What was looked at.
        result: What it says.
        max_delay_s: The longest delay that was looked for.
    """

    recording: JointRecording
    result: FollowResult
    max_delay_s: float

    @property
    def period_s(self) -> float:
        """Mean time from row to row of the recording."""
        return self.result.duration_s / max(self.result.rows - len(self.result.episodes), 1)

    def verdict(self) -> str:
        """Say in one sentence what the recording says."""
        result = self.result
        arm = [joint for joint in result.joints if not joint.gripper]
        told = [joint for joint in arm if joint.result.accepted]
        grippers = [joint for joint in result.joints if joint.gripper and joint.result.accepted]
        if not result.accepted:
            return f"no joint of this recording can be told: {result.arm.reason if arm else result.joints[0].result.reason}"
        parts: list[str] = []
        kind = ""
        if result.arm.accepted:
            who = f"joint {told[0].name} follows its command" if len(told) == 1 else "the arm's joints follow their commands"
            count = f"{len(told)} of {len(arm)} joints, " if len(arm) > 1 else ""
            parts.append(f"{who} by {_value(result.arm, f'; {count}{_episodes(len(result.episodes))}')}")
        else:
            parts.extend(["no joint of the arm can be told"] if arm else [])
            kind = "gripper " + ("" if len(grippers) == 1 else "joints ")
        if grippers:
            listed = "; ".join(f"{joint.name} by {_value(joint.result)}" for joint in grippers[:2])
            more = f"; {len(grippers) - 2} more below" if len(grippers) > 2 else ""
            parts.append(f"{kind}{listed}{more}")
        return ", ".join(parts)

    def remarks(self) -> list[str]:
        """Say what goes with the verdict: how steady, how equal, what was refused, what to do, what the number contains."""
        result, lines = self.result, []
        if result.arm.accepted:
            std_s = result.episode_std_s
            if std_s is not None:
                steady = "is the same in every episode, as far as the intervals can tell"
                moves = f"moves by {std_s * 1e3:.0f} ms (standard deviation) between episodes"
                lines.append(f"the arm's delay {steady if std_s < _STEADY_S else moves}.")
            lines.extend(self._apart())
        for kind, names in result.refusals.items():
            lines.append(f"refused, {len(names)} of {len(result.joints)} joints ({kind}): {', '.join(names)}.")
        lines.append(self._advice())
        if result.accepted:
            lines.append(self._contents())
        lines.append(f"{self.recording.timing}.")
        lines.extend(f"{note}." for note in self.recording.notes)
        return lines

    def sentences(self) -> list[str]:
        """Give the verdict and the remarks, for a terminal."""
        return [_sentence(line) for line in (self.verdict(), *self.remarks())]

    def _apart(self) -> list[str]:
        told = sorted((j for j in self.result.accepted if not j.gripper), key=lambda j: j.result.value or 0.0)
        if len(told) < 2 or float(self.result.arm.conditions["between_std_s"]) < _APART_S:
            return []
        low, high = told[0], told[-1]
        return [
            f"the joints differ: {_ms(low.result.value)} at {low.name}, {_ms(high.result.value)} at {high.name}; "
            "one number serves them all only roughly, so take each joint's own where the driver allows it."
        ]

    def _advice(self) -> str:
        arm = self.result.arm
        if arm.accepted:
            line = f"action_latency: {arm.value:.3f}"
            return f"what to do: write {line} (seconds) into the arm's YAML, if commands go out as they did in this recording."
        if self.result.accepted:
            return (
                "what to do: use the delays above; for the arm's, record ten seconds of it in motion, with changes of direction."
            )
        return (
            "what to do: record ten seconds or more of free motion in which each joint changes direction a few times, "
            f"inside its range and speed; delays above {self.max_delay_s:g} s need a larger --max-delay."
        )

    def _contents(self) -> str:
        period = self.period_s * 1e3
        return (
            "the number is command to state as logged: beside the hardware's own latency it contains half a row of holding "
            f"each command ({period / 2:.0f} ms) and the time from reading the state to sending the command within a row "
            f"(0 to {period:.0f} ms). It is the shift of this motion: a joint that answers with a lag trails a slower motion by "
            "a millisecond or so more, which the interval does not hold. A sweep on the robot itself measures the hardware alone."
        )

    def table(self) -> Table | None:
        """Give the accepted joints and the arm as a table; None when there is none."""
        rows: list[tuple[str, ...]] = []
        for joint in self.result.accepted:
            spread = (_ms(joint.result.value), half_width(joint.result.ci95))
            told = sum(e.result.accepted for e in joint.episodes)
            rows.append((joint.name, *spread, f"{joint.r2:.4f}", f"{joint.gain:.3f}", f"{told} of {len(joint.episodes)}"))
        arm = self.result.arm
        if arm.accepted and len(rows) > 1:
            rows.append(("arm", _ms(arm.value), half_width(arm.ci95), "", "", ""))
        return Table(("joint", "delay", "95 %", "R2", "gain", "episodes"), rows) if rows else None

    def refusals(self) -> Table | None:
        """Give the refused joints and why as a table; None when there is none."""
        rows = [(joint.name, joint.result.reason) for joint in self.result.joints if not joint.result.accepted]
        return Table(("joint", "why"), rows, words=("why",)) if rows else None

    def document(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Give the numbers, in seconds, for result.json; `run` holds what differs from run to run."""
        result, recording = self.result, self.recording
        return {
            "verdict": self.verdict(),
            "recording": {
                "name": recording.path.resolve().name,
                "kind": recording.kind,
                "robot": recording.robot,
                "rate_hz": recording.rate_hz or 1 / self.period_s,
                "episodes": len(result.episodes),
                "rows": result.rows,
                "duration_s": result.duration_s,
                "timing": recording.timing,
                "notes": recording.notes,
            },
            "settings": {"max_delay_s": self.max_delay_s},
            "arm": {
                **_numbers(result.arm),
                "joints": [joint.name for joint in result.accepted if not joint.gripper],
                "episodes": [_episode(e) for e in result.episodes],
                "episode_std_s": result.episode_std_s,
            },
            "joints": [
                {
                    "name": joint.name,
                    "gripper": joint.gripper,
                    **_numbers(joint.result),
                    "r2": joint.r2,
                    "gain": joint.gain,
                    "episodes": [_episode(e) for e in joint.episodes],
                }
                for joint in result.joints
            ],
            "remarks": self.remarks(),
            "run": dict(run),
        }

    def write(self, folder: RunFolder, document: Mapping[str, Any]) -> None:
        """Write result.json, delay.svg and report.html."""
        from onbeat.report.delay_picture import draw_delay

        svg = draw_delay(self.recording, self.result, self.max_delay_s)
        folder.write("result.json", plain_json(document))
        folder.write("delay.svg", svg)
        folder.write("report.html", self._page(svg, document))

    def _page(self, svg: str, document: Mapping[str, Any]) -> str:
        result, recording = self.result, self.recording
        table, refusals = self.table(), self.refusals()
        robot = f"{recording.robot}, " if recording.robot else ""
        facts = (
            f"{robot}{recording.kind}, {_episodes(len(result.episodes))}, {result.duration_s:.1f} s at {1 / self.period_s:.0f} Hz"
        )
        sections = [Section("", [Figure(svg, _CAPTION if table else "")])]
        if table:
            sections.append(Section("Each joint", [table, Paragraph(_COLUMNS)]))
        if refusals:
            sections.append(Section("Refused", [refusals]))
        sections.append(Section("What goes with it", [Paragraph(_sentence(line)) for line in self.remarks()]))
        if table:
            sections.append(Section("Each episode", [self._episode_table()]))
        return page(
            f"How late do the joints follow? {recording.path.resolve().name}",
            _sentence(self.verdict()),
            sections,
            tone="bad" if not table else "finding" if refusals else "good",
            subtitle=facts,
            footer=f"onbeat delay, {document['run'].get('date', '')}; the numbers are in result.json.",
        )

    def _episode_table(self) -> Table:
        """Give joints as rows, episodes as columns, and the arm below."""
        result = self.result
        shown = result.episodes[:12]
        rows: list[tuple[str, ...]] = [(joint.name, *(_cell(e.result) for e in joint.episodes[:12])) for joint in result.accepted]
        if result.arm.accepted:
            rows.append(("arm", *(_cell(e.result) for e in shown)))
        return Table(("ms ± 95 %", *(f"episode {e.episode}" for e in shown)), rows)


_CAPTION = (
    "Above: each joint's delay with its 95 % interval; dots are single episodes, the band is the arm. "
    "Below: the joint that is known best, for some seconds: its command, what was measured, and what was measured "
    "moved back by the estimate."
)

_COLUMNS = (
    "R2 is the share of the measured motion that the command explains once it is moved by the delay; gain is how far the joint "
    "went for how far it was told to go; episodes counts those that could be told."
)


def _value(result: CalibrationResult, more: str = "") -> str:
    if result.value is None or result.ci95 is None:
        return "a delay that was refused"
    low_s, high_s = result.value - result.ci95, result.value + result.ci95
    known = f"{low_s * 1e3:.1f} to {high_s * 1e3:.1f}" if result.ci95 >= LEAST_HALF_S else half_width(result.ci95)
    return f"{_ms(result.value)} (95 %: {known}{more})"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _cell(result: CalibrationResult) -> str:
    return (
        f"{result.value * 1e3:.1f} ± {result.ci95 * 1e3:.1f}"
        if result.value is not None and result.ci95 is not None
        else "refused"
    )


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.1f} ms"


def _episodes(count: int) -> str:
    return f"{count} episode{'' if count == 1 else 's'}"


def _numbers(result: CalibrationResult) -> dict[str, Any]:
    return {
        "value": result.value,
        "ci95": result.ci95,
        "verdict": result.verdict,
        "reason": result.reason,
        "n": result.n,
        "method": result.method,
        "alternatives": result.alternatives,
        "conditions": dict(result.conditions),
    }


def _episode(episode: EpisodeDelay) -> dict[str, Any]:
    return {"episode": episode.episode, **_numbers(episode.result)}
