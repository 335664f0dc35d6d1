from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record import JointEpisode, JointRecording

T_NS = np.array([0, 10, 20], dtype=np.int64)
VALUES = np.zeros((3, 2))


def with_cell(value: float) -> NDArray[np.float64]:
    values = np.zeros((3, 2))
    values[1, 1] = value
    return values


@pytest.mark.parametrize(
    ("t_ns", "command", "measured", "says"),
    [
        (T_NS, VALUES, VALUES[:, :1], "shapes"),
        (T_NS[:2], VALUES, VALUES, "shapes"),
        (T_NS[:1], VALUES[:1], VALUES[:1], r"has 1 row\(s\)"),
        (np.array([0, 10, 10]), VALUES, VALUES, "row 2 repeats an instant"),
        (np.array([0, 10, 4]), VALUES, VALUES, "row 2 goes back by 0.000 ms"),
        (T_NS, with_cell(float("nan")), VALUES, "command 1 is nan in row 1"),
        (T_NS, VALUES, with_cell(float("inf")), "measured 1 is inf in row 1"),
    ],
)
def test_what_is_no_episode(
    t_ns: NDArray[np.int64], command: NDArray[np.float64], measured: NDArray[np.float64], says: str
) -> None:
    with pytest.raises(BadInput, match=says) as error:
        JointEpisode(7, t_ns, command, measured, "a.parquet")
    assert str(error.value).startswith("episode 7 of a.parquet")


def test_an_episode_is_read_only() -> None:
    episode = JointEpisode(0, T_NS.copy(), VALUES.copy(), VALUES.copy())
    with pytest.raises(ValueError, match="read-only"):
        episode.command[0, 0] = 1


def test_a_recording_reads_all_or_one() -> None:
    asked: list[int | None] = []

    def read(only: int | None) -> "list[JointEpisode]":
        asked.append(only)
        return []

    recording = JointRecording(Path("a"), "CSV", "", ("a", "b"), None, "", None, lambda only: iter(read(only)))
    assert list(recording.episodes()) == []
    assert list(recording.episodes(3)) == []
    assert asked == [None, 3]
