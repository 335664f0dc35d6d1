import pytest

from onbeat.cli.check_words import print_comparison, print_report
from onbeat.cli.terminal import Terminal
from onbeat.health import Figure, Verdict
from onbeat.health.baseline import Change, Comparison
from onbeat.report.check import CheckReport
from tests.report.made_check import examined, finding


def test_findings_of_one_fault_are_one_block(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(Terminal(), CheckReport(examined(finding("skew", "a"), finding("skew", "b"), finding("gap", "c"))))
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line[:1].isdigit()] == [
        "3 findings in 1 stream, the worst: skew (a).",
        "1. skew: a",
        "2. gap: c",
    ]
    assert "   also on: b" in out


def test_sentence_of_a_finding_is_said_once_with_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(Terminal(), CheckReport(examined(finding("skew", "a"))))
    out = capsys.readouterr().out
    assert out.startswith("1 finding in 1 stream: skew (a).\n")
    assert out.count("a runs 46 ppm fast against the log") == 1
    assert "   95 %: skew 46 ppm (45.2 ppm to 46.9 ppm)\n   confirm:" in out


def test_what_was_counted_has_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    counted = Verdict("gap", ("a",), "finding", "silent", {"gaps": Figure(3, "1")}, "look", "mend")
    print_report(Terminal(), CheckReport(examined(counted, damage="ends early")))
    out = capsys.readouterr().out
    assert out.startswith("Read only in part; 1 finding in 1 stream: gap (a).\n")
    assert "95 %" not in out


def test_the_rest_is_brief(capsys: pytest.CaptureFixture[str]) -> None:
    notes = [Verdict("jitter", (str(k),), "note", f"joint {k} is late") for k in range(20)]
    open_ = [Verdict("offset", (str(k),), "unjudged", "no motion") for k in range(20)]
    print_report(Terminal(), CheckReport(examined(*notes, *open_)))
    out = capsys.readouterr().out
    assert "and 12 more in the report." in out
    assert out.count("No motion.") == 1
    assert "offset (0, 1, 2, 3 and 16 more): No motion." in out


def test_a_comparison_names_both_figures_and_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    figure = Figure(0.11, "s", 0.104, 0.116)
    changes = (
        Change("offset", ("camera",), "offset", None, figure),
        Change("rate", ("imu",), "rate", Figure(100, "Hz"), Figure(90, "Hz")),
        Change("stream", ("odom",)),
    )
    print_comparison(Terminal(), Comparison(changes, (Change("gap", ("imu",), "gap", figure, None),)), "more is worse")
    assert capsys.readouterr().out.splitlines() == [
        "worse:",
        "   new: offset of camera, 110 ms (95 %: 104 ms to 116 ms)",
        "   rate of imu: 100 Hz before, 90 Hz now",
        "   stream odom is gone",
        "better:",
        "   gone: gap of imu, it was 110 ms (95 %: 104 ms to 116 ms)",
        "The rule: more is worse.",
        "",
    ]
