"""The messages between a clock's client and its server: one of fixed size each way, numbered, with all that a bound needs."""

import struct
from dataclasses import dataclass

__all__ = ("SIZE", "Probe", "Reply", "decode", "encode_probe", "encode_reply")

# magic, version, kind, client, number; then what only a reply fills. Little-endian. A probe is as long as its reply, so that a
# small forged request floods nobody, and both legs take equally long on the wire.
_HEAD = struct.Struct("<4sBBxxQQ")
_BODY = struct.Struct("<QIIqqqQqqqqq")
_MAGIC, _VERSION = b"ONBT", 1
_PROBE, _REPLY = 1, 2
SIZE = _HEAD.size + _BODY.size
_NONE = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Probe:
    """A request for the time.

    Args:
        client: Drawn by the client at its start.
        number: Counts the client's probes from 1.
    """

    client: int
    number: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a probe, and what became known of the answer before it.

    Args:
        client, number: Those of the probe.
        server: Drawn by the server at its start.
        epoch: Counts the times that the server's own time line was broken.
        received_ns: When the probe arrived, on the server's time line.
        sent_ns: When this reply left, as far as it can be known while it is being written.
        previous: Number of the reply that `previous_sent_ns` is about; 0 for none.
        previous_sent_ns: When that one really left; None when the kernel did not say.
        bound_ns: How far the server's time line may be from its reference.
        wall_minus_reference_ns: The server's wall time minus its time line, for logs.
        outbound_residence_ns, return_residence_ns: What switches measured, 0 where none does.
        kernel_received: Whether `received_ns` is the kernel's stamp.
        steered_ns: How far the reference's machine has steered its clock away from its crystal.
    """

    client: int
    number: int
    server: int
    epoch: int
    received_ns: int
    sent_ns: int
    previous: int
    previous_sent_ns: int | None
    bound_ns: int
    wall_minus_reference_ns: int
    outbound_residence_ns: int = 0
    return_residence_ns: int = 0
    kernel_received: bool = False
    steered_ns: int = 0


def encode_probe(probe: Probe) -> bytes:
    """Write a probe."""
    return _HEAD.pack(_MAGIC, _VERSION, _PROBE, probe.client, probe.number) + bytes(_BODY.size)


def encode_reply(reply: Reply) -> bytes:
    """Write a reply."""
    return _HEAD.pack(_MAGIC, _VERSION, _REPLY, reply.client, reply.number) + _BODY.pack(
        reply.server,
        reply.epoch,
        int(reply.kernel_received),
        reply.received_ns,
        reply.sent_ns,
        _NONE if reply.previous_sent_ns is None else reply.previous_sent_ns,
        reply.previous,
        reply.bound_ns,
        reply.wall_minus_reference_ns,
        reply.outbound_residence_ns,
        reply.return_residence_ns,
        reply.steered_ns,
    )


def decode(data: bytes) -> Probe | Reply | None:
    """Read a message; None for what is not one of ours."""
    if len(data) != SIZE:
        return None
    magic, version, kind, client, number = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or number == 0:
        return None
    if kind == _PROBE:
        return Probe(client, number)
    if kind != _REPLY:
        return None
    server, epoch, kernel, received, sent, previous_sent, previous, bound, wall, outbound, back, steered = _BODY.unpack_from(
        data, _HEAD.size
    )
    if bound < 0 or outbound < 0 or back < 0:
        return None
    return Reply(
        client,
        number,
        server,
        epoch,
        received,
        sent,
        previous,
        None if previous_sent == _NONE else previous_sent,
        bound,
        wall,
        outbound,
        back,
        bool(kernel & 1),
        steered,
    )
