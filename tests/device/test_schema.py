from pathlib import Path

import pytest
from pydantic import BaseModel

from onbeat.device.config import MEASURED_KEYS
from onbeat.device.schema import MEASURED, ModuleFile, PlantBlock, PolicyFile, ProvenanceBlock, RigFile, check
from onbeat.device.yaml_file import parse_yaml
from onbeat.errors import BadInput


def refusal(text: str, schema: type[BaseModel] = ModuleFile, prefix: tuple[str, ...] = ()) -> str:
    file = parse_yaml(text.encode(), Path("arm.yaml"))
    data = file.data
    for key in prefix:
        data = data[key]
    with pytest.raises(BadInput) as caught:
        check(schema, file, prefix, data)
    return str(caught.value)


@pytest.mark.parametrize("schema", [ModuleFile, PlantBlock, PolicyFile, ProvenanceBlock, RigFile])
def test_every_parameter_has_a_sentence(schema: type[BaseModel]) -> None:
    assert all(field.description for field in schema.model_fields.values())


def test_measured_keys_are_the_same_everywhere() -> None:
    assert MEASURED == MEASURED_KEYS
    assert set(MEASURED) <= set(ModuleFile.model_fields)


def test_unknown_key_goes_before_a_missing_one() -> None:
    assert refusal("devise: a:B\n") == "unknown key 'devise' in arm.yaml line 1; did you mean 'device'?"


def test_first_line_goes_first() -> None:
    assert refusal("device: a:B\nmax_speed: -1\nrate_hz: -1\n").startswith("max_speed in arm.yaml line 2 must be > 0")
    assert refusal("device: a:B\nrate_hz: -1\nmax_speed: -1\n").startswith("rate_hz in arm.yaml line 2 must be > 0")


def test_lines_below_a_prefix() -> None:
    text = "modules:\n  arm:\n    device: a:B\n    poll_hz: fast\n"
    assert refusal(text, prefix=("modules", "arm")) == "poll_hz in arm.yaml line 4 must be a number, not 'fast'"
    text = "modules:\n  arm:\n    poll_hz: 3\n"
    assert refusal(text, prefix=("modules", "arm")).startswith("modules/arm in arm.yaml line 2 has no 'device'; add it: ")


def test_key_without_a_value_is_no_key() -> None:
    file = parse_yaml(b"device: a:B\nmax_speed:\nrate_hz: ~\n", Path("arm.yaml"))
    parsed = check(ModuleFile, file, (), file.data)
    assert (parsed.max_speed, parsed.rate_hz) == (None, 100.0)


def test_date_without_quotes() -> None:
    block = "provenance: {max_speed: {source: measured, value: 1, date: 2026-11-30}}"
    file = parse_yaml(f"device: a:B\n{block}\n".encode(), Path("arm.yaml"))
    assert check(ModuleFile, file, (), file.data).provenance["max_speed"].date == "2026-11-30"


def test_count_that_is_no_whole_number() -> None:
    said = refusal("device: a:B\nprovenance: {max_speed: {source: measured, value: 1, n: 1.5}}\n")
    assert said.startswith("provenance/max_speed/n in arm.yaml line 2 must be a whole number, not 1.5")


PLANT = """\
device: a:B
plant:
  0:
    l_eff: 0.098
    gain: 1.0
    gain_ci95: 0.001
    chi2_dof: 1.2
    stamps: corrected
    motion: sines
    provenance: {source: measured, value: 0.098}
"""


def test_plant_of_a_joint() -> None:
    file = parse_yaml(PLANT.encode(), Path("arm.yaml"))
    parsed = check(ModuleFile, file, (), file.data)
    assert parsed.plant[0].l_eff == 0.098
    assert parsed.plant[0].dead_time is None


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("l_eff: 0.098", "leff: 0.098", "unknown key 'leff' in arm.yaml line 4; did you mean 'l_eff'?"),
        ("gain: 1.0\n", "\n", "plant/0 in arm.yaml line 3 has no 'gain'; add it: motion over command"),
        ("l_eff: 0.098", "l_eff: 98", "plant/0/l_eff in arm.yaml line 4 is 98 s; it is written in seconds, so 98 ms is 0.098"),
        ("l_eff: 0.098", "l_eff: -0.1", "plant/0/l_eff in arm.yaml line 4 must be >= 0 s, not -0.1 s"),
        ("motion: sines", "motion: wobble", "plant/0/motion in arm.yaml line 9 must be one of 'sines', 'multisine' or 'chirp'"),
        ("  0:", "  -1:", "plant in arm.yaml line 3 has no joint -1; joints are counted from 0"),
        ("  0:", "  elbow:", "plant in arm.yaml line 3 has no joint 'elbow'; joints are counted from 0"),
        ("source: measured", "sourse: measured", "unknown key 'sourse' in arm.yaml line 10; did you mean 'source'?"),
        ("source: measured, ", "", "plant/0/provenance in arm.yaml line 10 has no 'source'; add it: how the figure came to be"),
    ],
)
def test_plant_that_is_wrong(before: str, after: str, says: str) -> None:
    assert before in PLANT
    assert refusal(PLANT.replace(before, after, 1)).startswith(says)
