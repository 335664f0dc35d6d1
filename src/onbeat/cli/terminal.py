"""Where a command speaks: results on stdout, progress on stderr; with --json, stdout carries one document and nothing else."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ("Terminal", "only_we_speak")

_PATIENCE_NS = 2_000_000_000
_PLAIN_WIDTH = 120


class Terminal:
    """The voice of one command.

    On a terminal it is coloured and shows progress. Where stdout is a file or a pipe, or NO_COLOR is set, it is plain text.

    Args:
        json: Print one JSON document on stdout and nothing else there; what `say` and `table` are told goes nowhere.
    """

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self._stdout: Console | None = None

    def say(self, text: str = "", *, style: str | None = None) -> None:
        """Print a paragraph; brackets in it are brackets, not markup."""
        if not self.json:
            self._console().print(text, style=style, markup=False, highlight=False, soft_wrap=not self._console().is_terminal)

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, styles: Sequence[str | None] | None = None
    ) -> None:
        """Print a table. The first `left` columns lean left, the others right; the last one too when it is called "why".

        Args:
            header: Names of the columns.
            rows: Cells, one sequence a row.
            left: How many columns hold words.
            styles: A rich style for each row, or None for the usual one.
        """
        if self.json:
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        console = self._console()
        table = Table(
            box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0)
        )
        for k, name in enumerate(header):
            words = k < left or name == "why"
            table.add_column(Text(name), justify="left" if words else "right", no_wrap=not words, overflow="fold")
        for k, row in enumerate(rows):
            table.add_row(*(Text(cell) for cell in row), style=styles[k] if styles else None)
        console.print(table)

    def document(self, data: Mapping[str, Any]) -> None:
        """Print the JSON document that --json asks for; without it, nothing."""
        if self.json:
            from onbeat.report.document import plain_json

            sys.stdout.write(plain_json(data))

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show a bar on stderr for work that takes longer than two seconds, on a terminal only.

        Args:
            what: What is being done, e.g. "reading episodes".
            total: Steps in all; None when it is not known.

        Yields:
            A function to call with the number of steps done since the last call.
        """
        if not sys.stderr.isatty():
            yield lambda steps: None
            return
        from rich.console import Console
        from rich.progress import Progress

        from onbeat.clock import SystemClock

        clock = SystemClock()
        start_ns = clock.now_ns()
        bar = Progress(console=Console(stderr=True), transient=True)
        task = bar.add_task(what, total=total)
        shown = False

        def advance(steps: int) -> None:
            nonlocal shown
            bar.advance(task, steps)
            if not shown and clock.now_ns() - start_ns > _PATIENCE_NS:
                shown = True
                bar.start()

        try:
            yield advance
        finally:
            if shown:
                bar.stop()

    @contextmanager
    def steps(self, total: int, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
        """Show which of several steps is under way: a bar with the step's name on a terminal, a line for each step elsewhere.

        Both go to stderr. With --json or `quiet` nothing is shown.

        Yields:
            A function to call with the name of each step as it begins.
        """
        if quiet or self.json:
            yield lambda step: None
            return
        if not sys.stderr.isatty():
            yield lambda step: print(f"{step} ...", file=sys.stderr, flush=True)
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting", total=total)
            begun = 0

            def begin(step: str) -> None:
                nonlocal begun
                bar.update(task, completed=begun, description=step)
                begun += 1

            yield begin

    def _console(self) -> "Console":
        if self._stdout is None:
            from rich.console import Console

            self._stdout = Console(width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
        return self._stdout


@contextmanager
def only_we_speak() -> Iterator[None]:
    """Let what C libraries print on stderr by themselves (libjpeg of a broken picture, FFmpeg) go nowhere while the block lasts.

    They write to file descriptor 2; our own `sys.stderr` is moved to a copy of it.
    """
    try:
        kept, ours = os.dup(2), sys.stderr.fileno() == 2
    except (OSError, ValueError):  # closed, or no file
        yield
        return
    before = sys.stderr
    before.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        if ours:
            sys.stderr = os.fdopen(kept, "w", buffering=1, encoding=before.encoding, errors=before.errors, closefd=False)
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        if ours:
            sys.stderr.flush()
            sys.stderr = before
        os.close(nowhere)
        os.close(kept)
