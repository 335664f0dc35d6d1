"""Four stamps of one exchange with a server: the offset, the round trip, and the bound that no arithmetic can narrow."""

from dataclasses import dataclass

from onbeat.errors import BadInput
from onbeat.units import whole_ns

__all__ = ("Exchange",)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its reply (RFC 5905's four stamps). docs/notation.md has the signs.

    Args:
        t1_ns: The request left, on the client's clock.
        t2_ns: It arrived, on the server's clock.
        t3_ns: The reply left, on the server's clock.
        t4_ns: It arrived, on the client's clock.
        outbound_residence_ns: How long the request waited inside switches that measured it, as a transparent clock of PTP does.
        return_residence_ns: The same of the reply.

    Raises:
        BadInput: the reply arrived before the request left, a residence is negative, or the legs together took less than no
            time: then a clock was set in mid-exchange, and the exchange says nothing.
    """

    t1_ns: int
    t2_ns: int
    t3_ns: int
    t4_ns: int
    outbound_residence_ns: int = 0
    return_residence_ns: int = 0

    def __post_init__(self) -> None:
        for name in ("t1_ns", "t2_ns", "t3_ns", "t4_ns", "outbound_residence_ns", "return_residence_ns"):
            object.__setattr__(self, name, whole_ns(getattr(self, name), name))
        if self.t4_ns < self.t1_ns:
            raise BadInput(
                f"the reply arrived {self.t1_ns - self.t4_ns} ns before its request left, so the client's clock was set back; "
                "discard the exchange"
            )
        if self.outbound_residence_ns < 0 or self.return_residence_ns < 0:
            raise BadInput(
                f"residence times are {self.outbound_residence_ns} and {self.return_residence_ns} ns; nothing waits less than 0"
            )
        if self.delay_ns < 0:
            raise BadInput(
                f"the legs took {self.delay_ns} ns together, less than no time, so a clock was set in mid-exchange or the "
                "residence times are wrong; discard the exchange"
            )

    @property
    def _outbound_ns(self) -> int:
        return self.t2_ns - self.t1_ns - self.outbound_residence_ns

    @property
    def _return_ns(self) -> int:
        return self.t3_ns - self.t4_ns + self.return_residence_ns

    @property
    def offset_ns(self) -> int:
        """Server minus client, add it to a client's stamp; exact if both legs took equally long, rounded down to 1 ns."""
        return (self._outbound_ns + self._return_ns) // 2

    @property
    def delay_ns(self) -> int:
        """What both legs took together; an offset between the clocks cancels in it."""
        return self._outbound_ns - self._return_ns

    @property
    def bound_ns(self) -> int:
        """Half of the delay, rounded up: the offset is wrong by at most this, whatever the legs took (at the instant itself)."""
        return -(-self.delay_ns // 2)
