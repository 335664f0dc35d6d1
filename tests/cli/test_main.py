"""The frame of every command, seen from outside: exit codes, one sentence, nothing heavy."""

import math
import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Annotated

import pytest
import typer

from onbeat.cli import main as frame
from onbeat.cli.main import Entry, main
from onbeat.errors import BadInput

HEAVY = ("numpy", "matplotlib", "pydantic", "pyarrow", "ruamel", "scipy", "rich", "typer", "onbeat._core")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A command of its own, `onbeat work FILE --speed X`, that does what the test puts in `module.act`."""
    module = types.ModuleType("fake_command")

    def run(file: Annotated[Path, typer.Argument()], speed: Annotated[float, typer.Option("--speed")] = 1.0) -> int:
        """Work on a file."""
        code = module.act(file, speed)
        assert isinstance(code, int)
        return code

    module.run = run  # type: ignore[attr-defined]
    module.EXAMPLE = "onbeat work data.csv --speed 2"  # type: ignore[attr-defined]
    module.act = lambda file, speed: 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_command", module)
    monkeypatch.setattr(frame, "COMMANDS", (Entry("work", "fake_command", "Work."), Entry("walk", "not_there", "Walk.")))
    return module


def raising(error: BaseException) -> object:
    def act(file: Path, speed: float) -> int:
        raise error

    return act


def one_sentence(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("onbeat: ")
    return err.removeprefix("onbeat: ").rstrip("\n")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(arguments: list[str], fake: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "  work  Work." in out
    assert "2 could not run" in out


def test_help_imports_nothing_heavy() -> None:
    loaded = f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    code = f"import sys; from onbeat.cli.main import main; main(['--help']); {loaded}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Usage: onbeat" in done.stdout


def test_the_terminal_is_light_until_it_speaks() -> None:
    code = f"import sys; import onbeat.cli.terminal; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("onbeat ")


def test_help_of_a_command_ends_with_its_example(fake: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["work", "--help"]) == 0
    out = capsys.readouterr().out
    assert "Usage: onbeat work" in out
    assert out.rstrip().endswith("Example: onbeat work data.csv --speed 2")


def test_options_reach_the_command_and_its_code_comes_back(fake: types.ModuleType) -> None:
    seen: list[object] = []

    def act(file: Path, speed: float) -> int:
        seen.extend((file, speed))
        return frame.FINDING

    fake.act = act  # type: ignore[attr-defined]
    assert main(["work", "a.csv", "--speed", "2.5"]) == 1
    assert seen == [Path("a.csv"), 2.5]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["wrok"], "no command 'wrok'; did you mean 'work'?"),
        (["zzz"], "no command 'zzz'; see: onbeat --help"),
        (["--versoin"], "no option '--versoin'; did you mean '--version'?"),
        (["work", "a", "--sped", "2"], "no option '--sped'; did you mean '--speed'?"),
        (["work", "a", "--port", "2"], "no option '--port'; see: onbeat work --help"),
        (["work", "a", "--zzzzzzz"], "no option '--zzzzzzz'; see: onbeat work --help"),
    ],
)
def test_unknown_words_get_the_nearest(
    arguments: list[str], sentence: str, fake: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert one_sentence(capsys) == sentence


def test_a_wrong_use_of_a_command_of_two_words_leads_to_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clock", "status", "--zzzzzzz"]) == 2
    assert one_sentence(capsys) == "no option '--zzzzzzz'; see: onbeat clock status --help"
    assert main(["clock", "watch", "here", "--duration", "2"]) == 2  # which is no slip of --rate
    assert one_sentence(capsys) == "no option '--duration'; see: onbeat clock watch --help"


@pytest.mark.parametrize("arguments", [["work"], ["work", "a", "b"], ["work", "a", "--speed", "fast"], ["work", "a", "--speed"]])
def test_a_wrong_use_is_one_sentence(arguments: list[str], fake: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert one_sentence(capsys).endswith("see: onbeat work --help")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (BadInput("the table has 3 legs; give it one more"), "the table has 3 legs; give it one more"),
        (BadInput("two\nlines"), "two lines"),
        (FileNotFoundError(2, "No such file", "x.csv"), "there is no x.csv; check the path"),
        (IsADirectoryError(21, "Is a directory", "x"), "x is a folder, not a file; name a file in it"),
        (OSError(28, "No space left on device", "x"), "x: no space left on device; take another path or free the resource"),
    ],
)
def test_what_fails_is_one_sentence(
    error: Exception, sentence: str, fake: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.act = raising(error)  # type: ignore[attr-defined]
    assert main(["work", "a"]) == 2
    assert one_sentence(capsys) == sentence


def test_permission_denied_names_the_file(fake: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    fake.act = raising(PermissionError(13, "Permission denied", "x.csv"))  # type: ignore[attr-defined]
    assert main(["work", "a"]) == 2
    assert one_sentence(capsys).startswith("x.csv may not be read")


def test_ctrl_c_is_one_line(fake: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    fake.act = raising(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert main(["work", "a"]) == 130
    assert "stopped by Ctrl-C" in one_sentence(capsys)


def test_a_defect_is_not_dressed_up(fake: types.ModuleType) -> None:
    fake.act = raising(ZeroDivisionError("ours"))  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError):
        main(["work", "a"])


TABLE = "t_ns,arm_cmd,arm_meas\n" + "".join(
    f"{k * 20_000_000},{math.sin(k / 20 + math.sin(k / 7))},{math.sin(k / 20 - 0.2 + math.sin(k / 7 - 0.6))}\n"
    for k in range(600)
)


@pytest.mark.parametrize("errors_too", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        *([entry.name, "--help"] for entry in frame.COMMANDS),
        ["--help"],
        ["--version"],
        ["info", "table.csv"],
        ["info", "table.csv", "--json"],
        ["check", "table.csv"],
        ["check", "table.csv", "table.csv", "other.csv"],
        ["check", "table.csv", "--json"],
        ["delay", "table.csv"],
        ["clock", "status"],
        ["clock", "status", "--json"],
    ],
    ids=" ".join,
)
def test_a_reader_that_goes_away_is_no_error(arguments: list[str], errors_too: bool, tmp_path: Path) -> None:
    for name in ("table.csv", "other.csv"):
        (tmp_path / name).write_text(TABLE)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-c", f"from onbeat.cli.main import main; raise SystemExit(main({arguments}))"],
        stdout=write_end,
        stderr=write_end if errors_too else subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    os.close(write_end)
    assert done.returncode == 141
    assert not done.stderr


def test_only_the_reader_of_complaints_goes_away() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-c", "from onbeat.cli.main import main; raise SystemExit(main(['wrok']))"],
        stdout=subprocess.PIPE,
        stderr=write_end,
        text=True,
        check=False,
    )
    os.close(write_end)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_command_that_ends_the_process_still_does(fake: types.ModuleType) -> None:
    fake.act = raising(SystemExit(7))  # type: ignore[attr-defined]
    with pytest.raises(SystemExit) as ended:
        main(["work", "a"])
    assert ended.value.code == 7


@pytest.mark.parametrize(("number", "code", "name"), [(signal.SIGTERM, 143, "SIGTERM"), (signal.SIGHUP, 129, "SIGHUP")])
def test_a_signal_ends_a_command_as_ctrl_c_does(
    number: signal.Signals, code: int, name: str, fake: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    tidied: list[bool] = []

    def act(file: Path, speed: float) -> int:
        try:
            signal.raise_signal(number)
        finally:
            tidied.append(True)
        return 0

    fake.act = act  # type: ignore[attr-defined]
    assert main(["work", "data.csv"]) == code
    assert tidied == [True]
    assert one_sentence(capsys) == f"stopped by {name}; nothing half-written was left"
    assert signal.getsignal(number) == signal.SIG_DFL


def test_an_ignored_hangup_stays_ignored(fake: types.ModuleType) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:

        def act(file: Path, speed: float) -> int:
            signal.raise_signal(signal.SIGHUP)
            return 0

        fake.act = act  # type: ignore[attr-defined]
        assert main(["work", "data.csv"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_closed_output_is_no_error(fake: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    fake.act = lambda file, speed: int(sys.stdout.isatty())  # type: ignore[attr-defined]
    assert main(["work", "data.csv"]) == 0
    sys.stdout.close()


def test_an_error_of_the_system_without_a_path(fake: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    fake.act = raising(FileNotFoundError(2, "No such file or directory"))  # type: ignore[attr-defined]
    assert main(["work", "data.csv"]) == 2
    assert one_sentence(capsys).startswith("the system says: no such file or directory")


def test_what_python_libraries_warn_of_stays_off_the_terminal(tmp_path: Path) -> None:
    script = "import sys, types, warnings, logging\nfrom onbeat.cli import main as frame\n"
    script += "module = sys.modules['noisy'] = types.ModuleType('noisy')\nmodule.EXAMPLE = ''\n"
    script += (
        "def run() -> int:\n warnings.warn('theirs')\n logging.getLogger('av').warning('theirs')\n print('ours')\n return 0\n"
    )
    script += (
        "module.run = run\nframe.COMMANDS = (frame.Entry('noisy', 'noisy', ''),)\nsys.argv = ['onbeat', 'noisy']\nframe.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("ours\n", "")
