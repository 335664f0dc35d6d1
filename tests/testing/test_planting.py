import numpy as np
import pytest

from onbeat.errors import Damaged
from onbeat.read import StreamRecording
from onbeat.testing.planting import survey
from tests.testing.plain import FIELDS, LATENCY_NS, PERIOD_NS, START_NS, N, plain


def test_survey_sees_what_a_stream_is() -> None:
    seen = survey(plain(size=13))
    s = seen["s"]
    assert (s.n, s.first_ns, s.last_ns) == (N, START_NS, START_NS + (N - 1) * PERIOD_NS)
    assert (s.period_ns, s.latency_ns, s.steady, s.exposed) == (PERIOD_NS, LATENCY_NS, True, True)
    assert s.fields == (*FIELDS, "value")
    assert s.span_s == 60
    assert (seen["events"].time, seen["events"].n, seen["events"].latency_ns) == ("log_ns", 2, 0)


def test_survey_of_what_cannot_be_read_is_refused() -> None:
    def read():  # type: ignore[no-untyped-def]
        raise Damaged("nothing here")
        yield

    with pytest.raises(Damaged, match="nothing here"):
        survey(StreamRecording(plain().path, "made", read))


def test_times_that_come_now_and_then_are_not_steady() -> None:
    recording = plain(np.delete(plain_rows_of_one(), np.random.default_rng(0).choice(N, 5000, replace=False)))
    assert not survey(recording)["s"].steady


def plain_rows_of_one() -> np.ndarray:
    return next(batch.rows for batch in plain(size=N).read() if batch.info.name == "s")
