"""The rules of docs/architecture.md, held by the machine: the row of rooms, the effect list, names, sizes, tests, words."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "onbeat"
MODULES = sorted(SRC.rglob("*.py"))
ROOMS = sorted({p.parent.name for p in SRC.glob("*/*.py")})
NATIVE = sorted(p for p in (ROOT / "cpp").rglob("*") if p.suffix in {".hpp", ".cpp"})

FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "manager", "types", "misc"}
NATIVE_ROOMS = {"clock", "stream", "motion", "device", "loop"}
FILE_METHODS = {"open", "read_text", "write_text", "read_bytes", "write_bytes", "mkdir", "unlink", "rename", "touch"}


def name_of(path: Path) -> str:
    return ".".join(("onbeat", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__")


def ids(paths: Iterable[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


# The row


def test_rooms_stand_in_a_row() -> None:
    lint = [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"]
    done = subprocess.run(lint, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("room", ROOMS)
def test_room_is_a_package_that_says_what_question_it_answers(room: str) -> None:
    tree = ast.parse((SRC / room / "__init__.py").read_text())
    assert ast.get_docstring(tree)


def test_depth_is_two() -> None:
    assert [p for p in ids(MODULES) if len(Path(p).parts) > 4] == []


def test_no_room_or_module_without_a_question() -> None:
    assert [p for p in ids(MODULES) if FORBIDDEN_NAMES & {Path(p).stem, *Path(p).parts[2:-1]}] == []


def test_core_is_imported_by_its_few_wrappers_only() -> None:
    importers = {p for p in MODULES if re.search(r"^\s*(from|import) onbeat(\._core| import _core)\b", p.read_text(), re.M)}
    assert {p.parent.name for p in importers} <= NATIVE_ROOMS


# Sizes and tests


@pytest.mark.parametrize("path", MODULES + NATIVE, ids=ids(MODULES + NATIVE))
def test_module_is_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", [p for p in MODULES if p.stem != "__init__"], ids=name_of)
def test_module_has_its_test_module(path: Path) -> None:
    expected = ROOT / "tests" / path.relative_to(SRC).parent / f"test_{path.stem}.py"
    assert expected.is_file(), f"{expected.relative_to(ROOT)} is missing"


# The effect list


def effect_list() -> set[str]:
    """Read from pyproject the modules that may touch the world."""
    section = (ROOT / "pyproject.toml").read_text().split("[tool.ruff.lint.per-file-ignores]")[1].split("\n[")[0]
    return set(re.findall(r'^"(src/onbeat/[^"]+)" = \[[^\]]*"TID251"', section, re.M))


def banned_imports(*paths: Path) -> set[Path]:
    """Ask ruff which modules use a banned name, as if there were no effect list and no comment that silences it."""
    ruff = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--ignore-noqa", "--no-cache", "--output-format", "json"]
    command = [*ruff, "--config", "lint.per-file-ignores = {}", "--config", str(ROOT / "pyproject.toml"), *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return {Path(finding["filename"]) for finding in json.loads(done.stdout)}


def touches_files(source: str) -> bool:
    """Say whether a module opens, reads, writes or makes files."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = {f.id for f in calls if isinstance(f, ast.Name)}
    return "open" in names or any(isinstance(f, ast.Attribute) and f.attr in FILE_METHODS for f in calls)


def test_effect_list_is_exactly_the_modules_that_touch_the_world() -> None:
    found = banned_imports(SRC) | {path for path in MODULES if touches_files(path.read_text())}
    listed, real = effect_list(), set(ids(found))
    assert sorted(real - listed) == [], "not on the effect list of pyproject.toml"
    assert sorted(listed - real) == [], "on the effect list of pyproject.toml, but touch nothing"


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "from time import monotonic_ns",
        "from datetime import datetime",
        "import threading",
        "import socket",
        "import random",
        "import subprocess",
        "import numpy as np\nx = np.random.default_rng(0)",
        "from numpy.random import default_rng",
    ],
)
def test_reading_the_world_is_caught(tmp_path: Path, line: str) -> None:
    (tmp_path / "found.py").write_text(line + "\n")
    assert banned_imports(tmp_path / "found.py") == {tmp_path / "found.py"}


