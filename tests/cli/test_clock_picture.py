from onbeat.cli.clock_picture import draw_offset


def test_line_goes_from_corner_to_corner() -> None:
    lines = draw_offset([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [99] * 5, width=5, height=5)
    assert len(lines) == 6
    assert lines[0].endswith(("⠀⠀⠀⠀⢀", "⠀⠀⠀⠀⠐", "⠀⠀⠀⠀⠠", "⠀⠀⠀⠀⠈"))
    assert lines[-1].split() == ["us", "4", "s", "ago", "now"] or lines[-1].endswith("now")


def test_bounds_are_drawn_where_they_are_of_the_offsets_size() -> None:
    narrow = draw_offset([0, 1, 2], [0, 0, 1], [1, 1, 1])
    wide = draw_offset([0, 1, 2], [0, 0, 1], [1000, 1000, 1000])
    assert sum(character > "⠀" for line in narrow[:-1] for character in line) > sum(
        character > "⠀" for line in wide[:-1] for character in line
    )
    assert float(wide[0].split()[0]) < 2


def test_constant_offset_and_no_offset() -> None:
    assert draw_offset([0, 1], [5, 5], [1, 1])
    assert draw_offset([], [], []) == ["waiting for exchanges"]
