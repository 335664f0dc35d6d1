import pytest

from onbeat.report.drawing import INK, sheet
from onbeat.report.side_view import closing_index, draw_cup, draw_hand, side_view
from tests.report.fake_story import fake_grasp


def test_distance_in_the_view_is_the_true_distance() -> None:
    for late_s in (0.3, -0.14, 0.004):
        grasp = fake_grasp("copied", {}, late_s, 0.7 * late_s)
        view = side_view(grasp)
        assert grasp.distance_m is not None
        assert (view.ahead_mm**2 + view.above_mm**2) ** 0.5 == pytest.approx(grasp.distance_m * 1e3)


def test_late_hand_is_behind_and_early_hand_ahead() -> None:
    assert side_view(fake_grasp("copied", {}, 0.2, 0.0)).ahead_mm < 0
    assert side_view(fake_grasp("copied", {}, -0.2, 0.0)).ahead_mm > 0


def test_grasp_that_never_closed_is_seen_at_the_demonstrated_instant() -> None:
    grasp = fake_grasp("copied", {}, 0.1, 0.0, closes=False)
    assert closing_index(grasp) is None
    view = side_view(grasp)
    assert not view.closed
    assert view.opening_mm == pytest.approx(55.0)


def test_hand_is_to_scale() -> None:
    with sheet(400, 400) as paper:
        axes = paper.axes(0, 0, 400, 400)
        draw_cup(axes, 35.0)
        draw_hand(axes, 5.0, 10.0, 45.0, INK)
        hand = axes.patches[-1].get_path().vertices
        cup = axes.patches[0].get_path().vertices
    tips = sorted(x for x, z in hand if z == 2.0)
    assert tips[-1] - tips[0] == pytest.approx(45.0 + 2 * 4)
    assert sorted(abs(x - 5.0) for x in tips)[0] == pytest.approx(22.5)
    assert cup[:, 0].max() == 30.0
