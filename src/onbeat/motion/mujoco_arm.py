"""Kinematics of any arm that MuJoCo can load: forward by MuJoCo, inverse by mink. Needs the extra `sim`.

The demo's own arm keeps its closed form (`onbeat.motion.kinematics`), which needs neither.
"""

from math import degrees
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput, MissingExtra

__all__ = ("ARMS", "MujocoArm", "arm_model")

ARMS = ("six_joint_arm", "seven_joint_arm")
_MAX_STEPS = 200
# A radian weighs as much as 0.3 m, about the length of a forearm.
_RAD_AS_M = 0.3
_DAMPING = 1e-4
_DAMPING_RANGE = (1e-9, 1e3)
_UNIT_TOLERANCE = 1e-3


def arm_model(name: str) -> Path:
    """Give the MJCF of one of the arms that come with onbeat; each has a site "tool".

    Raises:
        BadInput: there is no arm of that name.
    """
    if name not in ARMS:
        raise BadInput(f"there is no arm {name!r}; onbeat comes with {', '.join(ARMS)}")
    return Path(__file__).parent / "models" / f"{name}.xml"


class MujocoArm:
    """One arm of hinges and slides, and the site that is its tool. An object serves one thread at a time.

    Args:
        xml_path: The arm's MJCF (or URDF); `arm_model` gives two.
        site: The site whose pose is meant.

    Attributes:
        joint_names: In the order of all joint vectors here.
        lower, upper: Range of each joint in rad or m, infinite where the model has none; shape (n,), read-only.

    Raises:
        MissingExtra: MuJoCo or mink is not installed.
        BadInput: the model cannot be loaded, has no such site, or has a joint that is no hinge or slide.
    """

    def __init__(self, xml_path: str | Path, site: str = "tool") -> None:
        self._mujoco, self._mink, self._solver = _libraries()
        path = Path(xml_path)
        if not path.is_file():
            raise BadInput(f"there is no model {path}; check the path")
        try:
            self._model = self._mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise BadInput(f"{path} is no model that MuJoCo can load: {' '.join(str(error).split())}") from error
        model = self._model
        sites = [model.site(k).name for k in range(model.nsite)]
        if site not in sites:
            raise BadInput(f"{path} has no site {site!r}; it has {', '.join(filter(None, sites)) or 'none'}")
        joint = self._mujoco.mjtJoint
        kinds = {int(joint.mjJNT_HINGE), int(joint.mjJNT_SLIDE)}
        self.joint_names: tuple[str, ...] = tuple(model.joint(k).name or str(k) for k in range(model.njnt))
        for name, kind in zip(self.joint_names, model.jnt_type, strict=True):
            if int(kind) not in kinds:
                raise BadInput(
                    f"joint {name!r} of {path} turns or moves in more than one direction; an arm has hinges and slides"
                )
        if not self.joint_names:
            raise BadInput(f"{path} has no joints; name the model of an arm")
        limited = np.array(model.jnt_limited, dtype=bool)
        self.lower: NDArray[np.float64] = np.where(limited, model.jnt_range[:, 0], -np.inf)
        self.upper: NDArray[np.float64] = np.where(limited, model.jnt_range[:, 1], np.inf)
        for bound in (self.lower, self.upper):
            bound.flags.writeable = False
        self.path = path
        self.site = site
        self._site_id: int = model.site(site).id
        self._configuration = self._mink.Configuration(model)

    def __repr__(self) -> str:
        return f"MujocoArm({self.path.name!r}, site={self.site!r}, {len(self.joint_names)} joints)"

    def forward(self, joints: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give where the tool is.

        Args:
            joints: In rad or m, shape (n,).

        Returns:
            Position in the world frame in m, shape (3,), and tool-to-world quat_wxyz of unit norm with w >= 0, shape (4,).

        Raises:
            BadInput: another shape, or a joint that is not finite.
        """
        self._configuration.update(q=self._checked(joints, "joints"))
        return self._pose()

    def inverse(
        self,
        position: ArrayLike,
        quat_wxyz: ArrayLike,
        start: ArrayLike,
        *,
        position_tolerance_m: float = 1e-5,
        angle_tolerance_rad: float = 1e-4,
    ) -> NDArray[np.float64]:
        """Give joints that put the tool at a pose, found downhill from where the arm is; joint ranges are kept.

        The answer is near `start`, and need not be found where the way there is long or crosses a stretched arm: go there by
        poses in between.

        Args:
            position: In the world frame in m, shape (3,).
            quat_wxyz: Tool to world, shape (4,), unit norm within 0.001; q and -q are the same.
            start: Joints to begin from, within their ranges; shape (n,).
            position_tolerance_m, angle_tolerance_rad: The largest residual of an answer.

        Returns:
            Joints in rad or m, shape (n,), within their ranges.

        Raises:
            BadInput: the pose was not reached, with what is left in mm and deg; or an argument is not acceptable.
        """
        target, turn = np.asarray(position, dtype=np.float64), np.asarray(quat_wxyz, dtype=np.float64)
        if target.shape != (3,) or turn.shape != (4,) or not (np.isfinite(target).all() and np.isfinite(turn).all()):
            raise BadInput(f"a pose is a finite position (3,) and quat_wxyz (4,), not {target.shape} and {turn.shape}")
        norm = float(np.linalg.norm(turn))
        if abs(norm - 1) > _UNIT_TOLERANCE:
            raise BadInput(f"quat_wxyz has the norm {norm:.4f}, so it is no rotation; divide it by its norm")
        here = self._checked(start, "start")
        outside = np.flatnonzero((here < self.lower) | (here > self.upper))
        if len(outside):
            k = int(outside[0])
            raise BadInput(
                f"start of {self.joint_names[k]!r} is {here[k]:.4f}, outside {self.lower[k]:.4f}..{self.upper[k]:.4f}; "
                "start within the range"
            )
        mink, configuration = self._mink, self._configuration
        task = mink.FrameTask(self.site, "site", position_cost=1.0, orientation_cost=_RAD_AS_M)
        task.set_target(mink.SE3.from_rotation_and_translation(mink.SO3(turn / norm), target))
        limits = [mink.ConfigurationLimit(self._model)]
        configuration.update(q=here)
        left = self._residual(target, turn / norm)
        damping = _DAMPING
        for _ in range(_MAX_STEPS):
            if left[0] <= position_tolerance_m and left[1] <= angle_tolerance_rad:
                return here
            velocity = mink.solve_ik(configuration, [task], 1.0, self._solver, damping=damping, limits=limits)
            tried = np.clip(here + np.asarray(velocity, dtype=np.float64), self.lower, self.upper)
            configuration.update(q=tried)
            after = self._residual(target, turn / norm)
            # Levenberg and Marquardt: a step that helps is kept and the next may be longer; one that does not is taken back.
            if _cost(after) < _cost(left):
                here, left, damping = tried, after, max(damping / 10, _DAMPING_RANGE[0])
            elif damping < _DAMPING_RANGE[1]:
                configuration.update(q=here)
                damping *= 4
            else:
                break
        raise BadInput(
            f"the pose is not reached from this start: {left[0] * 1e3:.2f} mm and {degrees(left[1]):.2f} deg are left; "
            "move it into reach, or go there by poses in between"
        )

    def _checked(self, joints: ArrayLike, what: str) -> NDArray[np.float64]:
        q = np.array(joints, dtype=np.float64)
        count = len(self.joint_names)
        if q.shape != (count,):
            raise BadInput(f"{what} must have the shape ({count},), one for each of {', '.join(self.joint_names)}, not {q.shape}")
        if not np.isfinite(q).all():
            raise BadInput(f"{what} must be finite")
        return q

    def _pose(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        data = self._configuration.data
        quat = np.zeros(4)
        self._mujoco.mju_mat2Quat(quat, data.site_xmat[self._site_id])
        quat /= np.linalg.norm(quat)
        return np.array(data.site_xpos[self._site_id]), -quat if quat[0] < 0 else quat

    def _residual(self, position: NDArray[np.float64], quat_wxyz: NDArray[np.float64]) -> tuple[float, float]:
        """Give how far the tool is from a pose: m, and rad of the shortest turn (from the sine: exact where it is small)."""
        here, turn = self._pose()
        w, v = turn[0], turn[1:]
        tw, tv = quat_wxyz[0], quat_wxyz[1:]
        between = w * tv - tw * v - np.cross(v, tv)
        angle = 2 * np.arctan2(np.linalg.norm(between), abs(w * tw + v @ tv))
        return float(np.linalg.norm(here - position)), float(angle)


def _cost(residual: tuple[float, float]) -> float:
    return residual[0] ** 2 + (_RAD_AS_M * residual[1]) ** 2


def _libraries() -> tuple[Any, Any, str]:
    """Import MuJoCo and mink, and name the solver that mink's installation brought."""
    try:
        import mink
        import mujoco
        from qpsolvers import available_solvers
    except ImportError as error:
        raise MissingExtra("mujoco and mink", "sim") from error
    solver = next((name for name in ("daqp", "quadprog") if name in available_solvers), None)
    if solver is None:
        raise MissingExtra("daqp, the solver that mink works with,", "sim")
    return mujoco, mink, solver
