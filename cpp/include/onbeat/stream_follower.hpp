// Follow a stream of targets whose future is unknown, in the loop's own cycle: carry the newest one to the instant of effect, and
// shape the way there within the limits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "onbeat/online_shaper.hpp"
#include "onbeat/send_limiter.hpp"
#include "onbeat/target_motion.hpp"
#include "onbeat/time.hpp"

namespace onbeat {

// Where to be, as somebody said it at an instant. Made by the writer; the cycle only reads it.
struct Aim {
  Ns t_ns;                       // when it was true
  std::vector<double> position;
  std::vector<double> velocity;  // empty: not told
};

// Joints only. One thread; after the constructor nothing here allocates, locks or throws.
class StreamFollower {
 public:
  // Without a speed, an acceleration and a jerk for each joint there is nothing to shape by, and `able` says so.
  StreamFollower(const SendLimits& limits, std::size_t width, double dt_s)
      : nominal_s_(dt_s), dt_s_(dt_s), motion_(tenfold(limits.max_speed), dt_s) {
    const auto usable = [width](const std::vector<double>& bound) {
      return bound.size() == width && std::all_of(bound.begin(), bound.end(), [](double value) { return std::isfinite(value); });
    };
    if (!usable(limits.max_speed) || !usable(limits.max_acceleration) || !usable(limits.max_jerk)) return;
    for (std::size_t k = 0; k < width; ++k) {
      ShaperLimits each{limits.max_speed[k], limits.max_acceleration[k], limits.max_jerk[k]};
      if (!limits.lower.empty()) each.lower = limits.lower[k];
      if (!limits.upper.empty()) each.upper = limits.upper[k];
      joints_.emplace_back(each, dt_s);
    }
  }

  [[nodiscard]] bool able() const noexcept { return !joints_.empty(); }

  // Another stream: what was known of the motion of the one before is forgotten.
  void forget() noexcept {
    motion_.forget();
    known_ = false;
  }

  // The newest target; the same one again changes nothing.
  void take(const Aim& aim) noexcept {
    if (known_ && aim.t_ns == t_ns_) return;
    motion_.sample(aim.position.data(), aim.velocity.empty() ? nullptr : aim.velocity.data(), known_ ? seconds(t_ns_, aim.t_ns) : 0.0);
    t_ns_ = aim.t_ns;
    known_ = true;
  }

  // Begin where the last targets that were sent lead to. False where a joint could not stop within its limits from there.
  [[nodiscard]] bool begin(const SendLimiter& sent, double dt_s) noexcept {
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      // A speed that is a difference of positions is that of half a step ago.
      const double acceleration = sent.acceleration(k);
      const JointState state = joints_[k].admissible({sent.last()[k], sent.speed(k) + 0.5 * acceleration * dt_s, acceleration});
      if (!joints_[k].can_stop(state)) return false;
      joints_[k].begin(state);
    }
    return true;
  }

  // One step of dt_s; `target` is where to be at its end: the newest aim as it is at `now_ns`, and k_ff of its way in lead_s further.
  // True when a limit bent the way.
  bool step(Ns now_ns, double lead_s, double dt_s, double* target) noexcept {
    pace(dt_s);
    bool bent = false;
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      bent |= joints_[k].step(aimed(k, now_ns, lead_s));
      target[k] = joints_[k].state().position;
    }
    return bent;
  }

  // One step of dt_s of the fastest way to rest.
  void stop(double dt_s, double* target) noexcept {
    pace(dt_s);
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      joints_[k].stop();
      target[k] = joints_[k].state().position;
    }
  }

  [[nodiscard]] JointState aimed(std::size_t joint, Ns now_ns, double lead_s) const noexcept {
    const JointState now = motion_.at(joint, seconds(t_ns_, now_ns));
    return {now.position + lead_s * now.velocity, now.velocity + lead_s * now.acceleration, now.acceleration};
  }

  [[nodiscard]] double speed(std::size_t joint) const noexcept { return joints_[joint].state().velocity; }

 private:
  static constexpr double kRounding = 2e-9;

  // A target may run away from a joint, but not ten times as fast.
  [[nodiscard]] static std::vector<double> tenfold(std::vector<double> speeds) {
    for (double& each : speeds) each *= 10;
    return speeds;
  }

  void pace(double dt_s) noexcept {
    if (std::abs(dt_s - nominal_s_) < kRounding) dt_s = nominal_s_;  // the grid's own rounding is no other period
    if (dt_s == dt_s_) return;
    dt_s_ = dt_s;
    for (JointShaper& joint : joints_) joint.pace(dt_s);
  }

  double nominal_s_, dt_s_;
  TargetMotion motion_;
  std::vector<JointShaper> joints_;
  Ns t_ns_ = 0;
  bool known_ = false;
};

}  // namespace onbeat
