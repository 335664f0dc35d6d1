"""Where to be, when: an immutable path over int64 knots. Native; position and velocity at any instant."""

from onbeat._core import Trajectory

__all__ = ("Trajectory",)
