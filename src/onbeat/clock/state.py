"""What a synchronised clock is worth now: acquiring, locked, holdover or expired, and when each."""

from enum import Enum

__all__ = ("HOLDOVER_POLLS", "SyncState", "sync_state")

MIN_EXCHANGES = 8
HOLDOVER_POLLS = 2.0


class SyncState(Enum):
    """How far a clock may be trusted.

    ACQUIRING: fewer than eight exchanges in this epoch; the bound holds, but it is wide.
    LOCKED: exchanges come.
    HOLDOVER: none came for two polls; the bound grows.
    EXPIRED: the bound is beyond the limit, or there never was an exchange.
    """

    ACQUIRING = "ACQUIRING"
    LOCKED = "LOCKED"
    HOLDOVER = "HOLDOVER"
    EXPIRED = "EXPIRED"


def sync_state(exchanges: int, age_ns: int, poll_ns: int, bound_ns: int | None, max_bound_ns: int) -> SyncState:
    """Tell the state.

    Args:
        exchanges: How many were taken in this epoch.
        age_ns: Time since the newest.
        poll_ns: Usual time between exchanges.
        bound_ns: The hard bound now; None when there is none.
        max_bound_ns: Beyond this bound the time is of no use.
    """
    if bound_ns is None or bound_ns > max_bound_ns:
        return SyncState.EXPIRED if exchanges or bound_ns is not None else SyncState.ACQUIRING
    if exchanges < MIN_EXCHANGES:
        return SyncState.ACQUIRING
    return SyncState.HOLDOVER if age_ns > HOLDOVER_POLLS * poll_ns else SyncState.LOCKED
