import numpy as np
import pytest

from onbeat.device.scene import RestingCup, Screen, SensorNoise, TableView, render_screen
from onbeat.errors import BadInput

WHITE = np.full((21, 21), 255, dtype=np.uint8)
BLACK = np.zeros((21, 21), dtype=np.uint8)
REFRESH_NS = 1e9 / 59.94


def lit_at(screen: Screen, begin_ns: int, end_ns: int) -> list[tuple[float, float | None]]:
    parts = screen.light(begin_ns, end_ns)
    return [(share, None if light is None else float(light.mean())) for share, light in parts]


def test_light_follows_a_draw_by_one_to_two_refreshes() -> None:
    rng = np.random.default_rng(4)
    waits = []
    for drawn_ns in np.sort(rng.integers(10**9, 10**11, 2000)).tolist():
        screen = Screen(12_345)
        screen.show(WHITE, drawn_ns)
        [(share, _), (_, light)] = lit_at(screen, drawn_ns, drawn_ns + 100_000_000)
        assert light == 1
        waits.append(share * 100e6)
    assert min(waits) >= REFRESH_NS - 2
    assert max(waits) <= 2 * REFRESH_NS + 2
    assert np.mean(waits) == pytest.approx(1.5 * REFRESH_NS, rel=0.01)


def test_draw_at_a_vsync_goes_out_with_it() -> None:
    screen = Screen(0)
    screen.show(WHITE, 0)
    [(share, _), _] = lit_at(screen, 0, 100_000_000)
    assert share * 100e6 == pytest.approx(REFRESH_NS, abs=2)


def test_second_draw_before_a_vsync_replaces_the_first() -> None:
    screen = Screen(0)
    screen.show(WHITE, 1_000_000)
    screen.show(BLACK, 2_000_000)
    assert [light for _, light in lit_at(screen, 0, 100_000_000)] == [None, 0]


def test_exposure_blends_what_was_shown_during_it() -> None:
    screen = Screen(0)
    screen.show(WHITE, 1)
    screen.show(BLACK, round(10 * REFRESH_NS) + 1)
    change_ns = round(12 * REFRESH_NS)
    [(before, white), (after, black)] = lit_at(screen, change_ns - 3_000_000, change_ns + 1_000_000)
    assert (white, black) == (1, 0)
    assert (before, after) == pytest.approx((0.75, 0.25), abs=1e-5)


def test_old_draws_are_forgotten_but_the_panel_stays_lit() -> None:
    screen = Screen(0)
    for k in range(2000):
        screen.show(WHITE if k % 2 else BLACK, round(k * REFRESH_NS))
    assert lit_at(screen, round(2010 * REFRESH_NS), round(2011 * REFRESH_NS)) == [(1.0, 1.0)]


@pytest.mark.parametrize(
    "image", [WHITE[:5], WHITE.astype(np.float64), np.zeros((178, 178), np.uint8), np.zeros((0, 0), np.uint8)]
)
def test_what_is_no_matrix_of_modules_is_refused(image: "np.typing.NDArray[np.uint8]") -> None:
    with pytest.raises(BadInput, match="square uint8"):
        Screen(0).show(image, 0)


def test_draw_before_the_last_one_is_refused() -> None:
    screen = Screen(0)
    screen.show(WHITE, 100)
    with pytest.raises(BadInput, match="1 ns before"):
        screen.show(WHITE, 99)


def test_half_an_exposure_of_light_is_brighter_than_half_grey() -> None:
    noise = np.zeros((480, 640), dtype=np.float32)
    lit, dark = np.ones((21, 21), np.float32), np.zeros((21, 21), np.float32)
    levels = [int(render_screen(parts, noise, False, {})[240, 320]) for parts in ([(1.0, lit)], [(0.5, lit), (0.5, dark)])]
    assert 210 < levels[0] < 255
    assert levels[1] == pytest.approx(levels[0] * 0.5 ** (1 / 2.2), abs=4)


def test_codes_of_two_sizes_blend() -> None:
    noise = np.zeros((480, 640), dtype=np.float32)
    small, large = np.ones((21, 21), np.float32), np.ones((25, 25), np.float32)
    spreads: dict[int, np.typing.NDArray[np.float32]] = {}
    mixed = render_screen([(0.5, small), (0.5, large)], noise, False, spreads)
    assert set(spreads) == {21, 25}
    assert np.array_equal(mixed, render_screen([(1.0, small)], noise, False, {}))


def test_largest_code_is_rendered() -> None:
    modules = np.ones((177, 177), np.float32)
    assert render_screen([(1.0, modules)], np.zeros((480, 640), np.float32), False, {})[240, 320] > 210


def test_cover_hides_the_code() -> None:
    noise = np.zeros((480, 640), dtype=np.float32)
    code = np.random.default_rng(0).integers(0, 2, (21, 21)).astype(np.float32)
    image = render_screen([(1.0, code)], noise, True, {})
    assert len(np.unique(image[100:380, 180:460])) == 1


def test_mounting_is_the_inverse_of_the_picture() -> None:
    table = TableView(np.random.default_rng(9))
    noise = np.zeros(table.shape, dtype=np.float32)
    bright = table.render(np.array([[0.30, 0.10, 0.0]]), noise) > 150
    row, column = (float(axis.mean()) for axis in np.nonzero(bright))
    assert table.pixels_to_world @ (column, row, 1) == pytest.approx([0.30, 0.10], abs=4e-4)


def test_view_covers_the_reach_of_the_arm() -> None:
    for seed in range(50):
        table = TableView(np.random.default_rng(seed))
        corners = np.array([[c, r, 1] for c in (0, 159) for r in (0, 119)]) @ table.pixels_to_world.T
        assert corners[:, 0].min() < 0.13
        assert corners[:, 0].max() > 0.50
        assert corners[:, 1].min() < -0.27
        assert corners[:, 1].max() > 0.27


def test_cup_out_of_view_leaves_the_table_empty() -> None:
    table = TableView(np.random.default_rng(1))
    image = table.render(np.array([[5.0, 5.0, 0.0]]), np.zeros(table.shape, dtype=np.float32))
    assert image.max() < 70


def test_noise_is_fresh_for_each_cut_and_the_same_for_one_seed() -> None:
    noise = SensorNoise(np.random.default_rng(1))
    first = noise.cut(np.random.default_rng(5), 480, 640)
    assert np.array_equal(first, noise.cut(np.random.default_rng(5), 480, 640))
    assert not np.array_equal(first, noise.cut(np.random.default_rng(6), 480, 640))
    assert float(first.std()) == pytest.approx(1, abs=0.01)


def test_resting_cup_rests() -> None:
    assert RestingCup((0.2, 0.1, 0.0)).at_many(np.array([0, 10**9])).tolist() == [[0.2, 0.1, 0.0]] * 2
