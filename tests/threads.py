"""Threads of a test that take turns as often as the interpreter lets them."""

import sys
import threading
from collections.abc import Callable

__all__ = ("together",)


def together(work: Callable[[], None], n: int) -> None:
    """Do the work on n threads at once, and wait for all of them."""
    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(n)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(switch_s)
