"""The check itself: it sees what crosses, and what leaves the sheet."""

from onbeat.report.drawing import sheet
from tests.report.text_boxes import crossing, outside, texts_of


def test_crossing_sees_texts_that_cross() -> None:
    with sheet(200, 100) as paper:
        paper.text(10, 50, "one line")
        paper.text(30, 54, "and another")
        assert len(crossing(texts_of(paper.figure))) == 1


def test_outside_sees_a_text_that_leaves_the_sheet() -> None:
    with sheet(200, 100) as paper:
        paper.text(150, 50, "too long for its place")
        paper.text(10, 50, "fits")
        assert [name[2:] for name in outside(texts_of(paper.figure), 200, 100)] == ["too long for its place"]
