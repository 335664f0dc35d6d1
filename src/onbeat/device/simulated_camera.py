"""The simulated camera: frames on its own beat, exposure, readout, transfer, driver; a table or a screen in view."""

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.clock import Clock, ManualClock
from onbeat.device.device import Command, DeviceInfo, DeviceState
from onbeat.device.scene import SCREEN_SHAPE, Cup, RestingCup, Screen, SensorNoise, TableView, render_screen
from onbeat.device.seeded import HasParams, child_rng, seed_of
from onbeat.errors import BadInput, DeviceError
from onbeat.units import TimeGrid

__all__ = ("CameraBench", "CameraParameters", "SimulatedCamera", "draw_camera")

# A "30 fps" sensor runs at what its line length gives. Drawn well off half of the panel's 59.94 Hz: with 29.97 the
# exposures would stay at one phase of the refresh for minutes, and no number of codes would average that out.
FRAME_HZ = (29.70, 29.90)
# Positions of the cup that an exposure averages.
_BLUR_INSTANTS = 5
_JITTER_S, _JITTER_FLOOR_S = 0.0007, 0.0002
_SPIKE_SHARE, _SPIKE_S = 0.004, (0.008, 0.025)
# Frames of one camera arrive in order, at least this far apart.
_APART_NS = 200_000
_BLOCK = 256
# The camera was running before the world began, so that the first frames that arrive were exposed already.
_RUNNING_NS = 250_000_000
# Rendering begins this long before the frame arrives, so that the picture is there in time.
_RENDER_NS = 10_000_000
_VIEWS = ("cup", "screen")


@dataclass(frozen=True, slots=True)
class CameraParameters:
    """What only the simulator knows about the camera; durations of the stages in s."""

    frame_hz: float
    exposure_s: float
    readout_s: float
    transfer_s: float
    driver_s: float

    @property
    def after_exposure_s(self) -> float:
        """From the end of the exposure to the stamp, without jitter."""
        return self.readout_s + self.transfer_s + self.driver_s

    @property
    def nominal_latency_s(self) -> float:
        """From the middle of the exposure to the stamp, mean jitter included."""
        spikes_s = _SPIKE_SHARE * sum(_SPIKE_S) / 2
        return self.exposure_s / 2 + self.after_exposure_s + _JITTER_FLOOR_S + _JITTER_S + spikes_s


def draw_camera(rng: np.random.Generator, typical: bool) -> CameraParameters:
    """Draw a 30 fps camera over realistic ranges, 42 to 128 ms from mid-exposure to stamp, or give the typical one."""
    if typical:
        return CameraParameters(frame_hz=29.83, exposure_s=0.0081, readout_s=0.0152, transfer_s=0.0313, driver_s=0.0287)
    frame_hz, exposure_s, readout_s = rng.uniform(*FRAME_HZ), rng.uniform(0.004, 0.016), rng.uniform(0.008, 0.020)
    rest_s = rng.uniform(0.042, 0.128) - exposure_s / 2 - readout_s - _JITTER_S - _JITTER_FLOOR_S
    transfer_s = min(max(rest_s * rng.uniform(0.4, 0.7), 0.010), 0.060)
    return CameraParameters(frame_hz, exposure_s, readout_s, transfer_s, max(rest_s - transfer_s, 0.002))


