import logging
from pathlib import Path

import pytest

from onbeat.cli.run_log import kept_log, open_page


def test_log_is_kept_and_some_warnings_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with kept_log(tmp_path / "run.log", ("onbeat.rig",)):
        logging.getLogger("onbeat.rig").warning("copied")
        logging.getLogger("onbeat.rig").info("quiet")
        logging.getLogger("onbeat.module").warning("often")
    logging.getLogger("onbeat.rig").warning("too late")
    assert (tmp_path / "run.log").read_text() == "copied\nquiet\noften\n"
    assert capsys.readouterr().err.startswith("onbeat: copied\n")
    assert not logging.getLogger("onbeat").handlers
    assert not logging.getLogger("onbeat.rig").handlers


def test_page_is_not_opened_where_nobody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("opened"))
    open_page(tmp_path / "report.html")
