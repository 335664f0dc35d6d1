"""What `onbeat identify` leaves: the numbers, the sentences, the picture, the page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onbeat.calibrate.identify import JointPlant
from onbeat.calibrate.result import CalibrationResult
from onbeat.device import ModuleConfig
from onbeat.device.agreement import LeadAgreement
from onbeat.report.document import plain_json
from onbeat.report.folder import RunFolder
from onbeat.report.html import Figure, Paragraph, Section, Table, page

__all__ = ("KEY", "IdentifyReport")

_MUCH_CHI2 = 3.0


@dataclass(frozen=True, slots=True)
class IdentifyReport:
    """One run of `onbeat identify`.

    Args:
        module: The module's config as it was before.
        unit: Of its positions.
        joints: What was found, in the order of moving.
        agreement: Of l_eff with action_latency; None where no joint was identified.
        rig: The rig's YAML, as the next command names it.
        written: The file that holds the plant now; None where none was written.
        asked: The options that bound the motion, as the next command repeats them: no joint is to go farther than was asked for.
    """

    module: ModuleConfig
    unit: str
    joints: tuple[JointPlant, ...]
    agreement: LeadAgreement | None
    rig: Path
    written: Path | None
    asked: str = ""

    @property
    def accepted(self) -> tuple[JointPlant, ...]:
        """The joints whose l_eff is known."""
        return tuple(joint for joint in self.joints if joint.plant.accepted)

    @property
    def refused(self) -> tuple[JointPlant, ...]:
        """The others."""
        return tuple(joint for joint in self.joints if not joint.plant.accepted)

    def verdict(self) -> str:
        """Say in one sentence what was found."""
        name, told = self.module.name, self.accepted
        if not told:
            one = self.joints[0]
            if len(self.joints) == 1:
                return f"joint {one.joint} of {name} could not be identified: {one.plant.reason}"
            return f"none of {len(self.joints)} joints of {name} could be identified: joint {one.joint}: {one.plant.reason}"
        values = [joint.plant.l_eff.value or 0.0 for joint in told]
        if any(joint.biased for joint in told):
            who = f"joint {told[0].joint}" if len(self.joints) == 1 else f"{len(told)} of {len(self.joints)} joints"
            verb = "is" if len(self.joints) == 1 else "are"
            return (
                f"{who} of {name} {verb} at most {_ms(max(values))} behind what is sent: the stamps add a delay that is not known"
            )
        if len(self.joints) == 1:
            l_eff = told[0].plant.l_eff
            low_s, high_s = values[0] - (l_eff.ci95 or 0.0), values[0] + (l_eff.ci95 or 0.0)
            head = (
                f"joint {told[0].joint} of {name} is {_ms(values[0])} behind what is sent (95 %: {_ms(low_s)} to {_ms(high_s)})"
            )
        else:
            count = f"{len(told)} joints" if not self.refused else f"{len(told)} of {len(self.joints)} joints"
            head = f"{count} of {name} were identified; they are {_ms(min(values))} to {_ms(max(values))} behind what is sent"
        return head

    def remarks(self) -> list[str]:
        """Say what goes with it: agreement, what was refused, what the figures rest on, what was written."""
        lines = [self.agreement.sentence] if self.agreement is not None else []
        lines += [f"joint {joint.joint} was refused: {joint.plant.reason}" for joint in self.refused]
        lines += _once([(joint.joint, remark) for joint in self.joints for remark in joint.remarks])
        much = [joint for joint in self.accepted if joint.plant.chi2_dof > _MUCH_CHI2]
        if much:
            which = ", ".join(str(joint.joint) for joint in much)
            lines.append(
                f"joint{'s' if len(much) > 1 else ''} {which}: more than a dead time and a lag is there (chi2 up to "
                f"{max(joint.plant.chi2_dof for joint in much):.3g} a degree of freedom): play or friction make a slow motion "
                "later than a fast one, so move as fast as the work will"
            )
        if self.written is not None:
            which = f"joint{'s' if len(self.accepted) > 1 else ''} {', '.join(str(joint.joint) for joint in self.accepted)}"
            lines.append(f"the plant of {which} stands in {self.written} now")
        elif self.accepted:
            lines.append("nothing was written")
        return lines

    def next_command(self) -> str:
        """Name what to do next, as a command."""
        again = f"onbeat identify {self.rig} --module {self.module.name}"
        if (motion := self.joints[0].excitation.motion) != "sines":
            again += f" --motion {motion}"
        again += self.asked
        if self.refused:
            joints = "".join(f" --joint {joint.joint}" for joint in self.refused)
            seconds = 2 * max(joint.excitation.duration_s for joint in self.refused)
            return f"{again}{joints} --seconds {seconds:.0f}"
        return f"onbeat run POLICY.yaml --rig {self.rig}" if self.written is not None else f"{again} --write"

    def sentences(self) -> list[str]:
        """Give verdict and remarks, for a terminal."""
        return [_sentence(line) for line in (self.verdict(), *self.remarks())]

    def table(self) -> Table | None:
        """Give the identified joints as a table; None when there is none."""
        rows = []
        for joint in self.accepted:
            plant = joint.plant
            rows.append(
                (
                    f"{self.module.name} {joint.joint}",
                    *_pair(plant.l_eff),
                    _both(plant.dead_time),
                    _both(plant.lag),
                    f"{plant.gain:.4f}",
                    f"{plant.chi2_dof:.2g}",
                )
            )
        return Table(("joint", "l_eff", "95 %", "dead time", "lag", "gain", "chi2"), rows) if rows else None

    def refusals(self) -> Table | None:
        """Give what was refused and why; None when nothing was."""
        rows = [(f"joint {joint.joint}", joint.plant.reason) for joint in self.refused]
        for joint in self.accepted:
            parts: dict[str, list[str]] = {}
            for part in (joint.plant.dead_time, joint.plant.lag):
                if not part.accepted:
                    parts.setdefault(part.reason, []).append(part.quantity.replace("_", " "))
            rows += [(f"joint {joint.joint}, {' and '.join(names)}", reason) for reason, names in parts.items()]
        return Table(("what", "why"), rows, words=("why",)) if rows else None

    def document(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Give the numbers, in seconds, for result.json; `run` holds what differs from run to run."""
        return {
            "verdict": self.verdict(),
            "module": self.module.name,
            "unit": self.unit,
            "joints": [_joint(joint) for joint in self.joints],
            "agreement": None if self.agreement is None else asdict(self.agreement),
            "remarks": self.remarks(),
            "next": self.next_command(),
            "run": dict(run),
        }

    def write(self, folder: RunFolder, document: Mapping[str, Any]) -> None:
        """Write result.json, identify.svg and report.html."""
        from onbeat.report.identify_picture import draw_plant

        svg = draw_plant(self.joints, self.unit, self.agreement)
        folder.write("result.json", plain_json(document))
        folder.write("identify.svg", svg)
        folder.write("report.html", self._page(svg, document))

    def _page(self, svg: str, document: Mapping[str, Any]) -> str:
        table, refusals = self.table(), self.refusals()
        sections = [Section("", [Figure(svg, _CAPTION if table else "")])]
        if table:
            sections.append(Section("Each joint", [table, Paragraph(_COLUMNS)]))
        if refusals:
            sections.append(Section("What could not be told", [refusals]))
        sections.append(Section("What goes with it", [Paragraph(_sentence(line)) for line in self.remarks()]))
        sections.append(Section("How it was moved", [self._motions()]))
        sections.append(Section("Next", [Paragraph(self.next_command())]))
        return page(
            f"What does {self.module.name} make of its commands?",
            _sentence(self.verdict()),
            sections,
            tone="bad" if not table else "finding" if self.refused else "good",
            subtitle=f"{self.module.device}, told {self.module.rate_hz:g} times a second",
            footer=f"onbeat identify, {document['run'].get('date', '')}; the numbers are in result.json.",
        )

    def _motions(self) -> Table:
        rows = []
        for joint in self.joints:
            motion, (low, high) = joint.excitation, joint.excitation.reach
            rows.append(
                (
                    f"{self.module.name} {joint.joint}",
                    f"{motion.motion}, {motion.tones_hz[0]:g} to {motion.tones_hz[-1]:g} Hz",
                    f"{motion.duration_s:.0f} s",
                    f"{low:+.3g} to {high:+.3g} {self.unit}",
                    f"{motion.peak_speed:.3g} {self.unit}/s",
                    f"{motion.peak_acceleration:.3g} {self.unit}/s2",
                    f"{len(joint.moved.sent_ns)}",
                    f"{len(joint.moved.samples.t_ns)}",
                )
            )
        return Table(("joint", "motion", "time", "reach", "peak speed", "peak acceleration", "sent", "read"), rows, left=2)


