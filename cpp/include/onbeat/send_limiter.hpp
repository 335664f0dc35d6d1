// How the next target may differ from the last one that was sent: range, speed, acceleration, jerk; and how a stream comes to rest.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace onbeat {

// Bounds in the target's own unit. Each is empty (no bound) or has one number for each column.
struct SendLimits {
  std::vector<double> max_speed;  // per second; of a pose, the first is its linear speed
  std::vector<double> lower;      // of a pose, only the position is kept in its range
  std::vector<double> upper;
  double max_angular_speed = std::numeric_limits<double>::infinity();  // of a pose, rad/s
  std::vector<double> max_acceleration{};  // of joints, per second squared
  std::vector<double> max_jerk{};          // of joints, per second cubed; needs max_acceleration
};

// Keeps each column within its bounds, against the last target that was *sent*. What bounds more strongly comes first: range, then
// speed, then acceleration, then jerk. Speed is the step over its duration, acceleration and jerk the differences of that. A target
// that is within all bounds passes to the bit. One that is not is caught up with: at most as fast as the bounds allow, braking in
// time to arrive with the path's own speed. One thread; nothing here allocates, locks or throws after the constructor.
class SendLimiter {
 public:
  SendLimiter(SendLimits limits, std::size_t width);  // throws BadInput

  [[nodiscard]] const SendLimits& limits() const noexcept { return limits_; }
  // Whether acceleration is bounded; then the columns have a speed of their own, and `before`, `earlier` below are read.
  [[nodiscard]] bool smooth() const noexcept { return !limits_.max_acceleration.empty(); }

  [[nodiscard]] bool has_last() const noexcept { return has_last_; }
  [[nodiscard]] const double* last() const noexcept { return last_.data(); }
  [[nodiscard]] double speed(std::size_t column) const noexcept { return speed_[column]; }  // of the last step
  [[nodiscard]] double acceleration(std::size_t column) const noexcept { return acceleration_[column]; }
  void forget() noexcept;                    // nothing was sent
  void place(const double* at) noexcept;     // as if `at` had been sent a long time ago
  // Near the ends of float64 the arithmetic of limits and leads gives infinities and NaN, which no device may get: such a column stays
  // where it was sent last. True when one had to. Where nothing was sent yet there is no such arithmetic.
  bool keep_finite(double* target) const noexcept;
  void rest() noexcept;                      // the device stands at the last target: a gap between sends was that long

  // Move `target` into the bounds; true when it had to be moved. `before` and `earlier` are where the path was dt and 2 dt ago.
  bool limit(double* target, double dt_s, const double* before, const double* earlier) noexcept;
  bool limit_pose(double* target, double dt_s) noexcept;
  // Whether a step to `target` is within all bounds, and a range that was left is not left further; whether it can be stopped after
  // that is for the caller to know.
  [[nodiscard]] bool within(const double* target, double dt_s) const noexcept;

  // Write the next target of a stream without a path: go on at the speed of the last step, or brake. From the command history only.
  void go_on(double* target, double dt_s) noexcept;
  void brake(double* target, double dt_s) noexcept;
  [[nodiscard]] bool at_rest() const noexcept { return at_rest_; }  // of the last target that was sent

  // The target went out. dt_s as it was limited with.
  void sent(const double* target, double dt_s) noexcept;
  // Into the range alone; true when it moved a target.
  bool keep_in_range(double* target, std::size_t columns) const noexcept;

 private:
  bool limit_speed(double* target, double dt_s) const noexcept;
  bool catch_up(std::size_t column, double& target, double dt_s, double before, double earlier) const noexcept;
  [[nodiscard]] double inside(std::size_t column, double value) const noexcept;
  [[nodiscard]] double reach(std::size_t column, double speed, double acceleration, double dt_s) const noexcept;
  [[nodiscard]] double speed_after(std::size_t column, double wanted, double ahead, double dt_s) const noexcept;
  [[nodiscard]] double stoppable(std::size_t column, double asked, double dt_s) const noexcept;

  SendLimits limits_;
  const std::size_t width_;
  bool has_last_ = false;
  bool at_rest_ = true;
  std::vector<double> last_, speed_, acceleration_;
};

}  // namespace onbeat
