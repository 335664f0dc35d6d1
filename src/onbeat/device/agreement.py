"""Do two figures of a module agree: the lead that is applied, action_latency, and the l_eff of its identified plant?"""

from dataclasses import dataclass
from math import hypot

from onbeat.device.config import KnownPlant, ModuleConfig

__all__ = ("LeadAgreement", "lead_agreement")


@dataclass(frozen=True, slots=True)
class LeadAgreement:
    """How far apart the two are. Both say how long a command takes to show; only action_latency is taken off, once.

    Args:
        l_eff_s, l_eff_ci95_s: The mean over the identified joints, and its 95 % interval's half-width.
        action_latency_s, action_latency_ci95_s: Of the module; the interval is None where it was not measured.
        agrees: Whether the difference lies within both intervals together; None where there is none to compare with, or where
            l_eff is only known to be less than that.
        sentence: The same in words, with what to do.
    """

    l_eff_s: float
    l_eff_ci95_s: float
    action_latency_s: float
    action_latency_ci95_s: float | None
    agrees: bool | None
    sentence: str


def lead_agreement(config: ModuleConfig, plant: dict[int, KnownPlant] | None = None) -> LeadAgreement | None:
    """Compare a module's action_latency with its plant.

    Args:
        config: The module's.
        plant: Joints to look at; those of the config when not given.

    Returns:
        None where no joint is known.
    """
    joints = dict(config.plant) if plant is None else plant
    if not joints:
        return None
    l_eff_s = sum(known.l_eff for known in joints.values()) / len(joints)
    # What the stamps are off by is the same for all joints: the mean is not known better than one.
    half_s = max(known.provenance.ci95 or 0.0 for known in joints.values())
    provenance = config.provenance_of("action_latency")
    lead_s = config.action_latency
    biased = any(known.biased for known in joints.values())
    what = f"the plant's l_eff is {'at most ' if biased else ''}{_ms(l_eff_s)} +- {_ms(half_s)}" + (
        f", the mean of {len(joints)} joints" if len(joints) > 1 else ""
    )
    if provenance.source != "measured":
        source = "not there" if provenance.source == "absent" else f"{_ms(lead_s)} and {provenance.source}, not measured"
        by_hand = "" if biased else f", or write action_latency: {l_eff_s:.4f} by hand"
        sentence = f"{what}, and action_latency, the lead that is applied, is {source}; measure it{by_hand}"
        return LeadAgreement(l_eff_s, half_s, lead_s, None, None, sentence)
    ci95_s = provenance.ci95 or 0.0
    apart_s, within_s = abs(l_eff_s - lead_s), hypot(half_s, ci95_s)
    if biased and l_eff_s > lead_s - within_s:
        sentence = (
            f"{what}, which does not say whether action_latency {_ms(lead_s)} +- {_ms(ci95_s)} is right; measure receive_latency"
        )
        return LeadAgreement(l_eff_s, half_s, lead_s, ci95_s, None, sentence)
    agrees = apart_s <= within_s
    told = f"{what}, and action_latency {_ms(lead_s)} +- {_ms(ci95_s)}: {_ms(apart_s)} apart, "
    told += f"{'within' if agrees else 'beyond'} the {_ms(within_s)} that both intervals allow"
    end = (
        "action_latency stays the lead that is applied"
        if agrees
        else "measure action_latency anew: it stays the lead that is applied, and the hardware or its settings may have changed"
    )
    return LeadAgreement(l_eff_s, half_s, lead_s, ci95_s, agrees, f"{told}; {end}")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"
