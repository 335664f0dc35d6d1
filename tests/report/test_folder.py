from pathlib import Path

import pytest

from onbeat.errors import BadInput
from onbeat.report import run_folder


def test_it_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with run_folder("run") as folder:
        folder.write("a.txt", "é")
        assert not (tmp_path / "run").exists()
    assert folder.final == tmp_path / "run"
    assert (tmp_path / "run" / "a.txt").read_text(encoding="utf-8") == "é"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_nothing_is_left_of_a_run_that_failed(error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error), run_folder("run", tmp_path / "run") as folder:  # noqa: PT012
        folder.write("a.txt", "a")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_a_second_run_gets_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finals = []
    for _ in range(3):
        with run_folder("run") as folder:
            finals.append(folder.final.name)
    assert finals == ["run", "run-2", "run-3"]


def test_out_may_be_an_empty_folder(tmp_path: Path) -> None:
    with run_folder("run", tmp_path) as folder:
        folder.path("a.txt").write_text("a")
    assert (tmp_path / "a.txt").read_text() == "a"


def test_out_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="exists and is not empty; nothing is overwritten"), run_folder("run", tmp_path):
        pass
    with pytest.raises(BadInput, match="exists and is not a folder"), run_folder("run", tmp_path / "mine.txt"):
        pass
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_out_without_a_parent(tmp_path: Path) -> None:
    with (
        pytest.raises(BadInput, match=f"there is no folder {tmp_path / 'a'} to make b in"),
        run_folder("run", tmp_path / "a" / "b"),
    ):
        pass
