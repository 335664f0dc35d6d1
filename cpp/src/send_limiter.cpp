#include "onbeat/send_limiter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onbeat/errors.hpp"
#include "onbeat/quaternion.hpp"
#include "onbeat/stop_ramp.hpp"

namespace onbeat {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A path at exactly a bound rounds to a few ulp above it; that is not a bound at work.
constexpr double kRounding = 1.0 + 1e-9;
constexpr double kUlp = 4e-16;
constexpr double kSlack = 1.0 + 1e-6;  // of acceleration and jerk: second and third differences of instants in whole nanoseconds
constexpr double kJerkSlack = 1.0 + 1e-4;  // of a step that was shaped: the periods of a grid differ by a nanosecond
constexpr double kMostAcceleration = 1e12;  // stands for "no bound" of one column: infinity less infinity is no number
// How much of the acceleration brakes on the way back to the path; what is left follows the path's own and turns it round in time.
constexpr double kBrake = 0.88;
constexpr double kBrakeWithJerk = 0.7;
constexpr double kJerkToTurn = 0.7;
// The last step of an approach is a part of a step: it may brake 9/8 as much as those before it.
constexpr double kLastStep = 0.88;

void check_bound(const std::vector<double>& bound, std::size_t width, const char* name) {
  if (!bound.empty() && bound.size() != width)
    throw BadInput(text("%s has %zu numbers and the plan has width %zu; give one number, or one for each column", name, bound.size(), width));
  for (const double value : bound)
    if (std::isnan(value)) throw BadInput(text("%s must not be nan", name));
}

void check_positive(const std::vector<double>& bound, const char* name) {
  for (const double value : bound)
    if (value <= 0) throw BadInput(text("%s must be > 0, not %g", name, value));
}

// The rate at which something may approach a point `left` away when its own rate can change by `change` a second, in steps of dt: so
// that braking, which begins with the next step, ends there. `delay` is how long it takes until it brakes in full.
double approach(double left, double change, double delay_s, double dt_s) noexcept {
  const double lag = change * (delay_s + 0.5 * dt_s);
  const double braking = std::sqrt(lag * lag + 2.0 * change * std::abs(left)) - lag;
  return std::copysign(std::min(braking, std::abs(left) / dt_s), left);
}

// The highest acceleration that can be released again before the speed has risen by `room`: in the steps after this one it falls by
// `quantum` each. n whole quanta and a rest add dt ((n + 1) acceleration - quantum n (n + 1) / 2).
double releasable(double room, double quantum, double dt_s) noexcept {
  const double sum = room / dt_s;
  if (sum <= 0 || quantum == kInfinity) return sum;
  const double n = std::floor((std::sqrt(1.0 + 8.0 * sum / quantum) - 1.0) / 2.0);
  return (sum + quantum * n * (n + 1.0) / 2.0) / (n + 1.0);
}

double bound_of(const std::vector<double>& bound, std::size_t column) noexcept { return bound.empty() ? kInfinity : bound[column]; }

}  // namespace

SendLimiter::SendLimiter(SendLimits limits, std::size_t width)
    : limits_(std::move(limits)), width_(width), last_(width), speed_(width), acceleration_(width) {
  check_bound(limits_.max_speed, width, "max_speed");
  check_bound(limits_.lower, width, "lower");
  check_bound(limits_.upper, width, "upper");
  check_bound(limits_.max_acceleration, width, "max_acceleration");
  check_bound(limits_.max_jerk, width, "max_jerk");
  check_positive(limits_.max_speed, "max_speed");
  check_positive(limits_.max_acceleration, "max_acceleration");
  check_positive(limits_.max_jerk, "max_jerk");
  if (!limits_.max_jerk.empty() && limits_.max_acceleration.empty()) throw BadInput("max_jerk needs max_acceleration beside it");
  if (!(limits_.max_angular_speed > 0)) throw BadInput(text("max_angular_speed must be > 0, not %g", limits_.max_angular_speed));
  for (double& most : limits_.max_acceleration) most = std::min(most, kMostAcceleration);
  if (!limits_.lower.empty() && !limits_.upper.empty())
    for (std::size_t i = 0; i < width; ++i)
      if (limits_.lower[i] > limits_.upper[i])
        throw BadInput(text("column %zu has lower %g above upper %g", i, limits_.lower[i], limits_.upper[i]));
}

void SendLimiter::rest() noexcept {
  std::fill(speed_.begin(), speed_.end(), 0.0);
  std::fill(acceleration_.begin(), acceleration_.end(), 0.0);
  at_rest_ = true;
}

