// A stream of targets becomes a motion within limits, one step at a time. docs/motion.md has the reasons.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "onbeat/errors.hpp"
#include "onbeat/stop_ramp.hpp"
#include "onbeat/target_motion.hpp"

namespace onbeat {

struct ShaperLimits {
  double max_speed, max_acceleration, max_jerk;
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

// One joint. Every state it gives can be brought to rest within the limits: a step that would lose this is bent back until it does
// not, at worst into the stop itself. So the limits hold whatever the targets do.
class JointShaper {
 public:
  JointShaper(const ShaperLimits& limits, double dt_s) noexcept
      : range_{limits.lower, limits.upper}, fastest_(kUsed * limits.max_speed), hardest_(kUsed * limits.max_acceleration), quickest_(kUsed * limits.max_jerk) {
    pace(dt_s);
  }

  // The period of the steps from now on.
  void pace(double dt_s) noexcept {
    dt_s_ = dt_s;
    // A millionth of a limit is left to rounding, and what would be passed within one step is not used.
    speed_ = fastest_;
    acceleration_ = std::min(hardest_, speed_ / dt_s);
    jerk_ = std::min(quickest_, acceleration_ / dt_s);
    smoothing_ = 1 - std::exp(-dt_s / kSmoothing);
    forgetting_ = std::exp(-dt_s / kForgetting);
    const double slower = std::min(1.0, kFastest / (kFromAcceleration * dt_s));
    from_position_ = slower * kFromPosition;
    from_velocity_ = slower * kFromVelocity;
    from_acceleration_ = slower * kFromAcceleration;
  }

  [[nodiscard]] const JointState& state() const noexcept { return state_; }
  // Whether a state can be brought to rest within the limits; only from such a one may the shaper begin.
  [[nodiscard]] bool can_stop(const JointState& state) const noexcept {
    return std::abs(state.acceleration) <= acceleration_ && std::abs(state.velocity) <= speed_ &&
           speed_when_released(state) <= speed_ * (1 + kDust) && -speed_when_released(mirrored(state)) >= -speed_ * (1 + kDust) &&
           stops_inside(state);
  }
  // The nearest motion that the limits of speed, acceleration and jerk allow.
  [[nodiscard]] JointState admissible(const JointState& state) const noexcept {
    const double velocity = std::clamp(state.velocity, -speed_, speed_);
    const double highest = std::min(acceleration_, std::sqrt(2 * jerk_ * (speed_ - velocity)));
    const double lowest = std::max(-acceleration_, -std::sqrt(2 * jerk_ * (speed_ + velocity)));
    return {state.position, velocity, std::clamp(state.acceleration, lowest, highest)};
  }
  void begin(const JointState& state) noexcept {
    state_ = state;
    smooth_ = needed_ = 0;
  }

  // The target's motion is that at the end of the step; out of range it is a place at the end of the range. True when a limit bent it.
  bool step(const JointState& target) noexcept {
    const double place = std::clamp(target.position, range_[0], range_[1]);
    const double asked = wanted(place == target.position ? led(target) : JointState{place, 0.0, 0.0});
    const double jerk = allowed(asked);
    const bool inside = stays_inside(jerk);
    if (inside)
      state_ = state_.after(dt_s_, jerk);
    else
      brake(jerk);
    state_.position = std::clamp(state_.position, range_[0], range_[1]);  // of a rounding
    return std::abs(jerk - asked) > kDust * jerk_ || !inside || place != target.position;
  }

  // The fastest way to rest, which stays inside the range.
  void stop() noexcept {
    state_ = StopRamp(state_, acceleration_, jerk_).at(dt_s_);
    state_.position = std::clamp(state_.position, range_[0], range_[1]);  // of a rounding
  }

 private:
  static constexpr double kUsed = 1 - 1e-6, kDust = 1e-9;
  // 1/s, for periods up to 4 ms; slower ones need lower gains. The last one is the fastest that is still damped.
  static constexpr double kFromPosition = 12.0, kFromVelocity = 60.0, kFromAcceleration = 200.0, kFastest = 0.8;
  // What the cascade plans to brake with: the rest is for the time that the jerk needs to build it up.
  static constexpr double kPlanned = 0.45, kLeast = 0.1;
  // Parts of the acceleration's limit: up to which a target is led, from which it is only a place, and above which it counts no more.
  // Then times in s.
  static constexpr double kLed = 0.8, kNotLed = 1.0, kMost = 1.5, kSmoothing = 0.03, kForgetting = 1.0;

