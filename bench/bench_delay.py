"""What `onbeat delay` says of a real SO-101 and a real G1: python bench/bench_delay.py [--json]."""

import json
import os
import sys
from pathlib import Path

from onbeat.calibrate.follow import Follower, FollowResult
from onbeat.record import open_joints

DATA = Path(os.environ.get("ONBEAT_DATA", Path(__file__).resolve().parent.parent.parent / "shared" / "data")) / "lerobot"
ARM_MS, POOLED_MS, GRIPPER_MS = (125, 155), (132, 144), (115, 132)


def measure(name: str) -> FollowResult:
    recording = open_joints(DATA / name)
    follower = Follower(recording.joints, range(len(recording.joints)), 0.5)
    for episode in recording.episodes():
        follower.add(episode)
    return follower.result()


def bar(what: str, values_s: list[float | None], limits_ms: tuple[int, int]) -> dict[str, object]:
    """Hold values against limits; a refused one fails."""
    told = [value * 1e3 for value in values_s if value is not None]
    refused = f", {len(values_s) - len(told)} refused" if len(told) < len(values_s) else ""
    figure = (f"{min(told):.1f} to {max(told):.1f} ms" if told else "none told") + refused
    met = len(told) == len(values_s) and all(limits_ms[0] <= value <= limits_ms[1] for value in told)
    return {"what": what, "bar": f"{limits_ms[0]} to {limits_ms[1]} ms", "figure": figure, "met": met}


def main() -> None:
    if not DATA.is_dir():
        absent = {
            "what": "delay of a real SO-101",
            "bar": "138 ms",
            "figure": f"no recordings at {DATA}; set ONBEAT_DATA",
            "met": None,
        }
        print(json.dumps({"bars": [absent]}))
        return
    result = measure("so101_v3")
    arm, gripper = result.joints[:5], result.joints[5]
    humanoid = measure("g1_v21")
    idle = [joint for joint in humanoid.joints if joint.name.startswith("kLeft") and not joint.gripper]
    refused = sum(not joint.result.accepted for joint in idle)
    bars = [
        bar("SO-101, each of five arm joints", [joint.result.value for joint in arm], ARM_MS),
        bar("SO-101, arm, pooled", [result.arm.value], POOLED_MS),
        bar("SO-101, arm, every episode", [e.result.value for e in result.episodes], POOLED_MS),
        bar("SO-101, gripper, every episode", [e.result.value for e in gripper.episodes], GRIPPER_MS),
        {
            "what": "G1, joints of the left arm, which do not follow their command",
            "bar": "refused with the reason",
            "figure": f"{refused} of {len(idle)} refused",
            "met": refused == len(idle),
        },
    ]
    if "--json" not in sys.argv:
        for line in bars:
            print(f"{line['what']:<62} {line['figure']} (bar: {line['bar']})")
    print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
