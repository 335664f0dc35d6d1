"""One seed, one rig: each module of a simulated rig draws from its own child of the seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from onbeat.errors import BadInput

__all__ = ("HasParams", "Seeded", "child_rng", "seed_of")

# The order is part of what a seed means; append, never reorder.
_MODULES = ("arm", "gripper", "camera", "screen")


class HasParams(Protocol):
    """What a simulated device reads of its module's configuration."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Keys of the device; here `seed`, a whole number >= 0, 0 when absent."""
        ...


@dataclass(frozen=True, slots=True)
class Seeded:
    """The configuration of a simulated module that comes from no file."""

    params: Mapping[str, Any] = field(default_factory=dict)


def seed_of(config: HasParams) -> int:
    """Give the seed of a module; raises BadInput for unknown keys and for what is not a whole number >= 0."""
    unknown = sorted(set(config.params) - {"seed"})
    if unknown:
        raise BadInput(f"a simulated module has no parameter {unknown[0]!r}; it takes seed")
    seed = config.params.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadInput(f"seed must be a whole number >= 0, not {seed!r}")
    return seed


def child_rng(seed: int, module: str) -> np.random.Generator:
    """Give the generator of one module; what another module draws, and when, does not change it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_MODULES.index(module),)))
