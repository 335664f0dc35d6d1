"""onbeat: the timing layer for robots."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onbeat.policy import Rig, Runner, load_rig

__all__ = ("Rig", "Runner", "load_rig")


def __getattr__(name: str) -> Any:
    # Imported when asked for, so that `onbeat --help` and a program that needs one room pay for no other.
    if name in __all__:
        from onbeat import policy

        return getattr(policy, name)
    raise AttributeError(f"module 'onbeat' has no attribute {name!r}")