void SendLimiter::forget() noexcept {
  has_last_ = false;
  rest();
}

void SendLimiter::place(const double* at) noexcept {
  std::copy_n(at, width_, last_.begin());
  has_last_ = true;
  rest();
}

bool SendLimiter::keep_finite(double* target) const noexcept {
  bool moved = false;
  for (std::size_t i = 0; has_last_ && i < width_; ++i)
    if (!std::isfinite(target[i])) target[i] = last_[i], moved = true;
  return moved;
}

void SendLimiter::sent(const double* target, double dt_s) noexcept {
  if (smooth()) {
    bool still = true;
    for (std::size_t i = 0; i < width_; ++i) {
      const double speed = has_last_ && dt_s > 0 ? (target[i] - last_[i]) / dt_s : 0.0;
      acceleration_[i] = has_last_ && dt_s > 0 ? (speed - speed_[i]) / dt_s : 0.0;
      speed_[i] = speed;
      still = still && speed == 0.0;
    }
    at_rest_ = still;
  }
  std::copy_n(target, width_, last_.begin());
  has_last_ = true;
}

bool SendLimiter::limit(double* target, double dt_s, const double* before, const double* earlier) noexcept {
  const bool out_of_range = keep_in_range(target, width_);
  if (!has_last_) return out_of_range;
  if (!smooth()) return limit_speed(target, dt_s) || out_of_range;
  bool moved = out_of_range;
  for (std::size_t i = 0; i < width_; ++i) {
    const double lower = limits_.lower.empty() ? -kInfinity : limits_.lower[i];
    const double upper = limits_.upper.empty() ? kInfinity : limits_.upper[i];
    moved |= catch_up(i, target[i], dt_s, std::clamp(before[i], lower, upper), std::clamp(earlier[i], lower, upper));
  }
  return moved;
}

bool SendLimiter::within(const double* target, double dt_s) const noexcept {
  if (!(dt_s > 0)) return false;
  for (std::size_t i = 0; i < width_; ++i) {
    const double noise = kUlp * (std::abs(last_[i]) + std::abs(target[i])) / dt_s;
    const double speed = (target[i] - last_[i]) / dt_s, acceleration = (speed - speed_[i]) / dt_s;
    if (inside(i, target[i]) != target[i] || std::abs(speed) > bound_of(limits_.max_speed, i) * kRounding + noise ||
        std::abs(acceleration) > bound_of(limits_.max_acceleration, i) * kSlack + 4 * noise / dt_s ||
        std::abs(acceleration - acceleration_[i]) > bound_of(limits_.max_jerk, i) * dt_s * kJerkSlack + 16 * noise / dt_s)
      return false;
  }
  return true;
}

bool SendLimiter::keep_in_range(double* target, std::size_t columns) const noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < columns; ++i) {
    double kept = target[i];
    if (!limits_.lower.empty()) kept = std::max(kept, limits_.lower[i]);
    if (!limits_.upper.empty()) kept = std::min(kept, limits_.upper[i]);
    moved = moved || kept != target[i];
    target[i] = kept;
  }
  return moved;
}

// In the range; where the last target lay outside of it, no further out than that.
double SendLimiter::inside(std::size_t i, double value) const noexcept {
  if (!limits_.lower.empty()) value = std::max(value, std::min(limits_.lower[i], last_[i]));
  if (!limits_.upper.empty()) value = std::min(value, std::max(limits_.upper[i], last_[i]));
  return value;
}

bool SendLimiter::limit_speed(double* target, double dt_s) const noexcept {
  if (limits_.max_speed.empty()) return false;
  bool moved = false;
  for (std::size_t i = 0; i < width_; ++i) {
    const double most = limits_.max_speed[i] * dt_s;
    const double step = target[i] - last_[i];
    if (std::abs(step) <= most * kRounding + kUlp * std::abs(last_[i])) continue;
    target[i] = last_[i] + std::copysign(most, step);
    moved = true;
  }
  return moved;
}

