"""What the documents print must hold: links lead somewhere, Python parses, and what it imports from onbeat is there."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = document.parent / file if file else document
        assert target.exists(), f"{name_of(document)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{name_of(document)} links to {link}: no such heading"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_python_parses_and_its_imports_are_there(document: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.S):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "onbeat":
                for alias in node.names:
                    assert hasattr(import_module(node.module), alias.name), f"{name_of(document)}: {node.module}.{alias.name}"


PACKAGES = sorted(path.parent.name for path in (ROOT / "src" / "onbeat").glob("*/__init__.py"))


@pytest.mark.parametrize("module", [*PACKAGES, "errors", "units"])
def test_every_public_name_stands_in_the_docs(module: str) -> None:
    words = set(re.findall(r"\w+", "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)))
    assert sorted(set(import_module(f"onbeat.{module}").__all__) - words) == []