class CameraBench:
    """The camera's beat and the log of what it delivered; may be used from any thread.

    Args:
        parameters: Of the camera.
        start_ns: When the world begins, on its clock; the camera has been running for a quarter of a second.
        rng: Draws the phase, then jitter in the order of frames, whether they are read or not.
    """

    def __init__(self, parameters: CameraParameters, start_ns: int, rng: np.random.Generator) -> None:
        self.parameters = parameters
        self.exposure_ns = round(parameters.exposure_s * 1e9)
        self._rng = rng
        self._lock = threading.Lock()
        self._beat = TimeGrid(start_ns - _RUNNING_NS + round(rng.uniform(0, 1e9 / parameters.frame_hz)), parameters.frame_hz)
        self._after_ns = self.exposure_ns + round(parameters.after_exposure_s * 1e9)
        self._stamp_ns = np.empty(0, dtype=np.int64)
        self._read: list[tuple[int, int, int]] = []

    def begin_ns(self, k: int) -> int:
        """Give the instant at which the exposure of frame k begins."""
        return self._beat.tick_ns(k)

    def next_frame(self, after_seq: int, now_ns: int) -> tuple[int, int]:
        """Give the number and the stamp of the first frame that is newer than one and has not arrived before now."""
        with self._lock:
            while len(self._stamp_ns) <= after_seq + 1 or self._stamp_ns[-1] < now_ns:
                self._extend()
            k = max(after_seq + 1, int(np.searchsorted(self._stamp_ns, now_ns, side="left")))
            return k, int(self._stamp_ns[k])

    def log(self, k: int, stamp_ns: int) -> None:
        """Note that a frame was delivered."""
        with self._lock:
            self._read.append((k, self.begin_ns(k) + self.exposure_ns // 2, stamp_ns))

    def frames_ns(self) -> NDArray[np.int64]:
        """Give sequence number, middle of exposure and stamp of each frame that was read, shape (n, 3)."""
        with self._lock:
            return np.array(self._read, dtype=np.int64).reshape(-1, 3)

    def nominal_latency_s(self) -> float:
        """Give the time from the middle of an exposure to its stamp by design."""
        return self.parameters.nominal_latency_s

    def _extend(self) -> None:
        first = len(self._stamp_ns)
        jitter_s = _JITTER_FLOOR_S + self._rng.exponential(_JITTER_S, _BLOCK)
        spikes = self._rng.random(_BLOCK) < _SPIKE_SHARE
        jitter_s += spikes * self._rng.uniform(*_SPIKE_S, _BLOCK)
        begins = [self.begin_ns(k) for k in range(first, first + _BLOCK)]
        stamps = np.array(begins, dtype=np.int64) + self._after_ns + np.round(jitter_s * 1e9).astype(np.int64)
        if first:
            stamps[0] = max(stamps[0], self._stamp_ns[-1] + _APART_NS)
        apart = np.arange(_BLOCK) * _APART_NS
        self._stamp_ns = np.concatenate([self._stamp_ns, np.maximum.accumulate(stamps - apart) + apart])


class SimulatedCamera:
    """A Device whose reading is a grey uint8 image: the table with the cup (120, 160), or the screen (480, 640).

    `read` gives the next frame to arrive; a frame that arrived while nobody was reading is lost, and `seq` shows it.
    The value of `span_ns` is the exposure. On a manual clock the frame is rendered at once, with what has been drawn
    so far: light follows a draw by a refresh or more, which is longer than the exposure can lie ahead.

    Args:
        config: Of the module; `params["seed"]` (default 0) decides what it is.
        clock: Of the world.
        cup: In view; at rest when none is given.
        screen: In view; dark when none is given.
        bench: Its beat and log; built from the seed when none is given.
        fast: Do not wait; by default when the clock is a manual one.
    """

    def __init__(
        self,
        config: HasParams,
        clock: Clock,
        *,
        cup: Cup | None = None,
        screen: Screen | None = None,
        bench: CameraBench | None = None,
        fast: bool | None = None,
    ) -> None:
        seed = seed_of(config)
        # One child a concern, so that a change in one does not redraw the others.
        draws, beat, mounting, field = child_rng(seed, "camera").spawn(4)
        self._clock = clock
        self._fast = isinstance(clock, ManualClock) if fast is None else fast
        self._cup = RestingCup() if cup is None else cup
        self._screen = Screen(clock.now_ns()) if screen is None else screen
        self._bench = CameraBench(draw_camera(draws, seed == 0), clock.now_ns(), beat) if bench is None else bench
        self._table = TableView(mounting)
        self._noise = SensorNoise(field)
        self._frame_entropy = int(field.integers(1 << 62))
        self._spreads: dict[int, NDArray[np.float32]] = {}
        self._view = "cup"
        self._covered = False
        self._connected = False
        self._seq = -1

    @property
    def info(self) -> DeviceInfo:
        """What the device is."""
        return DeviceInfo("camera", 0, "", "simulated 30 fps camera")

    @property
    def pixels_to_world(self) -> NDArray[np.float64]:
        """The known mounting over the table, shape (2, 3): world (x, y) in m = pixels_to_world @ (column, row, 1)."""
        return self._table.pixels_to_world

    def look_at(self, view: str) -> None:
        """Turn the camera to "cup" or "screen", from the next frame on.

        Raises:
            BadInput: another view.
        """
        if view not in _VIEWS:
            raise BadInput(f"the camera cannot look at {view!r}; it looks at one of {', '.join(_VIEWS)}")
        self._view = view

    def cover(self, covered: bool) -> None:
        """Paint over the code on the screen, or stop doing so, from the next frame on."""
        self._covered = covered

    def connect(self) -> None:
        """Open the camera."""
        self._connected = True

    def read(self) -> DeviceState:
        """Give the next frame; blocks until it arrives, unless the clock is a manual one.

        Raises:
            DeviceError: not connected, or on a manual clock asked so early that its exposure is not decided yet.
        """
        if not self._connected:
            raise DeviceError("the simulated camera is not connected; call connect first")
        begin_ns = self._clock.now_ns()
        k, stamp_ns = self._bench.next_frame(self._seq, begin_ns)
        open_ns = self._bench.begin_ns(k)
        ahead_ns = open_ns + self._bench.exposure_ns - begin_ns
        if not self._fast:
            self._clock.sleep_until_ns(stamp_ns - _RENDER_NS)
        elif self._view == "screen" and ahead_ns * self._screen.refresh_hz > 1e9:
            raise DeviceError(f"frame {k} is exposed until {ahead_ns * 1e-6:.1f} ms from now; read it when the last one arrived")
        image = self._render(k, open_ns)
        if not self._fast:
            self._clock.sleep_until_ns(stamp_ns)
        self._seq = k
        self._bench.log(k, stamp_ns)
        return DeviceState(image, begin_ns, stamp_ns, k, self._bench.exposure_ns)

    def write(self, command: Command) -> None:
        """Refuse: a camera takes no commands.

        Raises:
            DeviceError: always.
        """
        raise DeviceError("a camera takes no commands")

    def hold(self) -> None:
        """Do nothing: a camera does not move."""

    def close(self) -> None:
        """Let go of the camera."""
        self._connected = False

    def _render(self, k: int, open_ns: int) -> NDArray[np.uint8]:
        rng = np.random.default_rng((self._frame_entropy, k))
        exposure_ns = self._bench.exposure_ns
        if self._view == "screen":
            parts = self._screen.light(open_ns, open_ns + exposure_ns)
            return render_screen(parts, self._noise.cut(rng, *SCREEN_SHAPE), self._covered, self._spreads)
        t_ns = open_ns + (2 * np.arange(_BLUR_INSTANTS, dtype=np.int64) + 1) * exposure_ns // (2 * _BLUR_INSTANTS)
        return self._table.render(self._cup.at_many(t_ns), self._noise.cut(rng, *self._table.shape))
