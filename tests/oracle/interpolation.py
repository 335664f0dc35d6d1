"""Textbook interpolation, one instant at a time, in exact time and plain floats: slow, and easy to check by eye."""

from collections.abc import Sequence
from fractions import Fraction
from math import acos, cos, sin, sqrt

Vector = Sequence[float]


def fraction(before_ns: int, t_ns: int, after_ns: int) -> float:
    return float(Fraction(t_ns - before_ns, after_ns - before_ns))


def linear(a: Vector, b: Vector, u: float) -> list[float]:
    return [(1 - u) * x + u * y for x, y in zip(a, b, strict=True)]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def unit(q: Vector) -> list[float]:
    norm = sqrt(dot(q, q))
    return [x / norm for x in q]


def slerp(a: Vector, b: Vector, u: float) -> list[float]:
    """Shoemake's formula on the short arc, by acos."""
    if dot(a, b) < 0:
        b = [-x for x in b]
    angle = acos(min(1.0, dot(a, b)))
    if angle < 1e-6:
        return unit(linear(a, b, u))
    return [(sin((1 - u) * angle) * x + sin(u * angle) * y) / sin(angle) for x, y in zip(a, b, strict=True)]


def pose(a: Vector, b: Vector, u: float) -> list[float]:
    return linear(a[:3], b[:3], u) + slerp(unit(a[3:]), unit(b[3:]), u)


def multiply(a: Vector, b: Vector) -> list[float]:
    w, x, y, z = a
    s, i, j, k = b
    return [
        w * s - x * i - y * j - z * k,
        w * i + x * s + y * k - z * j,
        w * j - x * k + y * s + z * i,
        w * k + x * j - y * i + z * s,
    ]


def about(axis: Vector, angle: float) -> list[float]:
    """The quaternion of a rotation by an angle in rad about an axis of any length."""
    length = sqrt(dot(axis, axis))
    return [cos(angle / 2), *(sin(angle / 2) * x / length for x in axis)]


def same_rotation(a: Vector, b: Vector) -> float:
    """Distance of two unit quaternions as rotations, in units of the quaternion; 0 for q and -q."""
    return min(sqrt(sum((x - s * y) ** 2 for x, y in zip(a, b, strict=True))) for s in (1, -1))
