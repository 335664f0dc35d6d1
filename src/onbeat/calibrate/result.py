"""What a measurement says: a value with its interval, or a refusal with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from onbeat.errors import BadInput

__all__ = ("CalibrationResult",)

VERDICTS = ("accepted", "refused")


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """One measured quantity. Only an accepted result is written anywhere.

    Args:
        quantity: What was measured, e.g. "action_latency".
        value: In SI units; None when refused: a number that is not a measurement is never returned as one.
        ci95: Half-width of the 95 % interval, same unit; None when refused.
        n: Samples that speak.
        method: How, in a few words.
        conditions: Figures that go with the value (gain, offset, residual, ...), keyed by name.
        verdict: "accepted" or "refused".
        reason: One sentence when refused, else "".
        alternatives: Other values that the data cannot tell from this one.

    Raises:
        BadInput: the parts contradict each other.
    """

    quantity: str
    value: float | None
    ci95: float | None
    n: int
    method: str
    conditions: Mapping[str, Any] = field(default_factory=dict)
    verdict: str = "accepted"
    reason: str = ""
    alternatives: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", dict(self.conditions))
        object.__setattr__(self, "alternatives", tuple(self.alternatives))
        if self.n < 0:
            raise BadInput(f"{self.quantity} cannot rest on {self.n} samples")
        if self.verdict not in VERDICTS:
            raise BadInput(f"verdict must be one of {VERDICTS}, not {self.verdict!r}")
        if self.verdict == "refused":
            if self.value is not None or self.ci95 is not None:
                raise BadInput(f"{self.quantity} was refused and so has no value")
            if not self.reason:
                raise BadInput(f"a refusal of {self.quantity} must say why")
        elif self.value is None or self.ci95 is None or not isfinite(self.value) or not (isfinite(self.ci95) and self.ci95 >= 0):
            raise BadInput(f"an accepted {self.quantity} needs a finite value and ci95, not {self.value} +- {self.ci95}")

    @property
    def accepted(self) -> bool:
        """Whether the value may be used and written."""
        return self.verdict == "accepted"

    @classmethod
    def refuse(
        cls, quantity: str, reason: str, *, n: int, method: str, alternatives: tuple[float, ...] = (), **conditions: Any
    ) -> "CalibrationResult":
        """Build a refusal."""
        return cls(quantity, None, None, n, method, conditions, "refused", reason, alternatives)
