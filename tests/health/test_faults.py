import re

from onbeat.health.faults import FAULTS


def test_names_are_words_of_one_style_and_say_what_they_mean() -> None:
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) and sentence for name, sentence in FAULTS.items())
