from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray


class ListSink:
    """Stands in for the native MemorySink, so that a test decides the instants of sending."""

    def __init__(self, width: int) -> None:
        self.dropped = 0
        self._dtype = np.dtype([("sequence", "u8"), ("sent_ns", "i8"), ("t_eff_ns", "i8"), ("values", "f8", (width,))])
        self._packets: deque[tuple[int, int, int, list[float]]] = deque()
        self._count = 0

    def push(self, sent_ns: int, values: ArrayLike) -> None:
        self._packets.append((self._count, sent_ns, sent_ns, np.asarray(values, dtype=np.float64).tolist()))
        self._count += 1

    def drain(self) -> NDArray[Any]:
        return np.array([self._packets.popleft() for _ in range(len(self._packets))], dtype=self._dtype)


@pytest.fixture
def list_sink() -> Callable[[int], ListSink]:
    return ListSink
