from onbeat.clock.state import SyncState, sync_state

S = 1_000_000_000


def test_states_follow_exchanges_age_and_bound() -> None:
    def state(exchanges: int, age_ns: int, bound_ns: int | None) -> SyncState:
        return sync_state(exchanges, age_ns, S // 8, bound_ns, 20_000_000)

    assert state(0, 0, None) is SyncState.ACQUIRING
    assert state(7, 0, 1000) is SyncState.ACQUIRING
    assert state(8, 0, 1000) is SyncState.LOCKED
    assert state(8, S // 4, 1000) is SyncState.LOCKED
    assert state(8, S // 4 + 1, 1000) is SyncState.HOLDOVER
    assert state(8, 100 * S, 20_000_001) is SyncState.EXPIRED
