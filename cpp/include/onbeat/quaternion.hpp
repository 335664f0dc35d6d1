// Unit quaternions wxyz: what interpolation needs of them. q and -q are the same rotation.
#pragma once

#include <cmath>

namespace onbeat::quaternion {

inline double dot(const double* a, const double* b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }

inline double norm(const double* q) noexcept { return std::sqrt(dot(q, q)); }

inline void negate(double* q) noexcept {
  for (int k = 0; k < 4; ++k) q[k] = -q[k];
}

// A quaternion further than this from unit norm is refused: rounding to two digits stays below it, a rotation vector does not.
inline constexpr double kNormTolerance = 0.01;

inline bool is_unit(const double* q) noexcept { return std::abs(norm(q) - 1.0) <= kNormTolerance; }

// Scale to unit norm; what is unit to the last bits is left alone, so that it comes back as it was given.
inline void normalise(double* q) noexcept {
  const double squared = dot(q, q);
  if (std::abs(squared - 1.0) <= 1e-15) return;
  const double scale = 1.0 / std::sqrt(squared);
  for (int k = 0; k < 4; ++k) q[k] *= scale;
}

// Turn `q` to the sign that is nearer to `before`; on a draw (180 degrees apart) leave it.
inline void align_sign(const double* before, double* q) noexcept {
  if (dot(before, q) < 0.0) negate(q);
}

inline double sinc(double x) noexcept { return x == 0.0 ? 1.0 : std::sin(x) / x; }

// The squared lengths of a - b and a + b.
struct Chords {
  double minus = 0.0, plus = 0.0;

  Chords(const double* a, const double* b) noexcept {
    for (int k = 0; k < 4; ++k) {
      minus += (a[k] - b[k]) * (a[k] - b[k]);
      plus += (a[k] + b[k]) * (a[k] + b[k]);
    }
  }
  // The angle between the two as vectors, half the angle of the rotation. acos of the dot product loses half of the digits near 0.
  [[nodiscard]] double angle() const noexcept { return 2.0 * std::atan2(std::sqrt(minus), std::sqrt(plus)); }
  [[nodiscard]] double sine() const noexcept { return 0.5 * std::sqrt(minus * plus); }
  [[nodiscard]] double cosine() const noexcept { return 0.25 * (plus - minus); }
};

inline double half_angle(const double* a, const double* b) noexcept { return Chords(a, b).angle(); }

// The point at fraction u of the short arc from a to b, signed like a. One formula for all angles, no switch to a chord.
inline void slerp(const double* a, const double* b, double u, double* out) noexcept {
  double end[4] = {b[0], b[1], b[2], b[3]};
  align_sign(a, end);
  const Chords chords(a, end);
  const double part = u * chords.angle();
  const double sine = chords.sine();
  const double sine_of_part = std::sin(part), cosine_of_part = std::cos(part);  // side by side: one call
  const double to = sine == 0.0 ? u : sine_of_part / sine;
  const double from = cosine_of_part - chords.cosine() * to;  // sin((1 - u) angle) / sin(angle)
  for (int k = 0; k < 4; ++k) out[k] = from * a[k] + to * end[k];
}

inline void multiply(const double* a, const double* b, double* out) noexcept {
  const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  out[0] = w, out[1] = x, out[2] = y, out[3] = z;
}

// The rotation vector of the short way from a to b, in the frame of a: b = a exp(log).
inline void log_between(const double* a, const double* b, double* rotation) noexcept {
  const double inverse[4] = {a[0], -a[1], -a[2], -a[3]};
  double between[4];
  multiply(inverse, b, between);
  if (between[0] < 0.0) negate(between);
  const double vector = std::sqrt(between[1] * between[1] + between[2] * between[2] + between[3] * between[3]);
  const double scale = vector == 0.0 ? 2.0 : 2.0 * std::atan2(vector, between[0]) / vector;
  for (int k = 0; k < 3; ++k) rotation[k] = scale * between[k + 1];
}

inline void exp(const double* rotation, double* q) noexcept {
  const double half = 0.5 * std::sqrt(rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2]);
  const double scale = 0.5 * sinc(half);
  q[0] = std::cos(half);
  for (int k = 0; k < 3; ++k) q[k + 1] = scale * rotation[k];
}

inline void cross(const double* a, const double* b, double* out) noexcept {
  const double x = a[1] * b[2] - a[2] * b[1];
  const double y = a[2] * b[0] - a[0] * b[2];
  const double z = a[0] * b[1] - a[1] * b[0];
  out[0] = x, out[1] = y, out[2] = z;
}

// J = I + first [r]x + second [r]x^2 applied to a vector.
inline void apply(const double* rotation, double first, double second, const double* vector, double* out) noexcept {
  double once[3], twice[3];
  cross(rotation, vector, once);
  cross(rotation, once, twice);
  for (int k = 0; k < 3; ++k) out[k] = vector[k] + first * once[k] + second * twice[k];
}

// Body rate of exp(r(t)) from r' (right Jacobian of SO(3)); the series below 1e-4 rad err by less than 1e-17.
inline void rate_from_vector(const double* rotation, const double* derivative, double* omega) noexcept {
  const double squared = rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2];
  const double angle = std::sqrt(squared);
  const bool small = angle < 1e-4;
  const double first = small ? 0.5 - squared / 24.0 : (1.0 - std::cos(angle)) / squared;
  const double second = small ? 1.0 / 6.0 - squared / 120.0 : (angle - std::sin(angle)) / (squared * angle);
  apply(rotation, -first, second, derivative, omega);
}

// The inverse: r' from the body rate, for |r| < 2 pi.
inline void vector_from_rate(const double* rotation, const double* omega, double* derivative) noexcept {
  const double squared = rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2];
  const double half = 0.5 * std::sqrt(squared);
  const double second = half < 1e-4 ? 1.0 / 12.0 + squared / 720.0 : (1.0 - half * std::cos(half) / std::sin(half)) / squared;
  apply(rotation, 0.5, second, omega, derivative);
}

}  // namespace onbeat::quaternion
