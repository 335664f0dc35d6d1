import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from onbeat.report import PALETTE, Figure, Paragraph, Section, Table, page

SVG = (
    '<?xml version="1.0"?>\n<!DOCTYPE svg>\n<svg xmlns="http://www.w3.org/2000/svg" width="10pt" height="5pt" viewBox="0 0 10 5">'
    '<metadata>x</metadata><defs><clipPath id="c"><rect width="3" height="3"/></clipPath></defs>'
    f'<g id="g" clip-path="url(#c)" style="fill: {PALETTE["ink"][0]}"><use href="#g"/></g></svg>'
)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids.extend(value or "" for name, value in attrs if name == "id")


def test_text_is_escaped() -> None:
    html = page(
        "<t>",
        "a & b {body}",
        [Section("<h>", [Paragraph("<script>"), Table(("<c>",), [("<d>",)])])],
        subtitle="<s>",
        footer="<f>",
    )
    assert "<script" not in html
    for raw in ("<t>", "<h>", "<c>", "<d>", "<s>", "<f>"):
        assert raw not in html
    assert "a &amp; b {body}" in html


def test_it_stands_alone() -> None:
    html = page("t", "v", [Section("s", [Figure(SVG)])])
    tags = Tags()
    tags.feed(html)
    assert not {"script", "link", "img", "iframe"} & set(tags.tags)
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


def test_two_pictures_do_not_share_ids_and_follow_the_theme() -> None:
    html = page("t", "v", [Section("s", [Figure(SVG, "one"), Figure(SVG, "two")])])
    tags = Tags()
    tags.feed(html)
    assert len(tags.ids) == len(set(tags.ids)) == 4
    assert 'clip-path="url(#f2-c)"' in html
    assert 'href="#f2-g"' in html
    ink = PALETTE["ink"][0]
    assert f'style="fill: {ink}"' in html
    assert f'\n[style*="fill: {ink}" i]' in html[html.index("prefers-color-scheme") : html.index("</style>")]
    assert "<?xml" not in html
    assert "<metadata" not in html
    svg = html[html.index("<svg") : html.index("</svg>") + 6]
    assert ElementTree.fromstring(svg).attrib.keys() == {"viewBox", "role"}
    assert 'width="3"' in svg


def test_words_lean_left_and_numbers_right() -> None:
    html = page("t", "v", [Section("", [Table(("name", "n", "why"), [("a", "1", "x")], words=("why",), dimmed=(0,))])])
    assert "<tr class=dim><td class=w>a</td><td>1</td><td class=w>x</td></tr>" in html
    assert "<h2>" not in html


@pytest.mark.parametrize("tone", ["good", "finding", "bad"])
def test_the_tone_is_the_colour_beside_the_verdict(tone: str) -> None:
    assert "border-color:var(--" in page("t", "v", [], tone=tone)


def luminance(colour: str) -> float:
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize(
    ("name", "least"), [("ink", 4.5), ("muted", 4.5), ("blue", 3), ("orange", 3), ("green", 3), ("red", 3), ("violet", 3)]
)
def test_every_colour_can_be_read_on_paper(name: str, least: float, column: int) -> None:
    a, b = sorted((luminance(PALETTE[name][column]), luminance(PALETTE["paper"][column])))
    assert (b + 0.05) / (a + 0.05) >= least
