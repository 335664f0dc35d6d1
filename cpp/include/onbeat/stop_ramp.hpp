// The fastest way to rest of one joint, limited in acceleration and jerk; closed form.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace onbeat {

struct JointState {
  double position = 0.0, velocity = 0.0, acceleration = 0.0;

  // Under a constant jerk.
  [[nodiscard]] JointState after(double t_s, double jerk) const noexcept {
    return {position + t_s * (velocity + t_s * (acceleration / 2 + t_s * jerk / 6)), velocity + t_s * (acceleration + t_s * jerk / 2),
            acceleration + t_s * jerk};
  }
};

// At most four pieces of constant jerk: bring a forbidden acceleration back, then turn, hold and release the braking.
class StopRamp {
 public:
  struct Piece {
    double duration_s, jerk;
  };

  StopRamp() = default;
  StopRamp(const JointState& from, double max_acceleration, double max_jerk) noexcept : from_(from) {
    JointState here = from;
    if (std::abs(here.acceleration) > max_acceleration) {
      const double duration = (std::abs(here.acceleration) - max_acceleration) / max_jerk;
      here = push(here, duration, -std::copysign(max_jerk, here.acceleration));
    }
    // The velocity that is left when the acceleration is released at once says which way to push.
    const double left = here.velocity + here.acceleration * std::abs(here.acceleration) / (2 * max_jerk);
    const double sign = left > 0 ? -1.0 : 1.0;
    const double v = sign * here.velocity, a = sign * here.acceleration;
    double peak = std::sqrt(std::max(a * a / 2 - max_jerk * v, 0.0));
    double held = 0.0;
    if (peak > max_acceleration) {
      peak = max_acceleration;
      held = std::max((-v - (2 * peak * peak - a * a) / (2 * max_jerk)) / peak, 0.0);
    }
    here = push(here, std::max(peak - a, 0.0) / max_jerk, sign * max_jerk);
    here = push(here, held, 0.0);
    push(here, peak / max_jerk, -sign * max_jerk);
  }

  [[nodiscard]] const std::array<Piece, 4>& pieces() const noexcept { return pieces_; }
  [[nodiscard]] double duration_s() const noexcept {
    double sum = 0.0;
    for (const Piece& piece : pieces_) sum += piece.duration_s;
    return sum;
  }

  // At rest for good after the end, where the last rounding is taken off.
  [[nodiscard]] JointState at(double t_s) const noexcept {
    JointState here = from_;
    for (const Piece& piece : pieces_) {
      if (t_s < piece.duration_s) return here.after(t_s, piece.jerk);
      here = here.after(piece.duration_s, piece.jerk);
      t_s -= piece.duration_s;
    }
    return {here.position, 0.0, 0.0};
  }

  // The lowest and the highest position on the way.
  [[nodiscard]] std::array<double, 2> reach() const noexcept {
    std::array<double, 2> range{from_.position, from_.position};
    JointState here = from_;
    for (const Piece& piece : pieces_) {
      widen(range, here, piece.duration_s, piece.jerk);
      here = here.after(piece.duration_s, piece.jerk);
    }
    return range;
  }

  // Widen a range by what a piece of constant jerk passes through: its end, and where the velocity changes sign.
  static void widen(std::array<double, 2>& range, const JointState& from, double duration_s, double jerk) noexcept {
    const auto take = [&range](double p) { range = {std::min(range[0], p), std::max(range[1], p)}; };
    take(from.after(duration_s, jerk).position);
    const double a = jerk / 2, b = from.acceleration, c = from.velocity;
    const double root = b * b - 4 * a * c;
    if (root < 0) return;
    // Both roots without cancellation; a division by zero gives no time inside the piece.
    const double q = -(b + std::copysign(std::sqrt(root), b)) / 2;
    for (const double t : {q / a, c / q})
      if (t > 0 && t < duration_s) take(from.after(t, jerk).position);
  }

 private:
  JointState push(const JointState& from, double duration_s, double jerk) noexcept {
    pieces_[used_++] = {duration_s, jerk};
    return from.after(duration_s, jerk);
  }

  JointState from_;
  std::array<Piece, 4> pieces_{};
  std::size_t used_ = 0;
};

}  // namespace onbeat
