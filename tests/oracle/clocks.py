"""How others keep an offset from the same exchanges: own re-statements of what their documents and sources describe.

They are textbook versions to measure against, not the programs themselves. Each takes t1..t4 in ns and gives the offset (server
minus client) in ns at an instant of the client.
"""

from collections import deque

import numpy as np


class LslLike:
    """The best of eight probes every two seconds, held until the next."""

    def __init__(self) -> None:
        self.batch: list[tuple[float, float]] = []
        self.batch_start: float | None = None
        self.offset = 0.0

    def add(self, t1: int, t2: int, t3: int, t4: int) -> None:
        trip, offset = (t4 - t1) - (t3 - t2), ((t2 - t1) + (t3 - t4)) / 2
        if self.batch_start is None:
            self.batch_start, self.offset = t4, offset
        self.batch.append((trip, offset))
        if t4 - self.batch_start >= 2e9:
            self.offset = min(self.batch)[1]
            self.batch, self.batch_start = [], t4

    def offset_at(self, t: int) -> float:
        return self.offset


class KalmanLike:
    """Offset and rate as a two-state filter: the noise of an exchange from its round trip, the wander from the innovations."""

    def __init__(self) -> None:
        self.x = np.zeros(2)  # s, s/s
        self.P = np.diag([1.0, 1e-8])
        self.t: int | None = None
        self.wander = 1e-16
        self.score = 0.0
        self.trips: deque[float] = deque(maxlen=8)
        self.base = 0

    def add(self, t1: int, t2: int, t3: int, t4: int) -> None:
        trip, offset = ((t4 - t1) - (t3 - t2)) / 1e9, ((t2 - t1) + (t3 - t4)) // 2
        self.trips.append(trip)
        if self.t is None:
            self.base, self.t = offset, t4
            self.P = np.diag([(trip / 2) ** 2, 1e-8])
            return
        dt = (t4 - self.t) / 1e9
        self.t = t4
        advance = np.array([[1.0, dt], [0.0, 1.0]])
        wandered = self.wander * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        self.x, self.P = advance @ self.x, advance @ self.P @ advance.T + wandered
        noise = max(float(np.var(self.trips)) / 4 if len(self.trips) > 2 else (trip / 2) ** 2, 1e-14)
        noise += (
            max(trip - min(self.trips), 0.0) ** 2 / 4
        )  # half of what an exchange took longer than its neighbours may be error
        spread = self.P[0, 0] + noise
        innovation = (offset - self.base) / 1e9 - self.x[0]
        gain = self.P[:, 0] / spread
        self.x = self.x + gain * innovation
        self.P = self.P - np.outer(gain, self.P[0, :])
        # Too many or too few large innovations: the wander is adapted by four.
        self.score += 1 if innovation**2 / spread > 2.7 else -0.1111
        if self.score > 4:
            self.wander, self.score = min(self.wander * 4, 1e-10), 0.0
        elif self.score < -4:
            self.wander, self.score = max(self.wander / 4, 1e-18), 0.0

    def offset_at(self, t: int) -> float:
        dt = 0.0 if self.t is None else (t - self.t) / 1e9
        return self.base + float(self.x[0] + self.x[1] * dt) * 1e9


class ChronyLike:
    """design weighted line through the newest samples: those with longer delays weigh less, runs of one sign drop the oldest."""

    def __init__(self) -> None:
        self.samples: list[tuple[int, int, float]] = []  # t, offset, distance
        self.line = (0, 0.0, 0.0)  # t, offset, slope
        self.asymmetry = 0.0
        self.asymmetric_for = 0
        self.deviation = 1e6

    def add(self, t1: int, t2: int, t3: int, t4: int) -> None:
        trip, offset, t = (t4 - t1) - (t3 - t2), ((t2 - t1) + (t3 - t4)) // 2, (t1 + t4) // 2
        if len(self.samples) >= 8:
            trips = np.array([s[2] for s in self.samples])
            rose, moved = trip - trips.min(), offset - self.offset_at(t)
            # design delay that rose by ten deviations of the residuals, which explains the offset away: it waited in a queue.
            if rose > 10 * self.deviation and abs(moved) < rose / 2 + 10 * self.deviation:
                return
        self.samples.append((t, offset, float(trip)))
        self.samples = self.samples[-64:]
        self.fit()

    def fit(self) -> None:
        while True:
            t = np.array([s[0] - self.samples[-1][0] for s in self.samples]) / 1e9
            base = self.samples[-1][1]
            y = np.array([s[1] - base for s in self.samples], dtype=float)
            trips = np.array([s[2] for s in self.samples])
            distance = trips / 2 - trips.min() / 2
            if self.asymmetric_for >= 10:
                y = y - self.asymmetry * (trips - trips.min())
            # A sample counts less by how far its distance is above the least, in units of the mean excess.
            weight = 1 / (1 + 0.7 * distance / max(float(distance.mean()), 1.0))
            if len(t) < 3:
                self.line = (self.samples[-1][0], base + float(y[np.argmin(trips)]), 0.0)
                return
            design = np.stack([np.ones_like(t), t], axis=1)
            weighted = weight[:, None] * design
            level, slope = np.linalg.lstsq(weighted, weight * y, rcond=None)[0]
            left = y - level - slope * t
            runs = 1 + int((np.sign(left[1:]) != np.sign(left[:-1])).sum())
            if len(t) > 8 and runs < max(2, len(t) / 2 - 1.6 * np.sqrt(len(t))):
                self.samples = self.samples[max(1, len(self.samples) // 8) :]
                continue
            waited = trips - trips.min()
            if waited.std() > 0:
                a = float((waited * left).sum() / max(float((waited**2).sum()), 1e-30))
                self.asymmetric_for = self.asymmetric_for + 1 if abs(a) >= 0.45 else 0
                self.asymmetry = float(np.clip(a, -0.5, 0.5))
            self.line = (self.samples[-1][0], base + float(level), float(slope))
            self.deviation = float(np.sqrt((weight**2 * left**2).sum() / (weight**2).sum())) + 1.0
            return

    def offset_at(self, t: int) -> float:
        t0, offset, slope = self.line
        return offset + slope * (t - t0) / 1e9
