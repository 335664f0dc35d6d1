"""What `onbeat check` says in a terminal: the verdict, a block for each fault, and the rest in brief."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onbeat.cli.terminal import Terminal
    from onbeat.health.baseline import Change, Comparison
    from onbeat.health.check import Figure, Verdict
    from onbeat.report.check import CheckReport

__all__ = ("print_comparison", "print_report")

_MOST_NOTES, _MOST_REASONS = 8, 5


def print_report(terminal: "Terminal", report: "CheckReport") -> None:
    """Print what was found in one recording."""
    from onbeat.report.words import as_sentence, in_words, listed, spoken

    terminal.say(as_sentence(_headline(report), report.stream_names), style="yellow" if report.findings else "bold")
    for note in report.delays:
        terminal.say(as_sentence(spoken(note), note.streams))
    for number, group in enumerate(report.groups, 1):
        first = group[0]
        terminal.say()
        terminal.say(f"{number}. {in_words(first.fault)}: {listed(first.streams)}", style="bold")
        terminal.say(f"   {as_sentence(spoken(first), first.streams)}")
        if measured := _interval(first):
            terminal.say(f"   95 %: {measured}")
        terminal.say(f"   confirm: {as_sentence(spoken(first, first.confirm), first.streams)}")
        terminal.say(f"   fix: {as_sentence(spoken(first, first.fix), first.streams)}")
        if len(group) > 1:
            terminal.say(f"   also on: {listed([' and '.join(one.streams) for one in group[1:]])}")
    _brief(terminal, "worth knowing:", report.remarks, _MOST_NOTES)
    _brief(terminal, "could not be judged:", report.unjudged, _MOST_REASONS)
    terminal.say()


def _headline(report: "CheckReport") -> str:
    """Say in a line how it stands; the sentence of the worst finding follows in its block, and is not said twice."""
    from onbeat.report.words import counted, in_words, listed

    if not report.findings:
        return report.verdict()
    worst, streams = report.findings[0], counted(len(report.examined.facts), "stream")
    broken = "read only in part; " if report.examined.damage else ""
    which = f"{', the worst' if len(report.findings) > 1 else ''}: {in_words(worst.fault)}"
    where = f" ({listed(worst.streams)})" if worst.streams else ""
    return f"{broken}{counted(len(report.findings), 'finding')} in {streams}{which}{where}"


def _interval(verdict: "Verdict") -> str:
    """Give the first number that was estimated, with its interval; nothing where all were counted."""
    from onbeat.report.words import figure_cells

    for name, figure in verdict.figures.items():
        words, value, interval = figure_cells(name, figure)
        if interval:
            return f"{words} {value} ({interval})" if not interval.startswith("±") else f"{words} {value} {interval}"
    return ""


def _brief(terminal: "Terminal", title: str, verdicts: "Sequence[Verdict]", most: int) -> None:
    """Print sentences, each once, with all the streams that it is said of."""
    from onbeat.report.words import as_sentence, in_words, listed, short, spoken

    alike: dict[tuple[str, str], list[Verdict]] = {}
    for one in verdicts:
        alike.setdefault((one.fault, one.sentence), []).append(one)
    sentences = []
    for (fault, _), some in alike.items():
        streams, words = list(dict.fromkeys(name for one in some for name in one.streams)), spoken(some[0])
        about = "" if not streams or any(short(name) in words for name in streams) else f" ({listed(streams)})"
        sentences.append(f"{in_words(fault)}{about}: {as_sentence(words, streams)}")
    if not sentences:
        return
    terminal.say()
    terminal.say(title, style="bold")
    for sentence in sentences[:most]:
        terminal.say(f"   {sentence}")
    if len(sentences) > most:
        terminal.say(f"   and {len(sentences) - most} more in the report.")


def print_comparison(terminal: "Terminal", comparison: "Comparison", rule: str) -> None:
    """Print what got worse and what got better against the baseline."""
    for title, changes, style in (("worse:", comparison.worse, "red"), ("better:", comparison.better, "green")):
        if changes:
            terminal.say(title, style=style)
            for change in changes:
                terminal.say(f"   {_change(change)}")
    if not comparison.worse:
        terminal.say("Nothing got worse than the baseline.", style="bold")
    terminal.say(f"The rule: {rule}.", style="dim")
    terminal.say()


def _change(change: "Change") -> str:
    from onbeat.report.words import in_words, listed

    what = f"{in_words(change.what)} of {listed(change.streams)}"
    if change.what == "stream":
        return f"stream {listed(change.streams)} is gone"
    if change.before is None:
        return f"new: {what}{'' if change.after is None else ', ' + _figure(change.name, change.after)}"
    if change.after is None:
        return f"gone: {what}, it was {_figure(change.name, change.before)}"
    return f"{what}: {_figure(change.name, change.before)} before, {_figure(change.name, change.after)} now"


def _figure(name: str, figure: "Figure") -> str:
    from onbeat.report.words import figure_cells

    _, value, interval = figure_cells(name, figure)
    return f"{value} (95 %: {interval})" if interval else value