  // A target that accelerates harder than the joint can is not to be led: its motion would be made larger. What is used of it fades as
  // its hardest acceleration of late, smoothed so that one noisy sample does not count, comes near the limit.
  [[nodiscard]] JointState led(const JointState& target) noexcept {
    smooth_ += smoothing_ * (std::min(std::abs(target.acceleration), kMost * acceleration_) - smooth_);
    needed_ = std::max(smooth_, forgetting_ * needed_);
    const double part = std::clamp((kNotLed - needed_ / acceleration_) / (kNotLed - kLed), 0.0, 1.0);
    return {target.position, part * target.velocity, part * target.acceleration};
  }

  // Proportional while it is small, then as fast as can be braked in time.
  [[nodiscard]] static double approach(double error, double gain, double braking) noexcept {
    const double size = std::abs(error), linear = braking / (gain * gain);
    if (size <= linear) return gain * error;
    return std::copysign(std::sqrt(2 * braking * (size - linear / 2)), error);
  }

  // The jerk with which the joint would follow if nothing limited it. The errors are taken at the beginning of the step.
  [[nodiscard]] double wanted(const JointState& target) const noexcept {
    const JointState goal = target.after(-dt_s_, 0.0);
    const double error = goal.position - state_.position;
    // Relative to a target that brakes itself there is less left to brake with, and more where it comes towards us.
    const double left = std::clamp(acceleration_ + std::copysign(goal.acceleration, error * goal.acceleration), kLeast * acceleration_, 2 * acceleration_);
    const double velocity = std::clamp(goal.velocity + approach(error, from_position_, kPlanned * left), -speed_, speed_);
    const double acceleration =
        std::clamp(goal.acceleration + approach(velocity - state_.velocity, from_velocity_, kPlanned * jerk_), -acceleration_, acceleration_);
    return from_acceleration_ * (acceleration - state_.acceleration);
  }

  // Bend a jerk so that jerk, acceleration and velocity hold, now and while the acceleration is released again.
  [[nodiscard]] double allowed(double jerk) const noexcept {
    const double highest = highest_acceleration(state_.velocity, state_.acceleration);
    const double lowest = -highest_acceleration(-state_.velocity, -state_.acceleration);
    const double after = std::clamp(state_.acceleration + dt_s_ * jerk, lowest, std::max(lowest, highest));
    return std::clamp((after - state_.acceleration) / dt_s_, -jerk_, jerk_);
  }

  // The highest acceleration at the end of the step from which the velocity stays below its limit. Releasing n whole steps of
  // jerk and a rest adds dt (n^2 J dt / 2 + (n + 1/2) rest): the area under a line that falls by J dt a step.
  [[nodiscard]] double highest_acceleration(double velocity, double acceleration) const noexcept {
    const double free = speed_ - velocity - acceleration * dt_s_ / 2, quantum = jerk_ * dt_s_;
    if (free <= 0) return 2 * free / dt_s_;
    const double n = std::floor((std::sqrt(1 + 8 * free / (quantum * dt_s_)) - 1) / 2);
    const double rest = (free - quantum * dt_s_ * n * (n + 1) / 2) / ((n + 1) * dt_s_);
    return std::min(n * quantum + rest, acceleration_);
  }

  [[nodiscard]] static JointState mirrored(const JointState& s) noexcept { return {-s.position, -s.velocity, -s.acceleration}; }
  [[nodiscard]] double speed_when_released(const JointState& s) const noexcept {
    return s.acceleration > 0 ? s.velocity + s.acceleration * s.acceleration / (2 * jerk_) : s.velocity;
  }

  [[nodiscard]] bool limited() const noexcept { return std::isfinite(range_[0]) || std::isfinite(range_[1]); }
  [[nodiscard]] bool inside(const std::array<double, 2>& passed) const noexcept {
    return passed[0] >= range_[0] && passed[1] <= range_[1];
  }
  [[nodiscard]] bool stops_inside(const JointState& state) const noexcept {
    return !limited() || inside(StopRamp(state, acceleration_, jerk_).reach());
  }
  // Whether a step and a stop after it stay in the range.
  [[nodiscard]] bool stays_inside(double jerk) const noexcept {
    if (!limited()) return true;
    std::array<double, 2> passed{state_.position, state_.position};
    StopRamp::widen(passed, state_, dt_s_, jerk);
    return inside(passed) && stops_inside(state_.after(dt_s_, jerk));
  }

