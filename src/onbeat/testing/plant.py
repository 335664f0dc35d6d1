"""`python -m onbeat.testing.plant FILE FAULT --out OUT.mcap`: plant a named fault in a recording; say where and how much."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onbeat.errors import OnbeatError
from onbeat.testing.faults import PLANTABLE, plant
from onbeat.testing.write_csv import write_csv
from onbeat.testing.write_mcap import write_mcap

__all__ = ("main",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, write the file, and print one line of JSON with the truth; give 0, or 2 with a sentence."""
    from onbeat.read.open import open_streams

    parser = argparse.ArgumentParser(prog="python -m onbeat.testing.plant", description="Plant a named fault in any recording.")
    parser.add_argument("file", type=Path, help="recording of any kind that onbeat reads")
    parser.add_argument("fault", help=f"one of {', '.join(PLANTABLE)}")
    parser.add_argument("--out", type=Path, required=True, help="file to write: NAME.mcap (ROS 2) or NAME.csv")
    parser.add_argument("--seed", type=_seed, default=0, help="which stream and how much")
    parser.add_argument("--stream", help="where to plant it (default: drawn)")
    options = parser.parse_args(arguments)
    try:
        if options.out.resolve() == options.file.resolve():
            parser.error(f"{options.out} is the recording itself; choose another --out")
        made, truth = plant(open_streams(options.file), options.fault, np.random.default_rng(options.seed), options.stream)
        (write_csv if options.out.suffix == ".csv" else write_mcap)(made, options.out)
    except (OnbeatError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps({"fault": truth.fault, "stream": truth.stream, **truth.parameters}))
    return 0


def _seed(word: str) -> int:
    seed = int(word)
    if seed < 0:
        raise ValueError(word)
    return seed


if __name__ == "__main__":
    sys.exit(main())
