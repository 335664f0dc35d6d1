from typing import Any

import pytest

from onbeat.device import ModuleConfig, Provenance
from onbeat.device.agreement import lead_agreement
from onbeat.device.config import KnownPlant


def known(l_eff: float, ci95: float | None = 0.0005, stamps: str = "sample") -> KnownPlant:
    provenance = Provenance("measured", l_eff, ci95)
    return KnownPlant(l_eff, None, None, None, None, 1.0, 0.001, 1.0, stamps, "sines", provenance)


def config(action_latency: float = 0.0, **changes: Any) -> ModuleConfig:
    return ModuleConfig("arm", "a:B", action_latency=action_latency, **changes)


def measured(value: float, ci95: float = 0.0012) -> dict[str, Provenance]:
    return {"action_latency": Provenance("measured", value, ci95)}


def test_nothing_known_has_nothing_to_agree_with() -> None:
    assert lead_agreement(config(0.1, provenance=measured(0.1))) is None


def test_two_that_agree() -> None:
    found = lead_agreement(config(0.1, provenance=measured(0.1), plant={0: known(0.1008), 1: known(0.101)}))
    assert found is not None
    assert found.agrees is True
    assert found.l_eff_s == pytest.approx(0.1009)
    assert found.sentence == (
        "the plant's l_eff is 100.90 ms +- 0.50 ms, the mean of 2 joints, and action_latency 100.00 ms +- 1.20 ms: 0.90 ms "
        "apart, within the 1.30 ms that both intervals allow; action_latency stays the lead that is applied"
    )


def test_two_that_disagree() -> None:
    found = lead_agreement(config(0.12, provenance=measured(0.12), plant={0: known(0.1)}))
    assert found is not None
    assert found.agrees is False
    assert "20.00 ms apart, beyond the 1.30 ms" in found.sentence
    assert "measure action_latency anew: it stays the lead" in found.sentence


@pytest.mark.parametrize(
    ("source", "says"),
    [("absent", "is not there; measure it"), ("copied", "is 120.00 ms and copied, not measured"), ("edited", "and edited, not")],
)
def test_lead_that_was_not_measured_has_nothing_to_say(source: str, says: str) -> None:
    found = lead_agreement(config(0.12, provenance={"action_latency": Provenance(source)}), {0: known(0.1, None)})
    assert found is not None
    assert found.agrees is None
    assert says in found.sentence
    assert found.sentence.endswith("write action_latency: 0.1000 by hand")


def test_figure_that_is_only_known_to_be_less() -> None:
    for stamps in ("one-way", "receipt"):
        above = lead_agreement(config(0.1, provenance=measured(0.1), plant={0: known(0.104, stamps=stamps)}))
        below = lead_agreement(config(0.1, provenance=measured(0.1), plant={0: known(0.09, stamps=stamps)}))
        alone = lead_agreement(config(), {0: known(0.09, stamps=stamps)})
        assert above is not None
        assert above.agrees is None
        assert "l_eff is at most 104.00 ms" in above.sentence
        assert above.sentence.endswith(
            "which does not say whether action_latency 100.00 ms +- 1.20 ms is right; measure receive_latency"
        )
        assert below is not None
        assert below.agrees is False
        assert alone is not None
        assert "by hand" not in alone.sentence
