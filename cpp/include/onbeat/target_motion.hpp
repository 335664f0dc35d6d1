// How a streamed target moves: position, velocity and acceleration now, from samples that come at their own rate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "onbeat/stop_ramp.hpp"

namespace onbeat {

// A target that repeats is not a sample: a hand at 30 Hz in a loop at 250 Hz is held for eight periods. Samples that come at their
// usual interval are a motion, which is carried on for one interval and a half; one that comes later is a new place. A fading-memory
// filter of second order with a time constant: slow streams are differenced and fast ones smoothed by the same rule.
class TargetMotion {
 public:
  // No target moves faster than these; what seems to, has jumped to a new place.
  TargetMotion(std::vector<double> fastest, double dt_s)
      : dt_s_(dt_s), fastest_(std::move(fastest)), last_(fastest_.size()), given_(fastest_.size()), joints_(fastest_.size()) {}

  void forget() noexcept { known_ = false; }

  // One period has passed; velocity may be null.
  void take(const double* target, const double* velocity) noexcept {
    ++age_;
    const std::size_t bytes = last_.size() * sizeof(double);
    const bool same = known_ && std::memcmp(last_.data(), target, bytes) == 0 &&
                      (velocity == nullptr || std::memcmp(given_.data(), velocity, bytes) == 0);
    if (same) return;
    sample(target, velocity, static_cast<double>(age_) * dt_s_);
    age_ = 0;
  }
  [[nodiscard]] JointState now(std::size_t joint) const noexcept { return at(joint, static_cast<double>(age_) * dt_s_); }

  // A sample that is `interval` later than the one before it; velocity may be null.
  void sample(const double* target, const double* velocity, double interval) noexcept {
    const bool moving = known_ && interval <= kLongest && interval <= kLost * usual_;
    for (std::size_t k = 0; k < last_.size(); ++k) {
      const double v = velocity == nullptr ? 0.0 : velocity[k];
      if (!moving)
        joints_[k] = {target[k], v, 0.0};
      else
        joints_[k] = velocity == nullptr ? filtered(joints_[k], interval, target[k], fastest_[k]) : told(joints_[k], interval, target[k], v);
      // Beyond any motion: sums with it may not be finite.
      if (!(std::abs(joints_[k].velocity) < kNoMotion && std::abs(joints_[k].acceleration) < kNoMotion)) joints_[k] = {target[k], 0.0, 0.0};
      last_[k] = target[k];
      given_[k] = v;
    }
    usual_ = moving && moving_ ? std::max(interval, kLess * usual_) : known_ ? interval : 0;
    carried_ = moving ? kCarried * usual_ : 0;
    known_ = true;
    moving_ = moving;
  }

  // The motion so long after the newest sample, or before it.
  [[nodiscard]] JointState at(std::size_t joint, double age) const noexcept {
    if (std::abs(age) > carried_) return {last_[joint], 0.0, 0.0};
    return joints_[joint].after(age, 0.0);
  }

 private:
  // Samples further apart are no motion but a new place to be; s.
  static constexpr double kLongest = 0.1;
  static constexpr double kMemory = 0.012;  // s
  // Of the usual interval: up to which the next sample may be late and still be one of the same motion, so that one may be lost; for
  // how long a sample is carried on (sums of periods round); and what is left of it at a sample that comes sooner.
  static constexpr double kLost = 2.5, kCarried = 1.5 * (1 + 1e-9), kLess = 0.8;
  static constexpr double kNoMotion = 1e100;

  [[nodiscard]] static JointState filtered(const JointState& before, double interval, double target, double fastest) noexcept {
    const JointState predicted = before.after(interval, 0.0);
    const double fade = std::exp(-interval / kMemory), fresh = 1 - fade, error = target - predicted.position;
    if (!(std::abs(error) <= fastest * interval)) return {target, 0.0, 0.0};
    return {predicted.position + (1 - fade * fade * fade) * error,
            predicted.velocity + 1.5 * fresh * fresh * (1 + fade) * error / interval,
            predicted.acceleration + fresh * fresh * fresh * error / (interval * interval)};
  }

  [[nodiscard]] static JointState told(const JointState& before, double interval, double target, double velocity) noexcept {
    const JointState predicted = before.after(interval, 0.0);
    const double fresh = 1 - std::exp(-interval / kMemory);
    return {target, velocity, before.acceleration + fresh * (velocity - predicted.velocity) / interval};
  }

  double dt_s_;
  std::vector<double> fastest_, last_, given_;
  std::vector<JointState> joints_;  // at the last sample
  std::size_t age_ = 0;  // in periods, since the last sample
  double usual_ = 0, carried_ = 0;  // s between samples of late, and for how long the last one is carried on
  bool known_ = false, moving_ = false;
};

}  // namespace onbeat
