"""What `onbeat doctor` says of a machine: the verdict, the checks, the self test, the numbers for result.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.machine.checks import worst
from onbeat.machine.machine import Level, MachineCheck
from onbeat.machine.round_trips import RoundTrips
from onbeat.machine.self_test import SelfTest
from onbeat.report.words import counted

__all__ = ("EDGES_US", "SCHEMA", "DoctorReport", "histogram", "self_test_words")

SCHEMA = "onbeat doctor 1"

EDGES_US: NDArray[np.float64] = np.array([0, *(10 ** (np.arange(0, 41) / 8)), np.inf])
"""Edges of the histograms: eight bins a decade from 1 us to 0.1 s, and what is below and above."""


@dataclass(frozen=True, slots=True, eq=False)
class DoctorReport:
    """One run of `onbeat doctor`.

    Args:
        checks: Of the machine.
        tests: Runs of the loop, the baseline or the production check first.
        device: Name of the device that was asked, and what it answered.
    """

    checks: tuple[MachineCheck, ...]
    tests: tuple[SelfTest, ...]
    device: tuple[str, RoundTrips] | None = None

    @property
    def level(self) -> Level:
        """The worst of all checks and self tests."""
        return worst([*(check.verdict for check in self.checks), *(test.verdict for test in self.tests)])

    def of(self, level: Level) -> tuple[MachineCheck, ...]:
        """The checks with a verdict."""
        return tuple(check for check in self.checks if check.verdict == level)

    def verdict(self) -> str:
        """Say in one sentence how it stands."""
        rate = f"{self.tests[0].rate_hz:g} Hz" if self.tests else "a loop"
        test = worst([test.verdict for test in self.tests]) if self.tests else "unknown"
        kept = {
            "good": f"this machine keeps {rate}",
            "warn": f"this machine keeps {rate} with little to spare",
            "bad": f"this machine does not keep {rate}",
            "unknown": f"whether this machine keeps {rate} could not be told",
        }[test]
        bad, warn = self.of("bad"), self.of("warn")
        said = [f"{counted(len(bad), 'bad check')} ({', '.join(check.name for check in bad[:4])})"] if bad else []
        said += [counted(len(warn), "warning")] if warn else []
        return f"{kept}; of {len(self.checks)} checks, {' and '.join(said) or 'none is bad'}"

    def document(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Give result.json; `run` holds what differs from run to run."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict(),
            "level": self.level,
            "checks": [
                {"name": c.name, "value": c.value, "source": c.source, "verdict": c.verdict, "fix": c.fix} for c in self.checks
            ],
            "selftest": self._self_test(),
            "device": None if self.device is None else {"name": self.device[0], **_round_trips(self.device[1])},
            "run": dict(run),
        }

    def _self_test(self) -> dict[str, Any]:
        """The figures of the first run, and all runs below them."""
        runs = [_figures(test) for test in self.tests]
        first = {key: value for key, value in runs[0].items() if key != "histogram"} if runs else {}
        return {**first, "runs": runs}


def histogram(values_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count values in the bins of EDGES_US."""
    return np.asarray(np.histogram(values_ns * 1e-3, EDGES_US)[0], dtype=np.int64)


def self_test_words(test: SelfTest) -> str:
    """Name a run: what ran beside the loop."""
    return {
        "baseline": "alone",
        "load": f"under load ({', '.join(test.loads)})",
        "production": "beside the real jobs",
    }[test.kind]


def _figures(test: SelfTest) -> dict[str, Any]:
    return {
        "kind": test.kind,
        "loads": list(test.loads),
        "rate_hz": test.rate_hz,
        "verdict": test.verdict,
        "valid": not test.invalid,
        "invalid": test.invalid,
        "sched_fifo": test.realtime,
        "refused": list(test.refused),
        "cycles": len(test.lateness_ns),
        "cycles_stolen": int(test.stolen.sum()),
        "p50_us": test.percentile_us(50),
        "p99_us": test.percentile_us(99),
        "p999_us": test.percentile_us(99.9),
        "max_us": test.percentile_us(100),
        "missed": test.missed,
        "with_stolen": {
            "p50_us": test.percentile_us(50, stolen=True),
            "p99_us": test.percentile_us(99, stolen=True),
            "p999_us": test.percentile_us(99.9, stolen=True),
            "max_us": test.percentile_us(100, stolen=True),
            "missed": test.missed_in_all,
        },
        "stolen_share": test.stolen_share,
        "others_cpus": test.others_cpus,
        "good_p999_us": test.good_us,
        "histogram": {
            "edges_us": EDGES_US[:-1],
            "counts": histogram(test.own_ns),
            "stolen": histogram(test.lateness_ns[test.stolen]),
        },
    }


def _round_trips(trips: RoundTrips) -> dict[str, Any]:
    return {
        "n": len(trips.took_ns),
        "rate_hz": trips.rate_hz,
        "late": trips.late,
        "round_trip": _quantiles(trips.took_ns),
        "report_interval": {**_quantiles(trips.interval_ns), "n": len(trips.interval_ns)},
        "feedback_age": _quantiles(trips.age_ns),
        "histogram": {"edges_us": EDGES_US[:-1], "report_interval": histogram(trips.interval_ns)},
    }


def _quantiles(values_ns: NDArray[np.int64]) -> dict[str, float | None]:
    if not len(values_ns):
        return {"p50_us": None, "p99_us": None, "max_us": None}
    p50, p99, worst_us = np.percentile(values_ns, [50, 99, 100]) * 1e-3
    return {"p50_us": float(p50), "p99_us": float(p99), "max_us": float(worst_us)}
