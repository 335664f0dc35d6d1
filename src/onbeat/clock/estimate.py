"""Exchanges with a server -> the map from our clock to its, with a bound that holds; what changed is proven, not guessed."""

from collections import deque
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeAlias, cast

from onbeat._core import ClockModel
from onbeat.clock.exchange import Exchange
from onbeat.clock.map import ClockMap
from onbeat.clock.state import SyncState, sync_state
from onbeat.errors import BadInput, NotSynced
from onbeat.units import to_ns, whole_ns

__all__ = ("ClockEstimator", "ClockEvent")

_PPB = 1e9
_FIRST_POLL_NS = 1_000_000_000
_POLLS = 9


_Kind: TypeAlias = Literal["step", "rate", "delay", "restart"]
_Leg: TypeAlias = Literal["outbound", "return"] | None


@dataclass(frozen=True, slots=True)
class ClockEvent:
    """Something that an exchange proved.

    Args:
        kind: "step": one of the clocks was set, or stood still while its machine slept, and a new epoch began. "rate": the rate
            of one changed faster than a crystal's does. "delay": a leg takes longer than before; the offset is kept where the
            older exchanges prove it to be. "restart": the server is another one, or says that its own time line was broken: a new
            epoch, and the size is not known.
        t_ns: When, on the client's clock.
        size_lo_ns, size_hi_ns: The size lies between them: of the offset's step or the leg's delay in ns, of a rate in ns per
            second. Of a restart they are the ends of int64.
        leg: Of a delay, "outbound" or "return".
    """

    kind: _Kind
    t_ns: int
    size_lo_ns: int = -(1 << 63)
    size_hi_ns: int = (1 << 63) - 1
    leg: _Leg = None


class ClockEstimator:
    """Keeps the map from a client's clock to a server's.

    The hard bound rests on two facts only: no message arrives before it was sent, and the two rates differ by less than
    `drift_bound_ppm`. The point estimate is the line with the most room to the one-way envelopes, so congestion on one leg does
    not move it; half of a constant difference of the legs cannot be seen by anybody, and is inside the bound.

    Args:
        source: Id of the client's clock.
        target: Id of the server's clock.
        drift_bound_ppm: How far the two rates can be apart; two crystals of 100 ppm each.
        max_bound_s: The bound beyond which the state is EXPIRED.

    Raises:
        BadInput: the drift bound is not in (0, 10 000] ppm, or the greatest bound is not above 0.
    """

    def __init__(self, source: str, target: str, drift_bound_ppm: float = 200.0, *, max_bound_s: float = 0.02) -> None:
        if not 0 < drift_bound_ppm <= 10_000:
            raise BadInput(f"drift_bound_ppm must lie in (0, 10000], not {drift_bound_ppm}; two crystals of 100 ppm make 200")
        if not max_bound_s > 0:
            raise BadInput(f"max_bound_s must be above 0 s, not {max_bound_s}; 0.02 is usual")
        self.source = source
        self.target = target
        self.drift_bound_ppm = drift_bound_ppm
        self._max_bound_ns = to_ns(max_bound_s)
        self._model = ClockModel(drift_bound_ppm * 1e-6)
        self._newest_ns: int | None = None
        self._polls: deque[int] = deque(maxlen=_POLLS)
        self._in_epoch = 0
        self._server_bound_ns = 0

    def __repr__(self) -> str:
        return f"ClockEstimator({self.source!r} to {self.target!r}, epoch {self.epoch}, {self._in_epoch} exchanges)"

    @property
    def epoch(self) -> int:
        """Counts steps and restarts: instants of two epochs are on two time lines."""
        return self._model.epoch

    @property
    def exchanges(self) -> int:
        """How many exchanges were taken, over all epochs."""
        return self._model.exchanges

    def add(self, exchange: Exchange, *, server_bound_ns: int = 0, strayed_ns: int = 0) -> ClockEvent | None:
        """Take an exchange; 5 to 15 us.

        Args:
            exchange: Its reply arrived after that of the exchange before.
            server_bound_ns: How far the server itself may be from its reference: bounds add along a chain, and the hard interval
                is that of the offset to the reference.
            strayed_ns: By how much the clocks left the drift bound since the exchange before, as `SlewWatch` tells.

        Returns:
            What the exchange proved beside the offset, most often nothing.

        Raises:
            BadInput: the reply is older than that of an exchange taken already, or a width is negative or beyond eleven days.
        """
        server_bound_ns = whole_ns(server_bound_ns, "server_bound_ns")
        if self._newest_ns is not None and exchange.t4_ns < self._newest_ns:
            raise BadInput(
                f"the reply arrived {self._newest_ns - exchange.t4_ns} ns before that of an exchange taken already; take them in "
                "the order of arrival"
            )
        found = self._model.add(
            exchange.t1_ns,
            exchange.t2_ns - exchange.outbound_residence_ns,
            exchange.t3_ns + exchange.return_residence_ns,
            exchange.t4_ns,
            server_bound_ns,
            strayed_ns,
        )
        if self._newest_ns is not None:
            self._polls.append(exchange.t4_ns - self._newest_ns)
        self._newest_ns = exchange.t4_ns
        self._server_bound_ns = server_bound_ns
        event = None
        if found is not None:
            kind, t_ns, low_ns, high_ns, leg = found
            event = ClockEvent(cast(_Kind, kind), t_ns, low_ns, high_ns, cast(_Leg, leg))
        self._in_epoch = 1 if event is not None and event.kind == "step" else self._in_epoch + 1
        return event

    def restart(self) -> None:
        """Begin a new epoch, as when the server says that its own clock was set: what was learned is forgotten."""
        self._model.restart()
        self._in_epoch = 0

    def map_at(self, now_ns: int) -> ClockMap:
        """Give the map as it is known now.

        Args:
            now_ns: On the client's clock.

        Raises:
            NotSynced: there was no exchange in this epoch.
        """
        if not self._model.known:
            raise NotSynced(f"no exchange with {self.target!r} yet; wait for the first reply of its server")
        line = self._model.line()
        anchor_ns, offset_ns = line.anchor_ns, line.offset_ns
        model_ns = max(line.model_high_ns - offset_ns, offset_ns - line.model_low_ns)
        age_s = max(now_ns - anchor_ns, 0) / 1e9
        spread = max(line.skew_high - line.skew, line.skew - line.skew_low) + 0.5 * line.acceleration * age_s
        return ClockMap(
            source=self.source,
            target=self.target,
            anchor_ns=anchor_ns,
            offset_ns=offset_ns,
            skew_ppb=line.skew * _PPB,
            drift_bound_ppb=self.drift_bound_ppm * 1e3,
            low_ns=line.low_ns,
            high_ns=line.high_ns,
            model_bound_ns=ceil(model_ns) + self._server_bound_ns,
            model_drift_ppb=min(spread, 2e-6 * self.drift_bound_ppm) * _PPB,
            epoch=self.epoch,
        )

    def state_at(self, now_ns: int) -> SyncState:
        """Tell how far the map may be trusted at an instant of the client's clock."""
        if not self._model.known or self._newest_ns is None:
            return SyncState.ACQUIRING
        # Probes may come in pairs: the usual time between them is that between the pairs.
        poll_ns = sorted(self._polls)[3 * len(self._polls) // 4] if self._polls else _FIRST_POLL_NS
        bound_ns = self.map_at(now_ns).bound_at_ns(now_ns)
        return sync_state(self._in_epoch, now_ns - self._newest_ns, poll_ns, bound_ns, self._max_bound_ns)
