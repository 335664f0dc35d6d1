"""What `onbeat check` says of many recordings: one row each, the worst first."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onbeat.report.check import CheckReport
from onbeat.report.document import plain_json
from onbeat.report.folder import RunFolder
from onbeat.report.html import Section, Table, page
from onbeat.report.words import as_sentence, counted, in_words, named, printable, short

__all__ = ("HEADER", "CheckSummary", "FileSummary", "file_summary")

HEADER = ("recording", "verdict", "worst finding")
SCHEMA = "onbeat check of many 1"


@dataclass(frozen=True, slots=True)
class FileSummary:
    """One of the recordings, as it crosses from the process that looked at it.

    Args:
        path: Where it is.
        folder: Name of its folder in the folder of the run; "" where none was made.
        verdict: One sentence.
        findings: (fault, streams, sentence), worst first.
        error: Why it could not be read, or not whole; "" for a good file.
    """

    path: str
    folder: str = ""
    verdict: str = ""
    findings: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    error: str = ""

    @property
    def word(self) -> str:
        """How it stands, in a word or two."""
        if self.error:
            return "not read whole" if self.folder else "not read"
        return counted(len(self.findings), "finding") if self.findings else "good"


def file_summary(path: str, folder: str, report: CheckReport) -> FileSummary:
    """Make the row of one recording."""
    findings = tuple((one.fault, one.streams, named(one)) for one in report.findings)
    return FileSummary(path, folder, report.verdict(), findings, report.examined.damage)


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """One run of `onbeat check` on many recordings.

    Args:
        files: One each, in the order in which they were asked for.
    """

    files: tuple[FileSummary, ...]

    @property
    def ordered(self) -> list[FileSummary]:
        """The worst first: what could not be read, then by the number of findings."""
        return sorted(self.files, key=lambda one: (not one.error, -len(one.findings)))

    def verdict(self) -> str:
        """Say in one sentence how they stand."""
        broken = sum(bool(one.error) for one in self.files)
        found = sum(bool(one.findings) for one in self.files)
        often = Counter(fault for one in self.files for fault in dict.fromkeys(fault for fault, _, _ in one.findings))
        parts = [f"{found} with findings" if found else "no timing fault found"]
        if often:
            parts[0] += f" (most often {', '.join(f'{in_words(fault)}: {n}' for fault, n in often.most_common(3))})"
        if broken:
            parts.append(f"{broken} could not be read whole")
        return f"{counted(len(self.files), 'recording')}: {', '.join(parts)}"

    def rows(self) -> list[tuple[str, ...]]:
        """Give the cells under HEADER."""
        return [(_name(one), one.word, _worst(one)) for one in self.ordered]

    def document(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Give result.json; `run` holds what differs from run to run."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict(),
            "recordings": [
                {
                    "path": one.path,
                    "folder": one.folder,
                    "verdict": one.verdict,
                    "error": one.error,
                    "findings": [{"fault": f, "streams": list(streams), "sentence": text} for f, streams, text in one.findings],
                }
                for one in self.files
            ],
            "run": dict(run),
        }

    def write(self, folder: RunFolder, document: Mapping[str, Any]) -> None:
        """Write result.json and report.html."""
        folder.write("result.json", plain_json(document))
        table = Table(
            (*HEADER, "folder"), [(*row, one.folder) for row, one in zip(self.rows(), self.ordered, strict=True)], left=4
        )
        tone = "bad" if any(one.error for one in self.files) else "finding" if any(one.findings for one in self.files) else "good"
        footer = f"onbeat check, {document['run'].get('date', '')}; each recording has its own report in its folder."
        sentence = as_sentence(self.verdict())
        folder.write("report.html", page("Is their time right?", sentence, [Section("", [table])], tone=tone, footer=footer))


def _name(one: FileSummary) -> str:
    return short(one.path.rstrip("/").rpartition("/")[2] or one.path, 48)


def _worst(one: FileSummary) -> str:
    if one.error and not one.findings:
        return as_sentence(printable(one.error), (_name(one), one.path))
    if not one.findings:
        return ""
    fault, streams, sentence = one.findings[0]
    return f"{in_words(fault)}: {as_sentence(sentence, streams)}"
