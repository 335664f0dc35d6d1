from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.clock.packet import SIZE, Probe, Reply, decode, encode_probe, encode_reply

REPLY = Reply(
    client=2**64 - 1,
    number=7,
    server=3,
    epoch=2,
    received_ns=1_700_000_000_123_456_789,
    sent_ns=-5,
    previous=6,
    previous_sent_ns=11,
    bound_ns=13,
    wall_minus_reference_ns=-17,
    outbound_residence_ns=19,
    return_residence_ns=23,
    kernel_received=True,
)


def test_messages_come_back_as_they_were_and_are_of_one_size() -> None:
    assert decode(encode_probe(Probe(5, 9))) == Probe(5, 9)
    assert decode(encode_reply(REPLY)) == REPLY
    assert decode(encode_reply(replace(REPLY, previous_sent_ns=None))) == replace(REPLY, previous_sent_ns=None)
    assert len(encode_probe(Probe(5, 9))) == len(encode_reply(REPLY)) == SIZE


@pytest.mark.parametrize("junk", [b"\x00", b"\x45" * 42, bytes(2048)])
def test_message_with_anything_before_or_after_it_is_none(junk: bytes) -> None:
    message = encode_probe(Probe(5, 9))
    assert [decode(junk + message), decode(message + junk), decode(message[:-1]), decode(b"")] == [None] * 4


@given(st.binary(max_size=300))
def test_junk_is_none(data: bytes) -> None:
    assert decode(data) is None


@given(st.integers(0, SIZE - 1), st.integers(1, 255))
def test_damaged_messages_never_raise(at: int, flip: int) -> None:
    data = bytearray(encode_reply(REPLY))
    data[at] ^= flip
    decode(bytes(data))


def test_bound_below_nothing_is_no_message() -> None:
    assert decode(encode_reply(replace(REPLY, bound_ns=-1))) is None
