"""What the meta folder of a LeRobot data set says, and what of it is on this disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from onbeat.errors import BadInput, Damaged
from onbeat.read.lerobot_cameras import Clip, clips, have_av, listed_episodes, whole
from onbeat.record.lerobot import find_lerobot, frame_rate, read_info
from onbeat.record.lerobot_tables import columns_of, data_files

__all__ = ("Layout", "lay_out")

_MOST_PICTURES = 3000  # to decode: a few seconds of one core


@dataclass(slots=True)
class Layout:
    """A data set, opened.

    Args:
        root: Its folder.
        info: Its info.json.
        fps: The declared rate.
        files: The parquet files of its rows.
        types: Columns of those files, and their arrow types.
        episodes: What the meta folder says of each episode.
        videos: Where the pictures of each camera lie, as far as they are on this disk.
        images: Features whose pictures lie in the parquet files.
        looked_at: How many pictures to decode, by episode, of each camera.
        notes: What was left out, and why.
    """

    root: Path
    info: Mapping[str, Any]
    fps: Fraction
    files: list[Path]
    types: dict[str, Any]
    episodes: Mapping[int, Mapping[str, Any]]
    videos: dict[str, list[Clip]] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    looked_at: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def lay_out(path: Path) -> Layout:
    """Read the meta folder of a data set, and look what of it is there.

    Args:
        path: The data set's folder, or anything in it.

    Raises:
        BadInput: it is no such data set, or its info.json says too little.
        MissingExtra: pyarrow is not installed.
    """
    root = find_lerobot(path)
    if root is None:
        raise BadInput(f"{path} is no LeRobot data set: there is no meta/info.json; name the folder that holds meta and data")
    info = read_info(root)
    files = data_files(root)
    if not files:
        raise BadInput(f"{root} has no parquet file in data/chunk-*; download the data set with its data folder")
    notes: list[str] = []
    types: dict[str, Any] = {}
    for file in files:
        try:
            types = columns_of(file)
            break
        except Damaged:
            continue  # said with its name when the rows are read
    episodes: Mapping[int, Mapping[str, Any]] = {}
    try:
        episodes = listed_episodes(root, str(info["codebase_version"]))
    except Damaged as error:
        notes.append(f"the list of episodes cannot be read: {error}")
    data = Layout(root, info, frame_rate(info, root), files, types, episodes, notes=notes)
    _find_cameras(data)
    return data


def _find_cameras(data: Layout) -> None:
    unseen = []
    for name, feature in data.info["features"].items():
        kind = feature.get("dtype") if isinstance(feature, Mapping) else None
        if kind == "image" and name in data.types:
            data.images.append(name)
        elif kind == "video":
            try:
                found = clips(data.root, data.info, name, data.episodes)
            except Damaged as error:
                data.notes.append(str(error))
                continue
            if found:
                data.videos[name] = found
            else:
                unseen.append(name)
    if unseen:
        data.notes.append(f"not looked at, since their videos are not on this disk: {', '.join(unseen)}")
    if data.videos and not have_av():
        names, data.videos = ", ".join(data.videos), {}
        data.notes.append(f"not looked at, since PyAV is not installed (pip install 'onbeat[lerobot]'): {names}")
    _choose(data)


def _choose(data: Layout) -> None:
    """Choose the episodes whose pictures are decoded: whole ones, spread evenly, about as many as the budget holds."""
    if not data.videos:
        return
    listed = {k: int(row["length"]) for k, row in sorted(data.episodes.items()) if whole(row.get("length"))}
    have = {part.episode for parts in data.videos.values() for part in parts}
    lengths = {k: n for k, n in listed.items() if k in have}
    if not lengths:
        return
    budget = _MOST_PICTURES // len(data.videos)
    total = sum(lengths.values())
    numbers = list(lengths)
    count = len(numbers) if total <= budget else max(budget * len(numbers) // total, 1)
    chosen = {numbers[int(k)] for k in np.linspace(0, len(numbers) - 1, count)} if count > 1 else {numbers[0]}
    data.looked_at = {k: min(lengths[k], budget // len(chosen) if total > budget else lengths[k]) for k in sorted(chosen)}
    pictures = sum(data.looked_at.values())
    if pictures < total:
        data.notes.append(
            f"to see whether pictures repeat, {pictures} of {total} pictures of each camera were decoded, "
            f"in {len(data.looked_at)} of {len(numbers)} episodes"
        )