// One column with bounded acceleration: pass the target, or step towards it.
bool SendLimiter::catch_up(std::size_t i, double& target, double dt_s, double before, double earlier) const noexcept {
  if (!(dt_s > 0)) {
    const bool moved = target != last_[i];
    target = last_[i];
    return moved;
  }
  const double fastest = bound_of(limits_.max_speed, i), most = limits_.max_acceleration[i], jerk = bound_of(limits_.max_jerk, i);
  const double noise = kUlp * (std::abs(last_[i]) + std::abs(target)) / dt_s;  // of a speed that is a difference of positions
  const double speed = (target - last_[i]) / dt_s;
  const double acceleration = (speed - speed_[i]) / dt_s;
  const double turn = std::abs(acceleration) * std::min(1.0, std::abs(acceleration) / (2.0 * jerk * dt_s)) * dt_s;
  // Where the path is going: its speed and acceleration over the last two steps of this length.
  const double path_speed = std::clamp((target - before) / dt_s, -fastest, fastest);
  const double path_acceleration = std::clamp((target - 2.0 * before + earlier) / (dt_s * dt_s), -most, most);
  // To be on the path is not to cross it: the next step must be able to take its speed, and the one after that its acceleration.
  const double surplus = (speed - path_speed) / dt_s;
  const double change = jerk * dt_s * kSlack + 16 * noise / dt_s;
  const bool passes = std::abs(speed) <= fastest * kRounding + noise && std::abs(acceleration) <= most * kSlack + 4 * noise / dt_s &&
                      std::abs(surplus) <= most * kSlack + 4 * noise / dt_s && std::abs(acceleration - acceleration_[i]) <= change &&
                      std::abs(path_acceleration - surplus - acceleration) <= change && std::abs(surplus) <= change &&
                      (std::isinf(jerk) || speed * acceleration <= 0 || std::abs(speed) + turn <= fastest * kRounding + noise);
  const double allowed = reach(i, speed, acceleration, dt_s);
  if (passes && std::abs(speed - allowed) <= noise) return false;

  const double behind = target - path_speed * dt_s - last_[i];  // before this step
  // What brakes the closing speed: the bound, less what the path itself takes of it.
  const double spare = std::max(kBrake * most - std::abs(path_acceleration), 0.25 * most);
  double wanted, ahead;
  if (std::isinf(jerk)) {
    const double brake = spare;
    wanted = path_speed + approach(behind, brake, 0.0, dt_s);
    ahead = 0.0;
  } else {
    const double brake = kBrakeWithJerk * spare;
    const double delay_s = brake / (2.0 * kJerkToTurn * jerk);
    const double closing = approach(behind, brake, delay_s, dt_s);
    wanted = path_speed + closing;
    // The closing speed falls as the distance does: begin to brake with it, not after it.
    const double lag = brake * (delay_s + 0.5 * dt_s);
    ahead = path_acceleration - closing * brake / std::sqrt(lag * lag + 2.0 * brake * std::abs(behind));
  }
  target = inside(i, last_[i] + speed_after(i, wanted, ahead, dt_s) * dt_s);
  return true;
}

// The speed nearest to `speed` from which the column can still stop before the end of its range.
double SendLimiter::reach(std::size_t i, double speed, double acceleration, double dt_s) const noexcept {
  const double jerk = bound_of(limits_.max_jerk, i), most = kLastStep * limits_.max_acceleration[i];
  // With a bounded jerk it goes on gaining speed until the acceleration has been taken back: on less way, to a lower speed.
  const double gaining = std::isinf(jerk) || speed * acceleration <= 0 ? 0.0 : std::abs(acceleration);
  const double turn_s = gaining / jerk, gained = 0.5 * gaining * turn_s;
  const double gone = std::abs(speed) * turn_s + gaining * turn_s * turn_s / 3.0, delay_s = 0.5 * most / jerk;
  const double way = (speed > 0 ? bound_of(limits_.upper, i) - last_[i] : limits_.lower.empty() ? kInfinity : last_[i] - limits_.lower[i]) - gone;
  if (way == kInfinity) return speed;
  const double allowed = way > 0 ? std::max(0.0, approach(way, most, delay_s, dt_s) - gained) : 0.0;
  return std::copysign(std::min(std::abs(speed), allowed), speed);
}

// The speed one step on, when it should become `wanted`, which itself changes by `ahead` a second.
double SendLimiter::speed_after(std::size_t i, double wanted, double ahead, double dt_s) const noexcept {
  const double fastest = bound_of(limits_.max_speed, i), most = limits_.max_acceleration[i], jerk = bound_of(limits_.max_jerk, i);
  wanted = std::clamp(reach(i, wanted, acceleration_[i], dt_s), -fastest, fastest);
  double acceleration = (wanted - speed_[i]) / dt_s;
  if (std::isfinite(jerk)) {
    acceleration = ahead + approach(wanted - ahead * dt_s - speed_[i], kJerkToTurn * jerk, 0.0, dt_s);
    if (std::abs(wanted) == fastest) acceleration = approach(wanted - speed_[i], kLastStep * jerk, 0.0, dt_s);
    acceleration = stoppable(i, acceleration, dt_s);
  }
  acceleration = std::clamp(acceleration, -most, most);
  return std::clamp(speed_[i] + acceleration * dt_s, -fastest, fastest);
}

