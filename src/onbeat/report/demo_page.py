"""The page of the demo: the story, the numbers that it stands on, what they mean, and what to do next on a robot of one's own."""

from onbeat.report.demo_figures import draw_course, draw_lateness, draw_paths
from onbeat.report.demo_words import GRASP_HEADER, MEASURED_HEADER, grasp_row, measured_row, quantity
from onbeat.report.html import Figure, Paragraph, Section, Table, page
from onbeat.report.picture import draw_story
from onbeat.report.story import Measurement, Story
from onbeat.report.swim_lanes import draw_lanes

__all__ = ("demo_page", "draw_story")

_MEANINGS = (
    ("action latency", "From scheduling a waypoint to the hardware being there. A waypoint is sent this much before it is due."),
    ("receive latency", "How long before its stamp a reading was physically true. It is taken off the stamp, once."),
    (
        "max speed",
        "The fastest that the hardware follows. A waypoint that asks for more is stretched, and the stretch is reported.",
    ),
    ("95 % interval", "Repeat the measurement many times, and 95 of 100 such intervals hold the truth."),
    ("truth", "What the simulator logged of itself in this run; what measures, plans and sends never sees it."),
    ("distance to the cup", "From the tool to the point to grasp at the instant at which the jaws were half closed."),
    ("height", "The vertical part of that distance."),
    ("closing", "When the jaws were half closed, against the demonstration."),
    (
        "same-instant error",
        "Root mean square distance from the tool to where it was demonstrated to be at the same instant, once it had settled.",
    ),
    ("late waypoints", "Waypoints whose sending instant had passed when they were scheduled: dropped, and counted."),
    ("lateness", "When the send loop woke, minus its deadline."),
)

_COMMANDS = (
    ("onbeat delay RECORDING", "Says from a recording that you have (LeRobot or CSV) how late each joint follows its commands."),
    ("onbeat demo --seed 7", "Runs this on another simulated rig, with other delays, which again only the simulator knows."),
    ("onbeat demo --motion FILE.csv", "Lets the cup move along a recorded motion."),
)


def demo_page(story: Story) -> str:
    """Write the page of one run of the demo.

    Returns:
        One self-contained HTML document.
    """
    how = "on a manual clock" if story.fast else "in real time"
    good = all(grasp.distance_m is not None for grasp in story.grasps) and all(m.result.accepted for m in story.measurements)
    sections = [
        Section(
            "", [Figure(draw_story(story), "Each hand in the vertical plane through it and the cup, so that distances are true.")]
        ),
        Section("What was measured, beside the truth", [_measured(story), Paragraph(_coverage(story))]),
        Section("How far each run got", [_grasps(story), Paragraph(_BELIEVED), _believed(story)]),
        *([Section("One control cycle", [Figure(draw_lanes(story.cycles), _LANES)])] if story.cycles else []),
        Section("The grasp from the side", [Figure(draw_paths(story), _PATHS), Figure(draw_course(story), _COURSE)]),
        Section("How the send loops kept their beat", [Figure(draw_lateness(story.loops), _LATENESS)]),
        Section("What each number means", [Table(("number", "meaning"), _MEANINGS, left=2)]),
        Section("Next, on your own robot", [Table(("command", "what it does"), _COMMANDS, left=2)]),
    ]
    sentence = story.verdict()
    return page(
        "The same grasp with three sets of delays",
        f"{sentence[:1].upper()}{sentence[1:]}.",
        sections,
        tone="good" if good else "finding",
        subtitle=f"onbeat demo, simulated rig with seed {story.seed}, {how}; the cup: {story.motion}",
        footer=" · ".join(f"{key}: {value}" for key, value in story.run.items() if isinstance(value, (str, int, float))),
    )


_BELIEVED = (
    "Policy, scheduler and settings were the same in the three runs; only these numbers were not. Some late waypoints are normal "
    "with right numbers: a chunk's first is due 100 ms after its image was true, which is often too soon to be sent early enough."
)
_LANES = (
    "The stamp says when the scene was true; the command leaves one action latency before it is due; and the arm is at the pose "
    "when the scene wants it. When the arm was there and when the exposure was is the simulator's truth; what else is drawn, the "
    "rig recorded. Each frame's way takes a little longer or shorter than the mean, and its stamp is off by that. To the poses "
    "with hollow diamonds the arm was sent by rows of earlier or later images."
)
_PATHS = (
    "The last second before the jaws closed, as the cup sees it: a dot every 0.1 s, thick strokes where the jaws were, a cross "
    "where they never closed. What lies across the cup's way is not shown."
)
_COURSE = "The three runs over the demonstration. A hand that is late lies behind the cup, high, and still open."
_LATENESS = (
    "Both scales are logarithmic; cycles that were less than 1 µs late, or early, stand at 1 µs. On a manual clock each cycle "
    "is called at its deadline, and nothing is late."
)


def _measured(story: Story) -> Table:
    rows = [(*measured_row(each), f"{each.result.n}", _file(each), each.result.method) for each in story.measurements]
    refused = [number for number, each in enumerate(story.measurements) if not each.result.accepted]
    return Table((*MEASURED_HEADER, "n", "written to", "method"), rows, words=("inside?", "written to", "method"), dimmed=refused)


def _file(measurement: Measurement) -> str:
    return measurement.written.rpartition("/")[2] or "-"


def _where(story: Story) -> str:
    folders = list(dict.fromkeys(each.written.rpartition("/")[0] for each in story.measurements if each.written))
    return f" The files that they were written to are in {' and '.join(folders)}, beside this page." if folders else ""


def _grasps(story: Story) -> Table:
    return Table(GRASP_HEADER, [grasp_row(grasp) for grasp in story.grasps])


def _coverage(story: Story) -> str:
    told = [each for each in story.measurements if each.covered is not None]
    held = sum(bool(each.covered) for each in told)
    frames = f"The camera read the code on the screen in {story.frames_read} of {story.frames} frames."
    words = f"{held} of {len(told)} intervals hold the truth. {frames}"
    refusals = "".join(
        f" Refused: {quantity(m)}, because {m.result.reason}." for m in story.measurements if not m.result.accepted
    )
    return words + _where(story) + refusals


def _believed(story: Story) -> Table:
    keys = list(dict.fromkeys(key for grasp in story.grasps for key in grasp.latencies_s))
    truths = {f"{each.module}.{each.key}": each.truth for each in story.measurements}

    def row(key: str) -> tuple[str, ...]:
        values = [*(grasp.latencies_s.get(key) for grasp in story.grasps), truths.get(key)]
        return (key.replace(".", " ").replace("_", " "), *("-" if value is None else f"{value * 1e3:.2f}" for value in values))

    return Table(("delay it ran with, ms", *(grasp.name for grasp in story.grasps), "truth"), [row(key) for key in keys])
