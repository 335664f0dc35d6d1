from pathlib import Path

import pytest

from tests.oracle.held_out import held_out_errors


@pytest.mark.real_data
def test_rates_of_a_real_recording_make_its_gaps_ten_times_smaller(data_dir: Path) -> None:
    errors = held_out_errors(data_dir / "rpng_plane" / "table_01.csv")
    assert errors["linear"][0] / errors["hermite"][0] >= 10
    assert errors["linear"][1] / errors["hermite"][1] >= 4
