"""20 random rigs with --fast: how much worse grasps get without measured delays, and how often the intervals hold the truth.

Also runs one seed twice and compares result.json and the recording byte by byte.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from onbeat.report.demo import DemoOptions, run_demo


def run_seed(seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        story = run_demo(DemoOptions(seed, fast=True), Path(folder), "2000-01-01", "bench")
        recording = (Path(folder) / "recording.mcap").read_bytes()
        return {"result": story.result(), "recording": recording}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)

    ratios: dict[str, list[float]] = defaultdict(list)
    inside: dict[str, list[bool]] = defaultdict(list)
    errors: dict[str, list[float]] = defaultdict(list)
    refused: list[str] = []
    with ProcessPoolExecutor(2) as pool:
        jobs = {seed: pool.submit(run_seed, seed) for seed in seeds}
        again = pool.submit(run_seed, options.first)
        for seed, job in jobs.items():
            try:
                result = job.result()["result"]
            except Exception as error:  # a rig that could not be measured counts; it must not hide the others
                refused.append(f"seed {seed}: {error}")
                continue
            distance = {name: grasp["distance_m"] for name, grasp in result["grasp"].items()}
            for name in ("uncompensated", "copied"):
                ratios[name].append(distance[name] / distance["measured"])
            for module, keys in result["modules"].items():
                for key, figure in keys.items():
                    inside[f"{module} {key}"].append(figure["covered"])
                    errors[f"{module} {key}"].append(
                        (figure["value"] - figure["truth"]) / (1.0 if "latency" in key else figure["truth"])
                    )
            if not options.json:
                shown = ", ".join(f"{name} {1e3 * value:.1f} mm" for name, value in distance.items())
                print(f"seed {seed}: {shown}")
        first, second = jobs[options.first].result(), again.result()
    same = first["result"] == second["result"] and first["recording"] == second["recording"]

    bars = [
        {
            "what": f"{len(seeds)} random rigs, median of grasp error {name} over measured",
            "bar": ">= 5 times",
            "figure": f"{np.median(ratios[name]):.1f} times (worst {min(ratios[name]):.1f})",
            "met": bool(np.median(ratios[name]) >= 5),
        }
        for name in ("copied", "uncompensated")
    ]
    for name, hits in inside.items():
        worst = max(np.abs(errors[name]))
        worst_error = f"{100 * worst:.1f} %" if "speed" in name else f"{1e3 * worst:.2f} ms"
        bars.append(
            {
                "what": f"{len(seeds)} random rigs, {name}: truth inside the 95 % interval",
                "bar": "printed",
                "figure": f"{sum(hits)} of {len(hits)}; worst error {worst_error}",
                "met": True,
            }
        )
    bars.append(
        {
            "what": f"{len(seeds)} random rigs, every quantity measured",
            "bar": "none refused",
            "figure": "; ".join(refused) or "none refused",
            "met": not refused,
        }
    )
    bars.append(
        {
            "what": "--fast twice, one seed",
            "bar": "result.json and recording bit-identical",
            "figure": f"{len(first['recording'])} bytes of recording {'identical' if same else 'DIFFER'}",
            "met": same,
        }
    )
    if options.json:
        print(json.dumps({"bars": bars}))
    else:
        for bar in bars:
            print(f"{bar['what']}: {bar['figure']} (bar: {bar['bar']})")


if __name__ == "__main__":
    main()
