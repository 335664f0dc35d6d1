// How fast and how far a module may be asked to move, and how long a move must therefore take.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "onbeat/errors.hpp"
#include "onbeat/quaternion.hpp"
#include "onbeat/time.hpp"
#include "onbeat/trajectory.hpp"

namespace onbeat {

// Prepared once for a module and asked for every move. It knows no width: one number applies to every column.
class MoveLimits {
 public:
  // Longer than this is for ever: 146 years, and still room to add it to an instant.
  static constexpr Ns kForever = Ns{1} << 62;

  MoveLimits() = default;
  // Each vector is empty (no limit), has one number for all columns, or one for each. Of a pose the speed is the tool's, in m/s, and
  // the range is that of the position (three numbers, or seven of which the last four do not count). Throws BadInput.
  MoveLimits(std::vector<double> max_speed, std::vector<double> lower, std::vector<double> upper,
             double max_angular_speed = std::numeric_limits<double>::infinity())
      : max_speed_(std::move(max_speed)), lower_(std::move(lower)), upper_(std::move(upper)), max_angular_speed_(max_angular_speed) {
    for (const double speed : max_speed_)
      if (!(speed > 0)) throw BadInput(text("max_speed must be > 0, not %g", speed));
    if (!(max_angular_speed_ > 0)) throw BadInput(text("max_angular_speed must be > 0, not %g", max_angular_speed_));
  }

  // Whether they can be asked about targets of this width and kind. Throws BadInput.
  void check(std::size_t width, Trajectory::Kind kind) const {
    const bool pose = kind == Trajectory::Kind::pose;
    check_size(max_speed_, pose ? 1 : width, "max_speed", pose);
    for (const auto& [range, name] : {std::pair{&lower_, "lower"}, std::pair{&upper_, "upper"}})
      if (!(pose && range->size() == kPosition)) check_size(*range, width, name, pose);
  }

  [[nodiscard]] bool outside(const double* target, std::size_t width, Trajectory::Kind kind) const noexcept {
    const std::size_t columns = kind == Trajectory::Kind::pose ? kPosition : width;
    for (std::size_t k = 0; k < columns; ++k)
      if ((!lower_.empty() && target[k] < of(lower_, k)) || (!upper_.empty() && target[k] > of(upper_, k))) return true;
    return false;
  }

  // The shortest time that a move may take, rounded up to a nanosecond; at most kForever.
  [[nodiscard]] Ns shortest_ns(const double* from, const double* to, std::size_t width, Trajectory::Kind kind) const noexcept {
    double s = 0.0;
    if (kind == Trajectory::Kind::pose) {
      if (!max_speed_.empty()) s = std::hypot(to[0] - from[0], to[1] - from[1], to[2] - from[2]) / max_speed_[0];
      if (std::isfinite(max_angular_speed_))
        s = std::max(s, 2.0 * short_half_angle(from + kPosition, to + kPosition) / max_angular_speed_);
    } else if (!max_speed_.empty()) {
      for (std::size_t k = 0; k < width; ++k) s = std::max(s, std::abs(to[k] - from[k]) / of(max_speed_, k));
    }
    return rounded_up(s * 1e9);
  }

  // A thousandth of a nanosecond is float dust, not motion.
  [[nodiscard]] static Ns rounded_up(double ns) noexcept {
    return ns >= static_cast<double>(kForever) ? kForever : static_cast<Ns>(std::ceil(ns - 1e-3));
  }

  [[nodiscard]] const std::vector<double>& max_speed() const noexcept { return max_speed_; }
  [[nodiscard]] const std::vector<double>& lower() const noexcept { return lower_; }
  [[nodiscard]] const std::vector<double>& upper() const noexcept { return upper_; }
  [[nodiscard]] double max_angular_speed() const noexcept { return max_angular_speed_; }

 private:
  static constexpr std::size_t kPosition = 3;

  [[nodiscard]] static double of(const std::vector<double>& limit, std::size_t column) noexcept {
    return limit.size() == 1 ? limit[0] : limit[column];
  }

  [[nodiscard]] static double short_half_angle(const double* a, const double* b) noexcept {
    const double half = quaternion::half_angle(a, b);
    return std::min(half, kPi - half);  // q and -q are the same rotation
  }

  static void check_size(const std::vector<double>& limit, std::size_t width, const char* name, bool pose) {
    if (limit.size() <= 1 || limit.size() == width) return;
    if (pose) throw BadInput(text("%s has %zu numbers; of a pose give one, or of a range one for each of x, y and z", name, limit.size()));
    throw BadInput(text("%s has %zu numbers and the targets have width %zu; give one number, or one for each column", name,
                        limit.size(), width));
  }

  static constexpr double kPi = 3.14159265358979323846;

  std::vector<double> max_speed_, lower_, upper_;
  double max_angular_speed_ = std::numeric_limits<double>::infinity();
};

}  // namespace onbeat