_CAPTION = (
    "Above: how far each joint is behind what was sent, with its 95 % interval. Below, for the joint that is known best: the "
    "delay and the gain of each tone alone, beside the dead time and lag that were fitted to all of them; and some seconds of "
    "the motion, what was read moved back by l_eff."
)
# Below the table in a terminal.
KEY = "l_eff: from sending to motion; a dead time or lag that is not known to 1 ms is left out; chi2: near 1 where that is all."
_COLUMNS = (
    "l_eff is the time from sending to motion: half of the hold between two sends, dead time and lag. A part that is not known "
    "to 1 ms is left out. Gain is how far the joint went for how far it was told to go; chi2 is near 1 where a dead time and a "
    "lag are all there is. action_latency stays the lead that is applied, once."
)


def _once(remarks: Sequence[tuple[int, str]]) -> list[str]:
    """Give each remark once; those that differ in their numbers only are said for the first joint."""
    seen: dict[str, list[tuple[int, str]]] = {}
    for joint, remark in remarks:
        seen.setdefault(re.sub(r"[-+]?\d[\d.]*", "#", remark), []).append((joint, remark))
    lines = []
    for alike in seen.values():
        joint, remark = alike[0]
        others = sorted({other for other, _ in alike} - {joint})
        lines.append(f"{remark} (joint {joint}; {', '.join(map(str, others))} alike)" if others else remark)
    return lines


