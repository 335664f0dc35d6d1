"""The frame of every command: find it, call it, and end in one exit code; whatever fails is one sentence on stderr.

Exit codes: 0 good, 1 a finding, 2 could not run, 130 stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP).
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TextIO

from onbeat.errors import OnbeatError

__all__ = ("COMMANDS", "COULD_NOT_RUN", "FINDING", "GOOD", "INTERRUPTED", "Entry", "main", "os_sentence", "silence_libraries")

GOOD, FINDING, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130
_BROKEN_PIPE = 141  # what a shell reports for a process that SIGPIPE ended


@dataclass(frozen=True, slots=True)
class Entry:
    """One command. Its module is imported only when it is called.

    Args:
        name: What the user types.
        module: Where it lives. The module has `run`, a function whose annotations typer reads and that returns an exit
            code, and `EXAMPLE`, one line that ends the command's help. One with commands of its own has `app`, a typer.Typer.
        summary: Its line in `onbeat --help`.
    """

    name: str
    module: str
    summary: str


COMMANDS: tuple[Entry, ...] = (
    Entry("demo", "onbeat.cli.demo", "Measure the delays of a simulated rig, then land a grasp with and without them."),
    Entry("check", "onbeat.cli.check", "Name the timing faults of a recording: how sure, how to confirm, how to mend."),
    Entry("info", "onbeat.cli.info", "Say what a recording holds: streams, rates, clocks, gaps."),
    Entry("run", "onbeat.cli.run", "Run a policy on a rig, and say what became of its waypoints and what was late."),
    Entry("delay", "onbeat.cli.delay", "Say from a recording how late a robot's joints follow their commands."),
    Entry(
        "identify", "onbeat.cli.identify", "Move a module's joints, and say what each makes of its commands: delay, lag, gain."
    ),
    Entry("clock", "onbeat.cli.clock", "Keep one clock across machines: serve it, say how well it is known, watch it."),
    Entry(
        "doctor", "onbeat.cli.doctor", "Say whether this machine can keep a loop on time, what is in the way, what removes it."
    ),
    Entry("import", "onbeat.cli.import_rig", "Make a rig's files from the config of another program: onbeat import umi FILE."),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `onbeat` with its arguments (those of the process when None) and give its exit code."""
    if arguments is None:
        silence_libraries()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character shows another one; it does not end a run
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
    with _stopped_like_ctrl_c() as stopped_by:
        try:
            code = _dispatch(arguments)
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BrokenPipeError:
            code = _BROKEN_PIPE
        except OnbeatError as error:
            code = _fail(str(error))
        except OSError as error:
            code = _fail(os_sentence(error))
    if code == INTERRUPTED:
        number = stopped_by[0] if stopped_by else signal.SIGINT
        code = 128 + number
        what = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        _complain(f"stopped by {what}; nothing half-written was left")
    return code if _flushed(sys.stdout) & _flushed(sys.stderr) else _BROKEN_PIPE


def silence_libraries() -> None:
    """Keep off the terminal what libraries warn their own developers of; `python -W` brings the warnings back."""
    import logging
    import warnings

    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())


@contextmanager
def _stopped_like_ctrl_c() -> Iterator[list[int]]:
    """Let SIGTERM (kill, timeout, systemd) and SIGHUP (a terminal that closes) stop a command as cleanly as Ctrl-C does.

    Yields:
        The signals that came, oldest first.
    """
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    replaced = {}
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP, and that stays so
                replaced[number] = signal.signal(number, stop)
    except ValueError:
        pass  # not the main thread: its owner decides about signals
    try:
        yield came
    finally:
        for number, before in replaced.items():
            signal.signal(number, before)


