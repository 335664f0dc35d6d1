"""`onbeat info`: say in one screen what a recording holds, and on which clocks."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onbeat.cli.main import COULD_NOT_RUN, GOOD, os_sentence
from onbeat.cli.terminal import Terminal, only_we_speak
from onbeat.errors import OnbeatError

if TYPE_CHECKING:
    from onbeat.health.examine import Examined

__all__ = ("EXAMPLE", "run")

EXAMPLE = "onbeat info drive.mcap"

_MOST_STREAMS = 60


def run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Recordings: MCAP, bags, LeRobot, CSV, ...")],
    json: Annotated[bool, typer.Option("--json", help="Print the facts as one JSON document.")] = False,
) -> int:
    """Say what a recording holds: its span, its clocks, and the rate, the longest gap and the stamps of each stream.

    Exit code 2 when a file could not be read, or not whole; the others are told all the same.
    """
    from onbeat.health.examine import examine
    from onbeat.read.open import open_streams
    from onbeat.report.words import printable

    terminal = Terminal(json=json)
    documents: list[dict[str, Any]] = []
    errors: list[str] = []
    for path in files:
        try:
            with only_we_speak():
                examined = examine(open_streams(path), (), (), terminal.progress)
        except (OnbeatError, OSError) as error:
            errors.append(os_sentence(error) if isinstance(error, OSError) else str(error))
            continue
        if documents:
            terminal.say()
        documents.append(_document(examined))
        _print(terminal, examined)
        if examined.damage:
            errors.append(examined.damage)
        terminal.say(f"Next: onbeat check {shlex.quote(printable(str(path)))}")
    terminal.document({"recordings": documents, "errors": errors})
    for sentence in errors:
        print(f"onbeat: {printable(sentence)}", file=sys.stderr)
    return COULD_NOT_RUN if errors else GOOD


def _document(examined: "Examined") -> dict[str, Any]:
    from onbeat.report.streams_table import clock_sentences, stream_data

    recording = examined.recording
    return {
        "name": recording.path.name or recording.path.resolve().name,
        "kind": recording.kind,
        "clocks": clock_sentences(examined.facts),
        "streams": [stream_data(one) for one in examined.facts],
        "notes": list(recording.notes),
        "damage": examined.damage,
    }


def _print(terminal: Terminal, examined: "Examined") -> None:
    from onbeat.report.streams_table import clock_sentences, stream_table
    from onbeat.report.words import as_sentence, counted, duration, printable, short

    recording, facts = examined.recording, examined.facts
    rows, span_s = sum(one.n for one in facts), max(one.span_s for one in facts)
    name = short(recording.path.name or recording.path.resolve().name)
    what = f"{counted(len(facts), 'stream')}, {counted(rows, 'row')}, {duration(round(span_s, 3))}"
    terminal.say(f"{name}: {recording.kind}, {what}", style="bold")
    for sentence in (*clock_sentences(facts), *recording.notes):
        terminal.say(as_sentence(printable(sentence), [one.name for one in facts]))
    terminal.say()
    terminal.table(*stream_table(facts[:_MOST_STREAMS], 32), left=2)
    if len(facts) > _MOST_STREAMS:
        terminal.say(f"and {len(facts) - _MOST_STREAMS} more; --json has them all")
    terminal.say()
