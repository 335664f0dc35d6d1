import xml.etree.ElementTree as ElementTree

from onbeat.report.drawing import INK, sheet


def test_pixels_count_from_the_top_left() -> None:
    with sheet(400, 200) as paper:
        box = paper.axes(40, 20, 100, 50).get_window_extent()
        assert (round(box.x0), round(200 - box.y1), round(box.width), round(box.height)) == (40, 20, 100, 50)


def test_svg_has_a_title_and_its_size_in_pixels() -> None:
    with sheet(400, 200) as paper:
        paper.text(10, 20, "5 < 6", color=INK)
        svg = paper.svg("a & b")
    root = ElementTree.fromstring(svg)
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("400", "200", "0 0 400 200")
    assert root[0].tag.endswith("title")
    assert root[0].text == "a & b"
    assert "5 &lt; 6" in svg
    assert "system-ui" in svg


def test_style_ends_with_the_sheet() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with sheet(40, 20) as paper:
        paper.svg("")
    assert dict(mpl.rcParams) == before
