"""Videos as streams: presentation times to the nanosecond, pictures that came again, and what a cut file still gives."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput, Damaged
from onbeat.read.spool import gather
from onbeat.read.video import is_video, open_video, video_frames, video_rows

av = pytest.importorskip("av", reason="PyAV is not installed")


def moving(n: int, repeat: int | None = None) -> list[np.ndarray]:
    """Make pictures of a bar that runs fast; one of them may come again."""
    pictures = []
    for k in range(n):
        at = (k - 1 if k == repeat else k) * 16 % 96
        picture = np.full((64, 96), 40, dtype=np.uint8)
        picture[:, at : at + 16] = 220
        pictures.append(picture)
    return pictures


def written(
    path: Path,
    pictures: list[np.ndarray],
    pts: list[int] | None = None,
    codec: str = "libx264",
    options: dict[str, str] | None = None,
) -> Path:
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream("mpeg4" if path.suffix == ".avi" else "libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        if path.suffix != ".avi":
            stream.time_base = stream.codec_context.time_base = Fraction(1, 90_000)
        for k, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="gray").reformat(format="yuv420p")
            frame.pts, frame.time_base = pts[k] if pts else 3000 * k, Fraction(1, 90_000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_times_are_those_of_the_packets_in_the_order_of_presentation(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pts = (np.arange(60) * 3000 + rng.integers(0, 900, 60)).tolist()
    path = written(tmp_path / "cam.mp4", moving(60), pts)
    with gather(open_video(path)) as found:
        (series,) = found.series.values()
        stamps = series.rows()["stamp_ns"]
        first = stamps[0] - round(Fraction(pts[0], 90_000) * 10**9)
        assert [int(s) for s in stamps - first] == pytest.approx([round(Fraction(p, 90_000) * 10**9) for p in pts], abs=1)
        assert (series.info.name, series.info.kind, series.info.counted) == ("cam", "image", False)
        assert series.info.declared_hz == pytest.approx(30, rel=0.1)


@pytest.mark.parametrize("name", ["cam.mp4", "cam.mkv", "cam.mov"])
def test_counted_times_are_called_so(tmp_path: Path, name: str) -> None:
    rows = video_rows(written(tmp_path / name, moving(40)))
    assert rows.counted
    assert len(rows.pts_ns) == 40
    assert np.diff(rows.pts_ns) == pytest.approx(1e9 / 30, abs=1.1e6 if name.endswith("mkv") else 1)


def test_picture_that_came_again_while_the_scene_moved(tmp_path: Path) -> None:
    rows = video_rows(written(tmp_path / "cam.mp4", moving(30, repeat=12)))
    assert rows.digests is not None
    assert np.flatnonzero(rows.digests[1:] == rows.digests[:-1]).tolist() == [11]


def test_still_scene_does_not_repeat(tmp_path: Path) -> None:
    rows = video_rows(written(tmp_path / "cam.mp4", [moving(1)[0]] * 30))
    assert rows.digests is not None
    assert len(np.unique(rows.digests)) == 30


def test_pictures_of_the_middle_carry_their_numbers(tmp_path: Path) -> None:
    pictures = moving(60)
    path = written(tmp_path / "cam.mp4", pictures)
    found = list(video_frames(path, 10))
    assert [row for row, _ in found] == list(range(25, 35))
    for row, gray in found:
        # the coder's range of levels is narrower, but the bar stands where it stood
        assert int(np.argmax(gray[32])) // 16 == int(np.argmax(pictures[row][32])) // 16
    assert len(list(video_frames(path, 1000))) == 60


def test_frames_of_the_recording(tmp_path: Path) -> None:
    recording = open_video(written(tmp_path / "cam.mp4", moving(20)))
    assert recording.frames is not None
    assert [frame.row for frame in recording.frames("cam", 100)] == list(range(20))
    assert list(recording.frames("other", 100)) == []


def test_video_that_was_cut_gives_what_is_there(tmp_path: Path) -> None:
    path = written(tmp_path / "cam.mp4", moving(200), options={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    with gather(open_video(path)) as found:
        assert 10 < len(found.series["cam"]) < 200
        assert "cam.mp4" in found.damage
        assert "were read" in found.damage


def test_video_without_its_index_is_damaged(tmp_path: Path) -> None:
    path = written(tmp_path / "cam.mp4", moving(30))
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(Damaged, match="no whole video"):
        gather(open_video(path))


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "sound.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), dtype=np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(BadInput, match="no video stream"):
        open_video(path)


def test_videos_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    for name in ("a.mp4", "a.mkv", "a.mov", "a.avi"):
        assert is_video(written(tmp_path / name, moving(3)))
    (tmp_path / "b").write_bytes(b"t,v\n1,2\n")
    assert not is_video(tmp_path / "b")
