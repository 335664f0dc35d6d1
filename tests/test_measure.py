"""The table of bars: what a bench may say, and that the page keeps what was not run again."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("onbeat_bench_measure", ROOT / "bench" / "measure.py")
    if spec is None or spec.loader is None:
        pytest.fail("bench/measure.py does not load")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    (tmp_path / "bench").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "measuring.md").write_text(f"# Page\n\n{module.BEGIN}\nnothing\n{module.END}\n\nafter\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PAGE", tmp_path / "docs" / "measuring.md")
    return module


def bench(tmp_path: Path, name: str, figure: str, met: str = "true") -> None:
    line = f'{{"bars": [{{"what": "{name}", "bar": "low", "figure": "{figure}", "met": {met}}}]}}'
    (tmp_path / "bench" / f"bench_{name}.py").write_text(f"print('words before')\nprint({line!r})\n")


def rows(tmp_path: Path) -> list[str]:
    return [line for line in (tmp_path / "docs" / "measuring.md").read_text().splitlines() if line.startswith("| ")]


def test_every_bench_gets_its_rows(measure: Any, tmp_path: Path) -> None:
    bench(tmp_path, "a", "1 ms")
    bench(tmp_path, "b", "strace is not installed", met="null")
    assert measure.main([]) == 0
    head, a, b = rows(tmp_path)
    assert head.startswith("| what | bar | figure |")
    assert a.startswith("| a | low | 1 ms | met | `python bench/bench_a.py` | 20")
    assert "| not measured |" in b
    assert (tmp_path / "docs" / "measuring.md").read_text().endswith("after\n")


def test_missed_bar_is_written_and_said(measure: Any, tmp_path: Path) -> None:
    bench(tmp_path, "a", "9 ms", met="false")
    assert measure.main([]) == 1
    assert "**missed**" in rows(tmp_path)[1]


def test_bench_that_breaks_is_a_row(measure: Any, tmp_path: Path) -> None:
    (tmp_path / "bench" / "bench_a.py").write_text("raise RuntimeError('no loop')\n")
    assert measure.main([]) == 1
    assert "bench failed: exit code 1: RuntimeError: no loop" in rows(tmp_path)[1]


def test_one_bench_alone_keeps_the_other_rows(measure: Any, tmp_path: Path) -> None:
    bench(tmp_path, "a", "1 ms")
    bench(tmp_path, "b", "2 ms")
    measure.main([])
    bench(tmp_path, "b", "3 ms")
    measure.main(["bench_b"])
    assert [row.split(" | ")[2] for row in rows(tmp_path)[1:]] == ["1 ms", "3 ms"]


def test_bench_that_is_gone_loses_its_rows(measure: Any, tmp_path: Path) -> None:
    bench(tmp_path, "a", "1 ms")
    bench(tmp_path, "b", "2 ms")
    measure.main([])
    (tmp_path / "bench" / "bench_a.py").unlink()
    measure.main(["bench_b"])
    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize("stdout", ["", "words", "{}", '{"bars": []}', '{"bars": [{"what": "a"}]}', '{"bars": 3}'])
def test_line_that_is_no_report_is_refused(measure: Any, stdout: str) -> None:
    with pytest.raises(ValueError, match="it"):
        measure.bars_of(stdout)


def test_stolen_time_is_a_share(measure: Any) -> None:
    assert measure.stolen_between((10, 1000), (20, 1200)) == "5.0 %"
    assert measure.stolen_between((10, 1000), (10, 1000)) == "0.0 %"