def test_generator_that_is_given_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "given.py").write_text(
        "import numpy as np\n\ndef draw(rng: np.random.Generator) -> float:\n    return rng.random()\n"
    )
    assert banned_imports(tmp_path / "given.py") == set()


@pytest.mark.parametrize("source", ["open('x')", "path.read_text()", "with path.open('w') as f: pass"])
def test_file_is_caught(source: str) -> None:
    assert touches_files(source)
    assert not touches_files("stream.push(1, value)")


# Names


def loaded(path: Path) -> ModuleType:
    return importlib.import_module(name_of(path))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_names_are_a_tuple_and_exist(path: Path) -> None:
    module = loaded(path)
    names = getattr(module, "__all__", () if path == SRC / "__init__.py" else None)
    assert isinstance(names, tuple), f"{module.__name__} needs __all__, a tuple"
    assert len(set(names)) == len(names)
    assert [name for name in names if name.startswith("_") or not hasattr(module, name)] == []


@pytest.mark.parametrize("path", [p for p in MODULES if p.stem != "__init__"], ids=name_of)
def test_module_hides_what_it_does_not_list(path: Path) -> None:
    tree = ast.parse(path.read_text())
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")}
    assert defined <= set(loaded(path).__all__)


def undocumented(name: str, value: object) -> Iterator[str]:
    """Name what has no docstring of its own: the object, and the public methods and properties of a class."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return
    doc = value.__doc__ or ""
    if not doc.strip() or (inspect.isclass(value) and doc.startswith(f"{value.__name__}(")):
        yield name
    if inspect.isclass(value):
        for key, member in vars(value).items():
            callable_or_property = inspect.isroutine(member) or isinstance(member, property | classmethod | staticmethod)
            if not key.startswith("_") and callable_or_property and not (member.__doc__ or "").strip():
                yield f"{name}.{key}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_names_are_documented(path: Path) -> None:
    module = loaded(path)
    assert module.__doc__
    names = getattr(module, "__all__", ())
    assert [gap for name in names for gap in undocumented(name, getattr(module, name))] == []


def test_missing_docstring_is_caught() -> None:
    class Bare:
        def method(self) -> None: ...

    assert list(undocumented("Bare", Bare)) == ["Bare", "Bare.method"]


# Words and habits


def asserts_on_input(source: str) -> list[int]:
    """Give the lines of asserts that speak of an argument: what comes in is refused with a sentence, not asserted."""
    found: list[int] = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            a = function.args
            given = {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)} - {"self", "cls"}
            asserts = [node for node in ast.walk(function) if isinstance(node, ast.Assert)]
            found += [node.lineno for node in asserts if given & {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}]
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_input_is_not_asserted(path: Path) -> None:
    assert asserts_on_input(path.read_text()) == []


def test_assert_on_input_is_caught() -> None:
    assert asserts_on_input("def f(x):\n    assert x > 0\n") == [2]
    assert asserts_on_input("def f(x):\n    y = x + 1\n    assert y\n") == []


SILENCED = re.compile(
    "|".join(("NotImplemented" + "Error", "TO" + "DO", "FIX" + "ME", "X" * 3, "pragma" + ": no cover", "no" + "qa"))
)


@pytest.mark.parametrize("path", MODULES + NATIVE, ids=ids(MODULES + NATIVE))
def test_nothing_is_unfinished_or_silenced(path: Path) -> None:
    assert SILENCED.findall(path.read_text()) == []


LIGHT = ["onbeat", *(["onbeat.cli.main"] if (SRC / "cli" / "main.py").is_file() else [])]


@pytest.mark.parametrize("module", LIGHT)
def test_import_stays_light(module: str) -> None:
    heavy = "{'numpy', 'matplotlib', 'pydantic', 'pyarrow', 'zxingcpp', 'ruamel', 'mcap', 'onbeat._core'}"
    code = f"import sys, {module}; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
