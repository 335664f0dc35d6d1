import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.clock.daemon_reports import chrony_frequency_ppm, read_chrony, read_kernel, read_phc2sys, read_ptp4l
from onbeat.clock.state import SyncState

TRACKING = (
    "0A090001,10.9.0.1,2,1796070884.208485380,0.000000814,-0.000000001,0.000000008,0.003,0.000,0.025,"
    "0.000002295,0.000000160,0.1,Normal"
)


def pmc(port: str, *, offset: int = 594, clock_class: int = 6) -> str:
    return (
        f"sending: GET TIME_STATUS_NP\n\taa-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP\n\t\tmaster_offset              {offset}\n"
        f"\t\tgmPresent                  true\n\t\tportState               {port}\n"
        f"\t\tgm.ClockClass                         {clock_class}\n"
        "\t\tmeanPathDelay    1200.0\n"
    )


def test_chrony_that_follows_a_source() -> None:
    report = read_chrony(TRACKING, 1796070884.3)
    assert (report.state, report.offset_ns, report.finding) == (SyncState.LOCKED, 814, False)
    assert report.bound_ns == pytest.approx(2295 / 2 + 160, abs=1)
    assert report.age_s == pytest.approx(0.09, abs=0.01)
    assert "10.9.0.1 (stratum 2)" in report.sentence


def test_chrony_whose_source_fell_silent_coasts() -> None:
    report = read_chrony(TRACKING, 1796070884.2 + 500)
    assert (report.state, report.finding) == (SyncState.HOLDOVER, True)


def test_chrony_without_a_source() -> None:
    report = read_chrony(TRACKING.replace("Normal", "Not synchronised").replace("0A090001,10.9.0.1", "00000000,"), 0)
    assert report.state is SyncState.ACQUIRING


@pytest.mark.parametrize("said", ["", "506 Cannot talk to daemon", "a,b,c,d,e,f,g,h,i,j,k,l,m,n"])
def test_chrony_that_does_not_answer_is_a_finding(said: str) -> None:
    report = read_chrony(said, 0)
    assert report.finding
    assert report.offset_ns is None


@pytest.mark.parametrize(
    ("clock_class", "state", "finding"),
    [(6, SyncState.LOCKED, False), (7, SyncState.HOLDOVER, True), (248, SyncState.LOCKED, False)],
)
def test_clock_class_of_the_grandmaster_is_shown(clock_class: int, state: SyncState, finding: bool) -> None:
    report = read_ptp4l(pmc("SLAVE", clock_class=clock_class))
    assert (report.state, report.finding, report.offset_ns) == (state, finding, 594)
    assert f"clockClass {clock_class}" in report.sentence


def test_master_that_lost_its_reference_coasts() -> None:
    assert read_ptp4l(pmc("MASTER", clock_class=7)).state is SyncState.HOLDOVER
    assert read_ptp4l(pmc("MASTER", clock_class=248)).state is None


def test_port_that_is_not_locked_yet_or_not_any_more() -> None:
    assert read_ptp4l(pmc("UNCALIBRATED")).state is SyncState.ACQUIRING
    assert read_ptp4l(pmc("FAULTY")).finding
    assert read_ptp4l("").finding


def test_dead_phc2sys_under_a_locked_ptp4l_is_named() -> None:
    locked = read_ptp4l(pmc("SLAVE"))
    report = read_phc2sys(False, locked, software=False)
    assert report is not None
    assert report.finding
    assert "no phc2sys runs" in report.sentence
    assert read_phc2sys(False, locked, software=True) is None
    assert read_phc2sys(False, None, software=None) is None
    alive, alone = read_phc2sys(True, locked, software=False), read_phc2sys(True, None, software=None)
    assert alive is not None
    assert alone is not None
    assert (alive.finding, alone.finding) == (False, True)


def test_slew_is_told_from_a_crystal_that_is_corrected() -> None:
    assert not read_kernel(-0.14).finding
    assert not read_kernel(46.0, chrony_ppm=45.8).finding
    assert read_kernel(500.0).finding
    assert read_kernel(-454.0, chrony_ppm=46.0).finding


ODD = st.sampled_from(
    ["nan", "inf", "-inf", "", "1e400", "-1e308", "abc", "0x10", "９", "1_000", "\0", "9" * 400, "-5", "é", "6.5", "²"]
)


@given(st.dictionaries(st.integers(0, 13), ODD, max_size=4), st.integers(0, 14), st.sampled_from([0.0, 1796070884.3]))
def test_odd_text_of_chrony_never_raises_nor_makes_a_number(fields: dict[int, str], length: int, wall_s: float) -> None:
    said = [fields.get(k, field) for k, field in enumerate(TRACKING.split(","))][: length + 1]
    report = read_chrony(",".join(said), wall_s)
    assert report.age_s is None or math.isfinite(report.age_s)
    frequency = chrony_frequency_ppm(",".join(said))
    assert frequency is None or math.isfinite(frequency)


@given(ODD, ODD, ODD, st.sampled_from(["SLAVE", "MASTER", "FAULTY", "nonsense"]))
def test_odd_text_of_ptp4l_never_raises(offset: str, rank: str, path: str, port: str) -> None:
    said = f"\t\tmaster_offset {offset}\n\t\tportState {port}\n\t\tgm.ClockClass {rank}\n\t\tmeanPathDelay {path}\n"
    report = read_ptp4l(said)
    assert report.name == "ptp4l"
    assert "nan" not in report.sentence.replace("nonsense", "")
