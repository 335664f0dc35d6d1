import re
from pathlib import Path

from onbeat.health import Figure, Verdict
from onbeat.report import run_folder
from onbeat.report.check import CheckReport
from onbeat.report.check_page import write_check
from tests.report.made_check import EVIL, examined, finding


def written(report: CheckReport, tmp_path: Path) -> tuple[str, set[str]]:
    with run_folder("x", tmp_path / "out") as folder:
        write_check(folder, report, report.document({"date": "2026-03-01"}))
    return (tmp_path / "out" / "report.html").read_text(), {path.name for path in (tmp_path / "out").iterdir()}


def test_each_finding_has_its_sentence_picture_numbers_confirmation_and_fix(tmp_path: Path) -> None:
    html, names = written(CheckReport(examined(finding(), finding("gap", "camera", drawn=False))), tmp_path)
    assert names == {"report.html", "result.json", "01-skew.svg"}
    for text in (
        "1. Skew: imu",
        "imu runs 46 ppm fast against the log.",
        "45.2 ppm to 46.9 ppm",
        "2.8 ms",
        "Confirm: Log a pulse of one clock on the other.",
        "Fix: Discipline the clock.",
        "2. Gap: camera",
        "drive &lt;1&gt;.mcap",
    ):
        assert text in html
    assert html.count("<figure>") == 1


def test_notes_reasons_damage_and_streams_are_there(tmp_path: Path) -> None:
    open_ = [Verdict(fault, ("imu",), "unjudged", "no motion in it") for fault in ("offset", "skew")]
    late = Verdict("delay", ("imu",), "note", "the arm follows by 138 ms", {"pan": Figure(0.1382, "s", 0.134, 0.142)})
    note = Verdict("offset", ("imu",), "note", "is 7 ms early")
    html, _ = written(CheckReport(examined(*open_, note, late, damage="it ends at byte 17", notes=["no index"])), tmp_path)
    assert "It ends at byte 17." in html
    assert html.index("The arm follows by 138 ms.") < html.index("138.2 ms") < html.index("imu: is 7 ms early.")
    assert html.count("No motion in it.") == 1  # one reason, two questions
    assert "offset, skew" in html
    assert "No index." in html
    assert "to 10 ms" in html
    assert "var(--red)" in html


def test_two_hundred_streams_with_one_fault_are_one_section_with_few_pictures(tmp_path: Path) -> None:
    names = [f"/camera/{k}" for k in range(200)]
    report = CheckReport(examined(*(finding("skew", name) for name in names), streams=names))
    html, files = written(report, tmp_path)
    assert html.count("<h2>1. Skew: /camera/0 and 199 more</h2>") == 1
    assert sum(name.endswith(".svg") for name in files) == 24
    assert len(html) < 5_000_000


def test_names_are_text_and_not_markup(tmp_path: Path) -> None:
    huge = "z" * 100_000
    html, files = written(CheckReport(examined(finding("skew", EVIL), finding("gap", huge), streams=(EVIL, huge))), tmp_path)
    assert "<b>arm" not in html
    assert "\x1b" not in html
    assert "&lt;b&gt;arm" in html
    assert not re.search("z{100}", html)
    assert all("/" not in name for name in files)