// The acceleration nearest to the one asked for that leaves a way out: released in time it keeps the speed below its bound, and a
// stop after this step ends inside the range.
double SendLimiter::stoppable(std::size_t i, double asked, double dt_s) const noexcept {
  const double fastest = bound_of(limits_.max_speed, i), most = limits_.max_acceleration[i], jerk = limits_.max_jerk[i];
  const double quantum = jerk * dt_s, released = quantum, speed = speed_[i];
  const auto allowed = [&](double acceleration) {
    acceleration = std::min(acceleration, releasable(fastest - speed, released, dt_s));
    acceleration = std::max(acceleration, -releasable(fastest + speed, released, dt_s));
    acceleration = std::clamp(acceleration, acceleration_[i] - quantum, acceleration_[i] + quantum);
    return std::clamp(acceleration, -most, most);
  };
  const double lower = limits_.lower.empty() ? -kInfinity : std::min(limits_.lower[i], last_[i]);
  const double upper = limits_.upper.empty() ? kInfinity : std::max(limits_.upper[i], last_[i]);
  const auto stops = [&](double acceleration) {
    const double next = speed + acceleration * dt_s, step = next * dt_s;
    const auto passed = StopRamp({last_[i] + step, next, acceleration}, most, jerk).reach();
    // The ramp in steps may begin to brake one step after the one in continuous time.
    return passed[0] + std::min(step, 0.0) >= lower && passed[1] + std::max(step, 0.0) <= upper;
  };
  double bad = allowed(asked);
  if ((lower == -kInfinity && upper == kInfinity) || stops(bad)) return bad;
  double good = allowed(-std::copysign(releasable(std::abs(speed), released, dt_s), speed));
  if (!stops(good)) return good;
  for (int k = 0; k < 12; ++k) {
    const double middle = 0.5 * (good + bad);
    (stops(middle) ? good : bad) = middle;
  }
  return good;
}

void SendLimiter::go_on(double* target, double dt_s) noexcept {
  for (std::size_t i = 0; i < width_; ++i) {
    const double speed = dt_s > 0 ? speed_after(i, speed_[i], 0.0, dt_s) : 0.0;
    target[i] = inside(i, last_[i] + speed * dt_s);
  }
}

void SendLimiter::brake(double* target, double dt_s) noexcept {
  for (std::size_t i = 0; i < width_; ++i) {
    const double speed = smooth() && dt_s > 0 ? speed_after(i, 0.0, 0.0, dt_s) : 0.0;
    // A last step too small to see ends the ramp.
    const bool still = std::abs(speed) * dt_s <= kUlp * (1.0 + std::abs(last_[i]));
    target[i] = still ? last_[i] : inside(i, last_[i] + speed * dt_s);
  }
}

bool SendLimiter::limit_pose(double* target, double dt_s) noexcept {
  bool moved = keep_in_range(target, 3);
  if (!has_last_) return moved;
  const double x = target[0] - last_[0], y = target[1] - last_[1], z = target[2] - last_[2];
  const double step = std::sqrt(x * x + y * y + z * z);
  const double most = limits_.max_speed.empty() ? step : limits_.max_speed[0] * dt_s;
  if (step > most * kRounding + kUlp * (std::abs(last_[0]) + std::abs(last_[1]) + std::abs(last_[2]))) {
    const double part = most / step;
    target[0] = last_[0] + part * x, target[1] = last_[1] + part * y, target[2] = last_[2] + part * z;
    moved = true;
  }
  double* rotation = target + 3;
  const double* last_rotation = last_.data() + 3;
  quaternion::align_sign(last_rotation, rotation);
  const double angle = 2.0 * quaternion::half_angle(last_rotation, rotation);
  const double widest = limits_.max_angular_speed * dt_s;
  if (angle > widest * kRounding + kUlp) {
    double turned[4];
    quaternion::slerp(last_rotation, rotation, widest / angle, turned);
    std::copy_n(turned, 4, rotation);
    moved = true;
  }
  return moved;
}

}  // namespace onbeat