def _open_closed_streams() -> None:
    """Give a process that was started without stdout or stderr (>&-, some service managers) one that swallows."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("--help", "-h"):
        print(_help())
        return GOOD
    name = arguments[0]
    if name == "--version":
        from importlib.metadata import version

        print(f"onbeat {version('onbeat')}")
        return GOOD
    entry = next((e for e in COMMANDS if e.name == name), None)
    if entry is None:
        kind = "option" if name.startswith("-") else "command"
        known = ["--help", "--version"] if kind == "option" else [e.name for e in COMMANDS]
        return _fail(_unknown(kind, name, known, "onbeat --help"))
    return _run(entry, arguments[1:])


def _run(entry: Entry, arguments: list[str]) -> int:
    """Parse the arguments with typer and call the command; typer's own errors become our one sentence."""
    import typer

    module = import_module(entry.module)
    program = f"onbeat {entry.name}"
    command = typer.main.get_command(_app(entry, module))
    try:
        code = command.main(args=arguments, prog_name=program, standalone_mode=False)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as leaving:
        # typer and rich leave with 1, a finding's code, when the reader of our output has gone.
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        raise
    except Exception as error:
        if not hasattr(error, "format_message"):  # only typer's usage errors have one
            raise
        context = getattr(error, "ctx", None)
        return _fail(_usage_sentence(error, f"{context.command_path if context else program} --help"))
    return code if isinstance(code, int) else GOOD


def _app(entry: Entry, module: Any) -> Any:
    import typer

    if hasattr(module, "app"):
        return module.app
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(
        name=entry.name,
        epilog=f"Example: {module.EXAMPLE}",
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )(module.run)
    return app


def _help() -> str:
    width = max((len(entry.name) for entry in COMMANDS), default=0)
    lines = [f"  {entry.name:<{width}}  {entry.summary}" for entry in COMMANDS]
    return "\n".join(
        (
            "onbeat: the timing layer for robots.",
            "",
            "Usage: onbeat COMMAND [OPTIONS]",
            "",
            "Commands:",
            *lines,
            "",
            "Options:",
            "  --version  Print the version.",
            "  --help     Print this; after a command, what that command does.",
            "",
            "Exit code: 0 good, 1 a finding (check: a timing fault, or with --baseline one that got worse; delay: no joint could",
            "be told; identify: a joint could not; run: something was late; doctor: a bad check; clock: a time that is not known",
            "well enough), 2 could not run, or could not read a file whole.",
            "Example: onbeat check drive.mcap",
        )
    )


def _fail(sentence: str) -> int:
    _complain(" ".join(sentence.split()))
    return COULD_NOT_RUN


def _complain(sentence: str) -> None:
    with suppress(BrokenPipeError):  # said once more where the output is flushed
        print(f"onbeat: {sentence}", file=sys.stderr)


def _unknown(kind: str, name: str, known: Sequence[str], more: str) -> str:
    # Without the dashes, which would make any two short options alike.
    words = {each.lstrip("-"): each for each in known}
    near = get_close_matches(name.lstrip("-"), words, n=1, cutoff=0.6)  # a slip; --duration is none for --rate
    return f"no {kind} {name!r}; " + (f"did you mean {words[near[0]]!r}?" if near else f"see: {more}")


def _usage_sentence(error: Any, more: str) -> str:
    """Turn a usage error of typer into one sentence. NoSuchOption alone knows the option's name and its context."""
    if type(error).__name__ == "NoSuchOption":
        options = (
            [option for parameter in error.ctx.command.params for option in parameter.opts if option.startswith("-")]
            if error.ctx
            else []
        )
        return _unknown("option", error.option_name, [*options, "--help"], more)
    message = str(error.format_message()).strip().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}; see: {more}"


def os_sentence(error: OSError) -> str:
    """Turn an error of the system into one sentence that names the path and what would help."""
    if error.filename is None:
        return f"the system says: {(error.strerror or str(error)).lower()}; take another path or free the resource"
    path = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else error.filename
    if isinstance(error, FileNotFoundError):
        return f"there is no {path}; check the path"
    if isinstance(error, PermissionError):
        return f"{path} may not be read or written by this user; change its permissions (ls -ld shows them) or take another path"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder, not a file; name a file in it"
    return f"{path}: {(error.strerror or str(error)).lower()}; take another path or free the resource"


def _flushed(stream: TextIO) -> bool:
    """Write what is still buffered; where the reader of our output (head, less) has gone, let it go nowhere and say so."""
    try:
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True
