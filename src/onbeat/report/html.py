"""One page for one run: self-contained, without scripts, readable in light and dark, with its pictures inside.

A picture is drawn on light paper (`PALETTE`, first column). On a dark page a rule of style for each of those colours, as fill and
as stroke, puts the dark one in its place: the picture follows its reader, and stands as drawn where such rules are not known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ("PALETTE", "Figure", "Paragraph", "Section", "Table", "page")

# name -> (on light paper, on dark paper). The figures draw with the first; text and marks keep a contrast of 4.5 and 3 on both.
PALETTE: dict[str, tuple[str, str]] = {
    "paper": ("#fdfdfc", "#15181c"),
    "ink": ("#1d2126", "#e6e8ea"),
    "muted": ("#666d75", "#9aa2ab"),
    "grid": ("#dfe2e5", "#2c3239"),
    "blue": ("#1f6fb2", "#5aa9e6"),
    "orange": ("#c8590b", "#f0904a"),
    "green": ("#2a7f4f", "#5fbf8a"),
    "red": ("#b3362c", "#ef7a70"),
    "violet": ("#7350a8", "#b095e0"),
    "wash": ("#e4eef7", "#1c2d3d"),
}

_TONES = {"good": "green", "finding": "orange", "bad": "red"}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of plain text.

    Args:
        header: Names of the columns.
        rows: Cells, one sequence a row.
        left: How many columns, from the first, hold words and lean left; the others hold numbers and lean right.
        words: Further columns, by name, that hold words.
        dimmed: Indices of rows to print muted, such as refusals.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    words: Sequence[str] = ()
    dimmed: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture.

    Args:
        svg: The text of an SVG file, trusted: drawn by us.
        caption: What to see in it.
    """

    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it; without a title the blocks stand alone."""

    title: str
    blocks: Sequence[Paragraph | Table | Figure]


def page(
    title: str, verdict: str, sections: Sequence[Section], *, tone: str = "good", subtitle: str = "", footer: str = ""
) -> str:
    """Write the page.

    Args:
        title: Of the page and its tab.
        verdict: What the run found, in plain words; stands first.
        sections: What supports it.
        tone: "good", "finding" or "bad": the colour beside the verdict.
        subtitle: Under the title: what was looked at.
        footer: Last line: when, with what.

    Returns:
        One HTML document. All text is escaped; figures are inlined.
    """
    body = [f"<h1>{escape(title)}</h1>"]
    if subtitle:
        body.append(f'<p class="subtitle">{escape(subtitle)}</p>')
    body.append(f'<p class="verdict" style="border-color:var(--{_TONES[tone]})">{escape(verdict)}</p>')
    figures = 0
    for section in sections:
        body.append("<section>")
        if section.title:
            body.append(f"<h2>{escape(section.title)}</h2>")
        for block in section.blocks:
            if isinstance(block, Figure):
                figures += 1
                body.append(_figure(block, f"f{figures}-"))
            elif isinstance(block, Table):
                body.append(_table(block))
            else:
                body.append(f"<p>{escape(block.text)}</p>")
        body.append("</section>")
    if footer:
        body.append(f"<footer>{escape(footer)}</footer>")
    parts = {
        "title": escape(title),
        "light": _variables(0),
        "dark": _variables(1),
        "repaint": _repaint(),
        "body": "\n".join(body),
    }
    return re.sub(r"\{(title|light|dark|repaint|body)\}", lambda hole: parts[hole[1]], _PAGE)


def _figure(figure: Figure, prefix: str) -> str:
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    return f"<figure>{_inline(figure.svg, prefix)}{caption}</figure>"


def _inline(svg: str, prefix: str) -> str:
    """Make an SVG file part of a page: no prolog, ids of its own, as wide as there is room."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(?<=\bid=")', prefix, svg)
    svg = re.sub(r'(?<=href="#)|(?<=url\(#)', prefix, svg)
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} role="img">{rest}'


def _table(table: Table) -> str:
    words = [k < table.left or name in table.words for k, name in enumerate(table.header)]

    def row(cells: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{' class=w' if words[k] else ''}>{escape(cell)}</{tag}>" for k, cell in enumerate(cells))

    lines = [f"<tr{' class=dim' if k in table.dimmed else ''}>{row(cells, 'td')}</tr>" for k, cells in enumerate(table.rows)]
    head = f"<thead><tr>{row(table.header, 'th')}</tr></thead>"
    return f'<div class="scroll"><table>{head}<tbody>{"".join(lines)}</tbody></table></div>'


def _variables(column: int) -> str:
    return "".join(f"--{name}:{colours[column]};" for name, colours in PALETTE.items())


def _repaint() -> str:
    """Write the rules that give a picture its dark colours, wherever it names the light ones."""
    # Without a leading `svg`: a marker is drawn from a copy of its definition, which such a rule sees without its ancestors.
    rules = []
    for name, (light, _) in PALETTE.items():
        for what in ("fill", "stroke", "stop-color"):
            where = f'[style*="{what}: {light}" i],[style*="{what}:{light}" i],[{what}="{light}" i]'
            rules.append(f"{where}{{{what}:var(--{name})!important}}")
    return "\n".join(rules)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root{color-scheme:light dark;{light}}
@media (prefers-color-scheme:dark){:root{{dark}}
{repaint}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:2.5rem 1.25rem 4rem;background:var(--paper);color:var(--ink)}
body{font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem;font-weight:650}
h2{font-size:1.1rem;margin:2.5rem 0 .75rem;font-weight:650}
p{margin:.6rem 0;max-width:46rem}
.subtitle,footer,figcaption{color:var(--muted);font-size:.9rem}
.verdict{font-size:1.1rem;border-left:4px solid;padding:.2rem 0 .2rem 1rem;margin:1.25rem 0}
figure{margin:1.25rem 0}
figure svg{display:block;width:100%;height:auto}
figcaption{max-width:46rem;margin-top:.5rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .9rem .35rem 0;text-align:right;vertical-align:top;border-bottom:1px solid var(--grid);white-space:nowrap}
th{font-weight:600;color:var(--muted)}
.w{text-align:left}
td.w{white-space:normal}
td.w:first-child{white-space:nowrap}
td.w:last-child:not(:first-child){min-width:11rem;padding-right:0}
.dim{color:var(--muted)}
footer{margin-top:3rem;border-top:1px solid var(--grid);padding-top:.75rem}
</style>
</head>
<body>
{body}
</body>
</html>
"""
