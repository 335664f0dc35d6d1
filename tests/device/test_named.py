import sys
from pathlib import Path

import pytest

from onbeat.device.named import import_named
from onbeat.errors import BadInput

SOURCE = """
def follow(observation): ...

class Net:
    def __call__(self, observation): ...

net = Net()
limit = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a module in it, as a user has who starts onbeat where his files lie."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside_the_yaml.py").write_text(SOURCE)
    monkeypatch.delitem(sys.modules, "beside_the_yaml", raising=False)
    return tmp_path


def test_working_folder_counts_and_comes_last(here: Path) -> None:
    assert import_named("beside_the_yaml:follow", "it").__name__ == "follow"
    assert sys.path[-1] == str(here)
    import_named("beside_the_yaml:net", "it")
    assert sys.path.count(str(here)) == 1


@pytest.mark.usefixtures("here")
def test_what_is_missing_is_said_with_what_is_there() -> None:
    with pytest.raises(BadInput, match=r"^it: beside_the_yaml has no 'folow'; its functions are follow, net$"):
        import_named("beside_the_yaml:folow", "it", "function")
    with pytest.raises(BadInput, match=r"^it: beside_the_yaml has no 'Nett'; its classes are Net$"):
        import_named("beside_the_yaml:Nett", "it")
    with pytest.raises(BadInput, match="it names a int; name a function"):
        import_named("beside_the_yaml:limit", "it", "function")
    with pytest.raises(BadInput, match="there is no package 'not_beside_the_yaml'"):
        import_named("not_beside_the_yaml:follow", "it")


def test_whatever_a_module_raises_is_a_sentence(here: Path) -> None:
    (here / "raises_at_import.py").write_text("1 / 0\n")
    with pytest.raises(BadInput, match="it cannot be imported: ZeroDivisionError: division by zero"):
        import_named("raises_at_import:follow", "it")


def test_removed_working_folder_is_no_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = here / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert import_named("json:loads", "it")("1") == 1
