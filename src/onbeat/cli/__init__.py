"""Say it in a terminal: main.py is the frame, and each command is one file."""

__all__ = ()
