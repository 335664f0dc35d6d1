import pytest

from onbeat.health import Figure, Verdict
from onbeat.report.words import as_sentence, counted, duration, figure_cells, in_words, listed, printable, quantity, short, spoken


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.0123, "s", "12.3 ms"),
        (0.99999, "s", "1 s"),
        (1.5, "s", "1.5 s"),
        (0.0, "s", "0 s"),
        (-0.11, "s", "-110 ms"),
        (2e-6, "s", "2 µs"),
        (37.0, "s", "37 s"),
        (46.04, "ppm", "46.04 ppm"),
        (29.97, "Hz", "29.97 Hz"),
        (12345.6, "Hz", "12346 Hz"),
        (17.0, "1", "17"),
    ],
)
def test_a_quantity_has_the_unit_that_fits(value: float, unit: str, words: str) -> None:
    assert quantity(value, unit) == words


def test_an_interval_has_the_unit_of_its_value() -> None:
    assert figure_cells("true_rate", Figure(0.0012, "s", 0.0009, 0.0015)) == ("true rate", "1.2 ms", "0.9 ms to 1.5 ms")
    assert figure_cells("n", Figure(3, "1")) == ("n", "3", "")


def test_shares_are_in_percent_and_counts_are_not() -> None:
    assert figure_cells("share of time", Figure(0.02231, "1")) == ("share of time", "2.231 %", "")
    assert figure_cells("off", Figure(-0.05, "1", -0.06, -0.04)) == ("off", "-5 %", "-6 % to -4 %")
    assert figure_cells("missed", Figure(0.0004, "1")) == ("missed", "0.04 %", "")
    assert figure_cells("gaps", Figure(2, "1")) == ("gaps", "2", "")
    assert figure_cells("share", Figure(0.02, "s")) == ("share", "20 ms", "")


def test_interval_that_is_finer_than_the_digits_is_a_half_width() -> None:
    assert figure_cells("step", Figure(0.194, "s", 0.194 - 2e-9, 0.194 + 2e-9))[2] == "± 2 ns"


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (125, "2 min 05 s"), (7325, "2 h 02 min")])
def test_long_times(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_names_end_and_obey_nobody() -> None:
    assert short("imu") == "imu"
    assert short("a" * 500 + "end", 20) == "aaaaaaaaa…aaaaaaaend"
    assert printable("red \x1b[31m\nand \ud800") == "red ?[31m and ?"
    assert listed([str(k) for k in range(9)]) == "0, 1, 2, 3 and 5 more"
    assert (counted(1, "row"), counted(2, "row")) == ("1 row", "2 rows")
    assert in_words("tai_utc") == "TAI against UTC"


def test_a_sentence_that_begins_with_a_stream_keeps_its_name() -> None:
    assert as_sentence("imu is late", ["imu"]) == "imu is late."
    assert as_sentence("the imu is late.", ["imu"]) == "The imu is late."
    assert as_sentence("is the imu late?") == "Is the imu late?"
    assert as_sentence("") == ""


def test_a_huge_name_in_a_sentence_is_cut() -> None:
    name = "n" * 5000
    assert len(spoken(Verdict("gap", (name,), "note", f"stream {name} is silent"))) < 100
