from pathlib import Path

from onbeat.report import run_folder
from onbeat.report.doctor_page import round_trip_cells, self_test_cells, write_doctor
from tests.report.doctor_runs import BAD, GOOD, WARN, report, run, trips


def test_folder_holds_page_numbers_and_pictures(tmp_path: Path) -> None:
    made = report(GOOD, WARN, BAD, tests=(run(), run("load")), device=("arm", trips()))
    with run_folder("onbeat-doctor", tmp_path / "out") as folder:
        write_doctor(folder, made, made.document({"date": "2026-01-01", "wall_s": 9.0}))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "result.json", "lateness.svg", "intervals.svg"}
    page = (tmp_path / "out/report.html").read_text()
    assert "swapoff -a" in page
    assert "/dev/&lt;x&gt;" in page
    assert "under load (cpu, gil)" in page


def test_page_without_a_run_or_a_device(tmp_path: Path) -> None:
    made = report(GOOD)
    with run_folder("onbeat-doctor", tmp_path / "out") as folder:
        write_doctor(folder, made, made.document({}))
    assert "What to mend" not in (tmp_path / "out/report.html").read_text()


def test_run_that_does_not_count_says_so_in_its_row() -> None:
    assert self_test_cells(run(others=1.0))[1] == "not valid"


def test_rows_of_a_device_are_in_milliseconds() -> None:
    rows = round_trip_cells(trips())
    assert rows[0][0] == "round trip"
    assert 0.7 <= float(rows[0][1]) <= 0.9
