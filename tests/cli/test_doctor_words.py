from onbeat.cli.doctor_words import bars
from tests.report.doctor_runs import run


def test_bars_count_every_cycle_that_was_not_stolen() -> None:
    lines = bars(run())
    counts = [int(line.split("█")[0].split()[-1]) for line in lines if "█" in line]
    assert sum(counts) == 1499


def test_late_cycles_are_marked() -> None:
    assert any("over the bar" in line for line in bars(run(late_us=3000.0)))
    assert not any("over the bar" in line for line in bars(run()))
