"""The page of `onbeat check`: the verdict, each finding with its picture, what else is worth knowing, the streams."""

from collections.abc import Mapping, Sequence
from typing import Any

from onbeat.health.check import Verdict
from onbeat.report.check import CheckReport
from onbeat.report.check_picture import draw_plot
from onbeat.report.document import plain_json
from onbeat.report.folder import RunFolder
from onbeat.report.html import Figure, Paragraph, Section, Table, page
from onbeat.report.streams_table import clock_sentences, stream_table
from onbeat.report.words import as_sentence, counted, figure_cells, in_words, listed, named, printable, short, spoken

__all__ = ("write_check",)

_MOST_PICTURES = 24
_MOST_BESIDE = 40  # findings of one fault that are listed below the first


def write_check(folder: RunFolder, report: CheckReport, document: Mapping[str, Any]) -> None:
    """Write result.json, report.html and the pictures of the findings, as NUMBER-FAULT.svg.

    Args:
        folder: Where to.
        report: What was found.
        document: What `CheckReport.document` gave.
    """
    pictures: dict[int, str] = {}
    for number, finding in enumerate(report.findings, 1):
        if finding.plot is not None and len(pictures) < _MOST_PICTURES:
            pictures[id(finding)] = draw_plot(finding.plot)
            folder.write(f"{number:02d}-{finding.fault}.svg", pictures[id(finding)])
    folder.write("result.json", plain_json(document))
    folder.write("report.html", _page(report, pictures, document["run"]))


def _page(report: CheckReport, pictures: Mapping[int, str], run: Mapping[str, Any]) -> str:
    examined = report.examined
    sections: list[Section] = []
    if examined.damage:
        sections.append(Section("What could not be read", [Paragraph(as_sentence(printable(examined.damage)))]))
    if report.delays:
        sections.append(_delays(report.delays))
    for number, group in enumerate(report.groups, 1):
        sections.append(_group(number, group, pictures))
    if report.remarks:
        sections.append(Section("Worth knowing", _notes(report.remarks)))
    if report.unjudged:
        sections.append(Section("What could not be judged", [_reasons(report.unjudged)]))
    remarks = [*clock_sentences(examined.facts), *examined.recording.notes]
    said = dict.fromkeys(one.note for one in examined.facts if one.note)
    remarks += [f"{listed([one.name for one in examined.facts if one.note == note])}: {note}" for note in said]
    paragraphs = [Paragraph(as_sentence(printable(words), report.stream_names)) for words in dict.fromkeys(remarks)]
    header, cells = stream_table(examined.facts)
    sections.append(Section("Streams", [Table(header, cells, left=2, words=("stamps",)), *paragraphs]))
    rows = sum(one.n for one in examined.facts)
    return page(
        f"Is its time right? {short(report.name)}",
        as_sentence(report.verdict(), report.stream_names),
        sections,
        tone="bad" if examined.damage else "finding" if report.findings else "good",
        subtitle=f"{examined.recording.kind}, {counted(len(examined.facts), 'stream')}, {counted(rows, 'row')}",
        footer=f"onbeat check, {run.get('date', '')}; the numbers are in result.json.",
    )


def _group(number: int, group: Sequence[Verdict], pictures: Mapping[int, str]) -> Section:
    first, others = group[0], group[1:]
    blocks: list[Paragraph | Table | Figure] = [Paragraph(as_sentence(spoken(first), first.streams))]
    if id(first) in pictures:
        blocks.append(Figure(pictures[id(first)]))
    cells = [figure_cells(name, figure) for name, figure in first.figures.items()]
    # Counts have no interval; a column without any is left out.
    estimated = any(interval for *_, interval in cells)
    header = ("figure", "value", "95 %") if estimated else ("figure", "value")
    blocks.append(Table(header, cells if estimated else [cell[:2] for cell in cells]))
    blocks.append(Paragraph(f"Confirm: {as_sentence(spoken(first, first.confirm), first.streams)}"))
    blocks.append(Paragraph(f"Fix: {as_sentence(spoken(first, first.fix), first.streams)}"))
    drawn = [one for one in others if id(one) in pictures]
    for one in drawn:
        blocks.append(Paragraph(as_sentence(named(one), one.streams)))
        blocks.append(Figure(pictures[id(one)]))
    listed_ = [one for one in others if id(one) not in pictures]
    if listed_:
        rows = [(listed(one.streams), as_sentence(named(one), one.streams)) for one in listed_[:_MOST_BESIDE]]
        blocks.append(Table(("also on", "what"), rows, left=2))
    if len(listed_) > _MOST_BESIDE:
        blocks.append(Paragraph(f"And {len(listed_) - _MOST_BESIDE} more, in result.json."))
    more = f" and {counted(len(others), 'more', 'more')}" if others else ""
    return Section(f"{number}. {in_words(first.fault).capitalize()}: {listed(first.streams, 2)}{more}", blocks)


def _delays(notes: Sequence[Verdict]) -> Section:
    blocks: list[Paragraph | Table | Figure] = [Paragraph(as_sentence(spoken(note), note.streams)) for note in notes]
    # Joints keep the names that their file gives them.
    cells = [(short(name), *figure_cells(name, figure)[1:]) for note in notes for name, figure in note.figures.items()]
    if cells:
        blocks.insert(1, Table(("what", "value", "95 %"), cells))
    blocks += [Figure(draw_plot(note.plot)) for note in notes[:1] if note.plot is not None]
    blocks += [Paragraph(f"What to do: {as_sentence(spoken(note, note.fix), note.streams)}") for note in notes if note.fix]
    return Section("How late the joints follow", blocks)


def _notes(notes: Sequence[Verdict]) -> list[Paragraph | Table | Figure]:
    shown = [Paragraph(as_sentence(named(note), note.streams)) for note in notes[:_MOST_BESIDE]]
    more = len(notes) - len(shown)
    return [*shown, *([Paragraph(f"And {more} more, in result.json.")] if more > 0 else [])]


def _reasons(unjudged: Sequence[Verdict]) -> Table:
    """Say each reason once, with all the questions and streams that it stands for."""
    by_reason: dict[str, list[Verdict]] = {}
    for one in unjudged:
        by_reason.setdefault(spoken(one), []).append(one)
    rows = []
    for reason, some in by_reason.items():
        faults = listed(list(dict.fromkeys(in_words(one.fault) for one in some)), 6)
        streams = listed(list(dict.fromkeys(name for one in some for name in one.streams)))
        rows.append((faults, streams, as_sentence(reason)))
    return Table(("question", "streams", "why"), rows, left=3)
