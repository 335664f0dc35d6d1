"""The page of `onbeat doctor`: the verdict, what to mend, the self test with its picture, the device, every check."""

from collections.abc import Mapping, Sequence
from typing import Any

from onbeat.machine.machine import MachineCheck
from onbeat.machine.round_trips import RoundTrips
from onbeat.machine.self_test import SelfTest
from onbeat.report.doctor import DoctorReport, self_test_words
from onbeat.report.doctor_picture import draw_intervals, draw_lateness
from onbeat.report.document import plain_json
from onbeat.report.folder import RunFolder
from onbeat.report.html import Figure, Paragraph, Section, Table, page
from onbeat.report.words import as_sentence, printable

__all__ = ("ROUND_TRIP_HEADER", "SELF_TEST_HEADER", "round_trip_cells", "self_test_cells", "write_doctor")

SELF_TEST_HEADER = ("run", "verdict", "cycles", "p50 us", "p99 us", "p99.9 us", "max us", "missed", "stolen", "others")
ROUND_TRIP_HEADER = ("what", "p50 ms", "p99 ms", "max ms")
_TONES = {"good": "good", "unknown": "finding", "warn": "finding", "bad": "bad"}


def write_doctor(folder: RunFolder, report: DoctorReport, document: Mapping[str, Any]) -> None:
    """Write result.json, report.html and the pictures: lateness.svg, and intervals.svg where a device was asked."""
    pictures = {}
    if report.tests:
        pictures["lateness"] = draw_lateness(report.tests)
    if report.device is not None:
        pictures["intervals"] = draw_intervals(*report.device)
    for name, svg in pictures.items():
        folder.write(f"{name}.svg", svg)
    folder.write("result.json", plain_json(document))
    folder.write("report.html", _page(report, pictures, document["run"]))


def self_test_cells(test: SelfTest) -> list[str]:
    """The row of one run under SELF_TEST_HEADER."""
    return [
        self_test_words(test),
        "not valid" if test.invalid else test.verdict,
        str(len(test.lateness_ns)),
        *(f"{test.percentile_us(percent):.0f}" for percent in (50, 99, 99.9, 100)),
        str(test.missed),
        f"{100 * test.stolen_share:.1f} %",
        f"{test.others_cpus:.2f} CPUs",
    ]


def round_trip_cells(trips: RoundTrips) -> list[list[str]]:
    """The rows of a device under ROUND_TRIP_HEADER."""
    rows = (("round trip", trips.took_ns), ("between new readings", trips.interval_ns), ("age of the feedback", trips.age_ns))
    return [[name, *_milliseconds(values)] for name, values in rows]


def _milliseconds(values_ns: Any) -> list[str]:
    import numpy as np

    return [f"{x * 1e-6:.2f}" for x in np.percentile(values_ns, [50, 99, 100])] if len(values_ns) else ["-"] * 3


def _page(report: DoctorReport, pictures: Mapping[str, str], run: Mapping[str, Any]) -> str:
    sections = []
    mend = [*report.of("bad"), *report.of("warn")]
    if mend:
        rows = [[check.verdict, check.name, printable(check.words), check.fix] for check in mend]
        sections.append(Section("What to mend", [Table(("", "check", "found", "fix"), rows, left=4)]))
    if report.tests:
        sections.append(_self_test(report.tests, pictures["lateness"]))
    if report.device is not None:
        sections.append(_device(*report.device, pictures["intervals"]))
    sections.append(Section("Every check", [_every(report.checks)]))
    return page(
        "Is this machine on time?",
        as_sentence(report.verdict()),
        sections,
        tone=_TONES[report.level],
        subtitle=f"{run.get('kernel', '')}, {run.get('user', '')}",
        footer=f"onbeat doctor, {run.get('date', '')}, in {run.get('wall_s', 0):.1f} s",
    )


def _self_test(tests: Sequence[SelfTest], picture: str) -> Section:
    blocks: list[Paragraph | Table | Figure] = [
        Table(SELF_TEST_HEADER, [self_test_cells(test) for test in tests], left=2),
        Figure(picture, "How late each cycle woke. The figures leave out cycles during which the host had the processor."),
    ]
    blocks += [Paragraph(as_sentence(f"{self_test_words(test)}: {test.invalid}")) for test in tests if test.invalid]
    blocks += [Paragraph(as_sentence(words)) for words in dict.fromkeys(words for test in tests for words in test.refused)]
    return Section("A loop, tried", blocks)


def _device(name: str, trips: RoundTrips, picture: str) -> Section:
    words = (
        f"{len(trips.took_ns)} questions at {trips.rate_hz:g} Hz; {trips.late} ticks passed before an answer was in; told nothing"
    )
    caption = "Feedback is at most as old as the time since the newest reading was asked for: control on it corrects the past."
    return Section(
        f"The device {printable(name)}",
        [Paragraph(as_sentence(words)), Table(ROUND_TRIP_HEADER, round_trip_cells(trips)), Figure(picture, caption)],
    )


def _every(checks: Sequence[MachineCheck]) -> Table:
    rows = [[check.name, check.verdict, printable(check.words), check.source] for check in checks]
    dimmed = [k for k, check in enumerate(checks) if check.verdict == "good"]
    return Table(("check", "verdict", "found", "source"), rows, left=4, dimmed=dimmed)
