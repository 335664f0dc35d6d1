"""Held-out samples of a real recording: how much better poses with their rates are than straight lines between samples."""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.oracle.held_out import held_out_errors  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    options = parser.parse_args()
    path = Path(os.environ.get("ONBEAT_DATA", ROOT.parent / "shared" / "data")) / "rpng_plane" / "table_01.csv"
    what = "real pose at 25 Hz, held-out samples, Hermite with rates against linear"
    bars: list[dict[str, Any]] = []
    if not path.is_file():
        bars.append({"what": what, "bar": "10 times, 4 times", "figure": f"{path.name} is not here", "met": None})
    else:
        errors = held_out_errors(path)
        for index, (kind, bar, unit, scale) in enumerate(
            (("position", 10, "mm", 1e3), ("rotation", 4, "mdeg", 1e3 * 180 / math.pi))
        ):
            linear, hermite = errors["linear"][index], errors["hermite"][index]
            figure = f"{linear / hermite:.1f} times ({scale * linear:.4g} against {scale * hermite:.3g} {unit} rms)"
            bars.append({"what": f"{what}, {kind}", "bar": f">= {bar} times", "figure": figure, "met": linear >= bar * hermite})
    if options.json:
        print(json.dumps({"bars": bars}))
    else:
        for each in bars:
            print(f"{each['what']}: {each['figure']} (bar: {each['bar']})")


if __name__ == "__main__":
    main()
