import json
import os
import shlex
import subprocess
import sys

import pytest

from onbeat.cli.terminal import Terminal, only_we_speak


def test_plain_text_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.say("a [b] c", style="bold red")
    terminal.table(("joint", "delay", "why"), [("pan", "138.0 ms", ""), ("lift", "", "it [never] moved")], styles=(None, "dim"))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "a [b] c" in out
    assert "it [never] moved" in out
    assert "138.0 ms" in out


def test_long_sentences_stay_on_one_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().say("word " * 60)
    assert capsys.readouterr().out.count("\n") == 1


def test_json_is_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(json=True)
    terminal.say("hello")
    terminal.table(("a",), [("b",)])
    with terminal.progress("working", 2) as advance:
        advance(1)
    terminal.document({"value": float("nan"), "n": 3})
    assert json.loads(capsys.readouterr().out) == {"value": None, "n": 3}


def test_no_document_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().document({"a": 1})
    assert capsys.readouterr().out == ""


def test_steps_are_lines_on_stderr_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal().steps(2) as begin:
        begin("measuring")
        begin("drawing")
    captured = capsys.readouterr()
    assert captured.err == "measuring ...\ndrawing ...\n"
    assert captured.out == ""


def test_quiet_steps_and_json_steps_show_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for terminal, quiet in ((Terminal(), True), (Terminal(json=True), False)):
        with terminal.steps(1, quiet=quiet) as begin:
            begin("measuring")
    assert capsys.readouterr() == ("", "")


def test_what_c_libraries_print_goes_nowhere_and_our_words_do_not(capfd: pytest.CaptureFixture[str]) -> None:
    with only_we_speak():
        os.write(2, b"Corrupt JPEG data\n")
        print("ours", file=sys.stderr)
    os.write(2, b"after\n")
    assert "Corrupt" not in capfd.readouterr().err
    script = "import os, sys\nfrom onbeat.cli.terminal import only_we_speak\nwith only_we_speak():\n"
    script += " os.write(2, b'theirs')\n print('ours', file=sys.stderr)\nos.write(2, b'after')\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "ours\nafter"


def test_nothing_to_keep_quiet_where_stderr_is_closed() -> None:
    script = "import sys\nfrom onbeat.cli.terminal import only_we_speak\nwith only_we_speak():\n print('fine')\n"
    command = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(script)} 2>&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "fine\n"
