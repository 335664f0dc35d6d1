"""What a command keeps of a run beside its results: the log as a file, the warnings on stderr, the page on a desktop."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ("kept_log", "open_page")


@contextmanager
def kept_log(path: Path, aloud: Sequence[str] = ()) -> Iterator[None]:
    """Keep what the modules and the runner say of each chunk: the lines to watch when a real rig misbehaves.

    Args:
        path: The file.
        aloud: Loggers whose warnings are said on stderr, too.
    """
    handler = logging.FileHandler(path, encoding="utf-8")
    voice = logging.StreamHandler(sys.stderr)
    voice.setLevel(logging.WARNING)
    voice.setFormatter(logging.Formatter("onbeat: %(message)s"))
    logger, loud = logging.getLogger("onbeat"), [logging.getLogger(name) for name in aloud]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    for each in loud:
        each.addHandler(voice)
    try:
        yield
    finally:
        for each in loud:
            each.removeHandler(voice)
        logger.setLevel(level)
        logger.removeHandler(handler)
        handler.close()


def open_page(page: Path) -> None:
    """Show the page where there is a desktop to show it on."""
    if sys.stdout.isatty() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        import webbrowser

        webbrowser.open(page.as_uri())