def _joint(joint: JointPlant) -> dict[str, Any]:
    plant, motion = joint.plant, joint.excitation
    return {
        "joint": joint.joint,
        "verdict": plant.verdict,
        "reason": plant.reason,
        "l_eff": _numbers(plant.l_eff),
        "dead_time": _numbers(plant.dead_time),
        "lag": _numbers(plant.lag),
        "gain": plant.gain,
        "gain_ci95": plant.gain_ci95,
        "chi2_dof": plant.chi2_dof,
        "half_hold_s": plant.half_hold_s,
        "stamps": joint.stamps,
        "biased": joint.biased,
        "tones": [asdict(tone) for tone in plant.tones],
        "motion": {
            "kind": motion.motion,
            "tones_hz": motion.tones_hz,
            "duration_s": motion.duration_s,
            "reach": motion.reach,
            "peak_speed": motion.peak_speed,
            "peak_acceleration": motion.peak_acceleration,
        },
        "sent": len(joint.moved.sent_ns),
        "read": len(joint.moved.samples.t_ns),
        "remarks": joint.remarks,
    }


def _numbers(result: CalibrationResult) -> dict[str, Any]:
    return {
        "value": result.value,
        "ci95": result.ci95,
        "verdict": result.verdict,
        "reason": result.reason,
        "n": result.n,
        "conditions": dict(result.conditions),
    }


def _pair(result: CalibrationResult) -> tuple[str, str]:
    return (_ms(result.value or 0.0), f"± {_half(result.ci95 or 0.0)}") if result.accepted else ("", "")


def _both(result: CalibrationResult) -> str:
    return " ".join(_pair(result)).strip()


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _half(seconds: float) -> str:
    """Write half of an interval: never as nothing."""
    return _ms(seconds) if seconds >= 5e-6 else f"{seconds * 1e3:.1g} ms"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