  // Go as near to what was wanted as the range allows: between it and the jerk that the stop begins with, or else the stop itself.
  void brake(double wanted_jerk) noexcept {
    const StopRamp stop(state_, acceleration_, jerk_);
    const JointState stopping = stop.at(dt_s_);
    double good = allowed((stopping.acceleration - state_.acceleration) / dt_s_), bad = wanted_jerk;
    if (!stays_inside(good)) {
      state_ = stopping;
      return;
    }
    for (int k = 0; k < 12; ++k) {
      const double middle = allowed((good + bad) / 2);
      (stays_inside(middle) ? good : bad) = middle;
    }
    state_ = state_.after(dt_s_, good);
  }

  std::array<double, 2> range_;
  double fastest_, hardest_, quickest_;  // the limits, and below what is used of them in steps of this length
  double dt_s_ = 0, speed_ = 0, acceleration_ = 0, jerk_ = 0;
  double from_position_ = 0, from_velocity_ = 0, from_acceleration_ = 0;
  double smoothing_ = 0, forgetting_ = 0, smooth_ = 0, needed_ = 0;
  JointState state_;
};

// All joints of a module. step is noexcept, without allocation or lock; one thread.
class OnlineShaper {
 public:
  // Throws BadInput.
  OnlineShaper(const std::vector<ShaperLimits>& limits, double dt_s) : dt_s_(dt_s), motion_(fastest(limits), dt_s) {
    if (limits.empty()) throw BadInput("a shaper needs a width >= 1");
    if (!(dt_s > 0 && dt_s <= 1)) throw BadInput(text("dt_s must be > 0 and <= 1 s, not %g", dt_s));
    for (const ShaperLimits& each : limits) {
      const std::pair<double, const char*> needed[] = {
          {each.max_speed, "max_speed"}, {each.max_acceleration, "max_acceleration"}, {each.max_jerk, "max_jerk"}};
      for (const auto& [value, name] : needed)
        if (!(value > 0 && std::isfinite(value))) throw BadInput(text("%s must be > 0 and finite, not %g", name, value));
      if (!(each.lower <= each.upper)) throw BadInput(text("lower %g lies above upper %g", each.lower, each.upper));
      joints_.emplace_back(each, dt_s);
    }
  }

  [[nodiscard]] std::size_t width() const noexcept { return joints_.size(); }
  [[nodiscard]] double dt_s() const noexcept { return dt_s_; }
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  [[nodiscard]] const JointState& state(std::size_t joint) const noexcept { return joints_[joint].state(); }

  // Where the motion begins; forgets the targets before. Throws BadInput where a joint could not stop within the limits.
  void begin(const std::vector<JointState>& states) {
    for (std::size_t k = 0; k < width(); ++k) {
      const JointState& s = states[k];
      if (!(std::isfinite(s.position) && std::isfinite(s.velocity) && std::isfinite(s.acceleration)))
        throw BadInput(text("joint %zu starts at %g, %g, %g; every number must be finite", k, s.position, s.velocity, s.acceleration));
      if (!joints_[k].can_stop(s))
        throw BadInput(text("joint %zu starts at %g with velocity %g and acceleration %g, from where it cannot stop within its limits", k,
                            s.position, s.velocity, s.acceleration));
    }
    for (std::size_t k = 0; k < width(); ++k) joints_[k].begin(states[k]);
    motion_.forget();
    begun_ = true;
  }

  // Move one period on, towards targets that are true at its end; velocity may be null: then it is estimated. False, with nothing
  // changed, where a number is not finite.
  [[nodiscard]] bool step(const double* target, const double* velocity) noexcept {
    for (std::size_t k = 0; k < width(); ++k)
      if (!std::isfinite(target[k]) || (velocity != nullptr && !std::isfinite(velocity[k]))) return false;
    motion_.take(target, velocity);
    for (std::size_t k = 0; k < width(); ++k) joints_[k].step(motion_.now(k));
    return true;
  }

 private:
  // A target may run away from a joint, but not ten times as fast.
  [[nodiscard]] static std::vector<double> fastest(const std::vector<ShaperLimits>& limits) {
    std::vector<double> speeds;
    for (const ShaperLimits& each : limits) speeds.push_back(10 * each.max_speed);
    return speeds;
  }

  double dt_s_;
  TargetMotion motion_;
  std::vector<JointShaper> joints_;
  bool begun_ = false;
};

}  // namespace onbeat
