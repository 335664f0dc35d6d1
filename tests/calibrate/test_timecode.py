import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.calibrate import Code, CodeSchedule, decode_codes, encode_code, read_codes
from onbeat.errors import BadInput

PAYLOAD_NS = 1_790_000_000_123_456_789
Image = NDArray[np.uint8]


def frame(code: Image, scale: int = 5, size: tuple[int, int] = (240, 320)) -> Image:
    grey = np.full(size, 90, dtype=np.uint8)
    big = np.kron(code, np.ones((scale, scale), dtype=np.uint8))
    grey[30 : 30 + len(big), 60 : 60 + len(big)] = big
    return grey


def test_code_carries_its_instant_and_its_hold() -> None:
    code = encode_code(PAYLOAD_NS, 83_340_000)
    assert code.shape == (29, 29)
    assert set(np.unique(code)) == {0, 255}
    assert read_codes(frame(code)) == [Code(PAYLOAD_NS, 83_300_000)]
    assert decode_codes(frame(code)) == [PAYLOAD_NS]


@pytest.mark.parametrize("payload_ns", [0, 1, 2**63 - 1])
def test_every_instant_has_the_same_size(payload_ns: int) -> None:
    assert encode_code(payload_ns).shape == (29, 29)
    assert decode_codes(frame(encode_code(payload_ns))) == [payload_ns]


def test_colour_noise_and_dim_light() -> None:
    grey = frame(encode_code(PAYLOAD_NS)).astype(np.float64) * 0.3 + 20
    noisy = np.clip(grey + np.random.default_rng(0).normal(0, 8, grey.shape), 0, 255).astype(np.uint8)
    assert decode_codes(noisy) == [PAYLOAD_NS]
    assert decode_codes(np.repeat(noisy[:, :, None], 3, axis=2)) == [PAYLOAD_NS]


def test_blend_reads_the_dominant_code_or_nothing() -> None:
    a, b = frame(encode_code(PAYLOAD_NS)).astype(np.float64), frame(encode_code(PAYLOAD_NS + 83_000_000)).astype(np.float64)
    for share in np.linspace(0, 1, 21):
        found = decode_codes(((1 - share) * a + share * b).astype(np.uint8))
        assert found in ([], [PAYLOAD_NS] if share < 0.5 else [PAYLOAD_NS + 83_000_000])
    assert decode_codes((0.7 * a + 0.3 * b).astype(np.uint8)) == [PAYLOAD_NS]


def test_other_codes_and_empty_frames_are_passed_over() -> None:
    segno = pytest.importorskip("segno")
    other = np.array([list(row) for row in segno.make("1234567890123456789012345", error="q").matrix_iter(border=4)])
    assert decode_codes(frame(np.where(other, 0, 255).astype(np.uint8))) == []
    assert decode_codes(np.zeros((240, 320), dtype=np.uint8)) == []


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="from 0 to 2"):
        encode_code(-1)
    with pytest.raises(BadInput, match="less than 1 s"):
        encode_code(0, 1_000_000_000)
    with pytest.raises(BadInput, match="uint8"):
        decode_codes(np.zeros((4, 4)))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="refresh_hz"):
        CodeSchedule(0.0, np.random.default_rng(0))
    with pytest.raises(BadInput, match="holds must span"):
        CodeSchedule(60.0, np.random.default_rng(0), shortest=5, longest=5)


def test_holds_are_spread_and_commensurate_with_nothing() -> None:
    schedule = CodeSchedule(60.0, np.random.default_rng(1))
    now_ns, holds = 1_000, []
    for _ in range(300):
        code = schedule.step(now_ns)
        assert code is not None
        assert code.payload_ns == now_ns
        assert schedule.step(now_ns + code.hold_ns - 1) is None
        assert schedule.next_ns == now_ns + code.hold_ns
        holds.append(code.hold_ns * 60 / 1e9)
        now_ns += code.hold_ns
    assert 3.49 < min(holds) < 3.6
    assert 6.4 < max(holds) < 6.51
    # Whole refreshes play no part: the fraction of a refresh is spread evenly.
    counts, _ = np.histogram(np.array(holds) % 1.0, bins=10, range=(0, 1))
    assert counts.min() > 12
