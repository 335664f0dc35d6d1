import json
from pathlib import Path

from onbeat.report import run_folder
from onbeat.report.check import CheckReport
from onbeat.report.check_summary import CheckSummary, FileSummary, file_summary
from tests.report.made_check import examined, finding

GOOD = FileSummary("/data/a.mcap", "a.mcap", "no timing fault found in 1 stream")
BAD = file_summary("/data/b.mcap", "b.mcap", CheckReport(examined(finding(), finding("gap", "camera"))))
CUT = FileSummary("/data/c.mcap", "c.mcap", "read only in part", error="it ends at byte 17")
NONE = FileSummary("/data/d<i>.mcap", error="it is empty")


def test_the_worst_stand_first() -> None:
    summary = CheckSummary((GOOD, BAD, CUT, NONE))
    assert summary.rows() == [
        ("c.mcap", "not read whole", "It ends at byte 17."),
        ("d<i>.mcap", "not read", "It is empty."),
        ("b.mcap", "2 findings", "skew: imu runs 46 ppm fast against the log."),
        ("a.mcap", "good", ""),
    ]
    assert summary.verdict() == "4 recordings: 1 with findings (most often skew: 1, gap: 1), 2 could not be read whole"


def test_all_good_is_said() -> None:
    assert CheckSummary((GOOD,)).verdict() == "1 recording: no timing fault found"


def test_page_and_document_hold_every_file(tmp_path: Path) -> None:
    summary = CheckSummary((GOOD, BAD, NONE))
    with run_folder("x", tmp_path / "out") as folder:
        summary.write(folder, summary.document({"jobs": 2}))
    html = (tmp_path / "out" / "report.html").read_text()
    assert "d&lt;i&gt;.mcap" in html
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [one["path"] for one in document["recordings"]] == ["/data/a.mcap", "/data/b.mcap", "/data/d<i>.mcap"]
    assert document["recordings"][1]["findings"][0]["fault"] == "skew"
    assert document["recordings"][2]["error"] == "it is empty"
