from pathlib import Path

import pytest

from onbeat.errors import BadInput, OnbeatError
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


def test_out_may_be_a_link_to_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with run_folder("run", tmp_path / "link") as folder:
        folder.write("a.txt", "a")
    assert (tmp_path / "link").is_symlink()
    assert [p.name for p in (tmp_path / "real").iterdir()] == ["a.txt"]


def test_an_empty_folder_is_filled_in_place(tmp_path: Path) -> None:
    before = tmp_path.stat().st_ino  # a mount cannot be replaced, and must not be
    with run_folder("run", tmp_path) as folder:
        folder.write("a.txt", "a")
    assert tmp_path.stat().st_ino == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_two_runs_at_once_take_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with run_folder("run") as first, run_folder("run") as second:
        first.write("a.txt", "first")
        second.write("a.txt", "second")
    assert [(tmp_path / name / "a.txt").read_text() for name in ("run", "run-2")] == ["first", "second"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run", "run-2"]


def test_two_runs_at_once_cannot_share_an_out(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with run_folder("run", out), pytest.raises(BadInput, match=r"another run writes .* now"), run_folder("run", out):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("out", [None, "run", "."])
def test_what_a_killed_run_left_is_cleared_away(out: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left = tmp_path / (".onbeat.partial" if out == "." else ".run.partial")
    (left / "rig").mkdir(parents=True)
    (left / "recording.mcap.partial").write_text("half")
    with run_folder("run", None if out is None else Path(out)) as folder:
        folder.write("a.txt", "a")
    assert [p.name for p in folder.final.iterdir()] == ["a.txt"]
    assert not left.exists()


def test_a_run_is_kept_when_its_name_was_taken_meanwhile(tmp_path: Path) -> None:
    with pytest.raises(OnbeatError, match=r"made .*run while the run lasted; the run is kept in .*run-2"):  # noqa: PT012, SIM117
        with run_folder("run", tmp_path / "run") as folder:
            folder.write("a.txt", "a")
            (tmp_path / "run").mkdir()
    assert (tmp_path / "run-2" / "a.txt").read_text() == "a"
    assert list((tmp_path / "run").iterdir()) == []


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    with run_folder("run", tmp_path / "run") as folder:
        folder.write("a.txt", "b\udcffd")
    assert (folder.final / "a.txt").read_text(encoding="utf-8") == "b?d"


def test_a_working_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for out in (None, Path("run")):
        with pytest.raises(BadInput, match="the working directory was removed"), run_folder("run", out):
            pass


def test_folders_in_it_come_with_it_unless_they_are_taken_away(tmp_path: Path) -> None:
    with run_folder("run", tmp_path / "run") as folder:
        inner = folder.inner("a")
        inner.write("x.txt", "x")
        folder.inner("b").write("x.txt", "x")
        folder.remove("b")
        assert inner.final == tmp_path / "run" / "a"
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["a"]
    assert (inner.final / "x.txt").read_text() == "x"
