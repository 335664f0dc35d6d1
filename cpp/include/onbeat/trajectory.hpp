// Where to be, when: an immutable path through knots at int64 instants.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onbeat/errors.hpp"
#include "onbeat/quaternion.hpp"
#include "onbeat/time.hpp"

namespace onbeat {

// Evaluation is noexcept, without allocation or lock, and safe from any number of threads: nothing changes after the constructor.
// Before the first knot the path stays at the first, after the last at the last, with zero velocity.
class Trajectory {
 public:
  enum class Kind : std::uint8_t { linear, pose };

  static constexpr std::size_t kPoseWidth = 7;      // position xyz in metres, quat_wxyz
  static constexpr std::size_t kPoseRateWidth = 6;  // v in the world's frame in m/s, omega in the body's frame in rad/s

  // targets is row-major, one row of `width` numbers for each instant; due_ns empty says that no knot is late. Throws BadInput.
  Trajectory(std::vector<Ns> times_ns, std::vector<double> targets, std::size_t width, Kind kind = Kind::linear, Ns lead_ns = 0,
             std::vector<Ns> due_ns = {})
      : times_ns_(std::move(times_ns)),
        targets_(std::move(targets)),
        due_ns_(std::move(due_ns)),
        width_(width),
        kind_(kind),
        lead_ns_(lead_ns) {
    check();
    if (due_ns_ == times_ns_) due_ns_.clear();
    if (kind_ == Kind::pose) prepare_rotations();
  }

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  // How many numbers velocity_at writes.
  [[nodiscard]] std::size_t velocity_width() const noexcept { return kind_ == Kind::pose ? kPoseRateWidth : width_; }
  [[nodiscard]] std::size_t size() const noexcept { return times_ns_.size(); }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] Ns start_ns() const noexcept { return times_ns_.front(); }
  [[nodiscard]] Ns end_ns() const noexcept { return times_ns_.back(); }
  // How much earlier than their targets' instants the knots were put; bookkeeping, evaluation does not use it.
  [[nodiscard]] Ns lead_ns() const noexcept { return lead_ns_; }
  [[nodiscard]] const std::vector<Ns>& times_ns() const noexcept { return times_ns_; }
  [[nodiscard]] const std::vector<double>& targets() const noexcept { return targets_; }
  // When each knot had to be there, <= its instant; bookkeeping like the lead, by which a waypoint that is sent again is known.
  [[nodiscard]] const std::vector<Ns>& due_ns() const noexcept { return due_ns_.empty() ? times_ns_ : due_ns_; }

  // Write `width` numbers. A pose's quaternion is unit and changes sign nowhere along the path.
  void at(Ns t_ns, double* out) const noexcept {
    const Place place = find(t_ns);
    const double* from = row(place.knot);
    if (place.knot + 1 == size() || place.u == 0.0) {
      std::copy_n(from, width_, out);
      if (kind_ == Kind::pose) std::copy_n(rotation(place.knot), 4, out + 3);
      return;
    }
    const double* to = row(place.knot + 1);
    const std::size_t straight = kind_ == Kind::pose ? 3 : width_;
    for (std::size_t k = 0; k < straight; ++k) out[k] = std::lerp(from[k], to[k], place.u);
    if (kind_ == Kind::pose) quaternion::slerp(rotation(place.knot), rotation(place.knot + 1), place.u, out + 3);
  }

  // Write `velocity_width` numbers per second: the velocity from t_ns on, so at a knot that of the segment which begins there.
  void velocity_at(Ns t_ns, double* out) const noexcept {
    const Place place = find(t_ns);
    if (t_ns < start_ns() || place.knot + 1 == size()) {
      std::fill_n(out, velocity_width(), 0.0);
      return;
    }
    const double* from = row(place.knot);
    const double* to = row(place.knot + 1);
    const double duration_s = seconds(elapsed_ns(times_ns_[place.knot], times_ns_[place.knot + 1]));
    const std::size_t straight = kind_ == Kind::pose ? 3 : width_;
    for (std::size_t k = 0; k < straight; ++k) out[k] = (to[k] - from[k]) / duration_s;
    if (kind_ == Kind::pose) {
      quaternion::log_between(rotation(place.knot), rotation(place.knot + 1), out + 3);
      for (std::size_t k = 3; k < 6; ++k) out[k] /= duration_s;
    }
  }

  friend bool operator==(const Trajectory& a, const Trajectory& b) noexcept {
    return a.kind_ == b.kind_ && a.lead_ns_ == b.lead_ns_ && a.width_ == b.width_ && a.times_ns_ == b.times_ns_ &&
           a.targets_ == b.targets_ && a.due_ns_ == b.due_ns_;
  }

 private:
  struct Place {
    std::size_t knot;  // the last knot at or before the instant
    double u;          // fraction of the way to the next
  };

  [[nodiscard]] const double* row(std::size_t knot) const noexcept { return targets_.data() + knot * width_; }
  [[nodiscard]] const double* rotation(std::size_t knot) const noexcept { return rotations_.data() + knot * 4; }

  [[nodiscard]] Place find(Ns t_ns) const noexcept {
    if (t_ns <= start_ns()) return {0, 0.0};
    if (t_ns >= end_ns()) return {size() - 1, 0.0};
    const auto after = std::upper_bound(times_ns_.begin(), times_ns_.end(), t_ns);
    const auto knot = static_cast<std::size_t>(after - times_ns_.begin()) - 1;
    return {knot, fraction(times_ns_[knot], t_ns, *after)};
  }

  void check() const {
    if (times_ns_.empty()) throw BadInput("a trajectory needs at least one knot");
    if (width_ == 0) throw BadInput("a trajectory needs targets of width >= 1");
    if (targets_.size() != times_ns_.size() * width_)
      throw BadInput(text("%zu knots of width %zu need %zu numbers, not %zu", times_ns_.size(), width_, times_ns_.size() * width_,
                          targets_.size()));
    if (kind_ == Kind::pose && width_ != kPoseWidth)
      throw BadInput(text("a pose has 7 numbers (position xyz and quat_wxyz), not %zu", width_));
    if (lead_ns_ < 0) throw BadInput(text("lead_ns must be >= 0, not %lld", static_cast<long long>(lead_ns_)));
    for (std::size_t knot = 1; knot < times_ns_.size(); ++knot)
      if (times_ns_[knot] <= times_ns_[knot - 1])
        throw BadInput(text("knot %zu is %.3f ms before or at knot %zu; knots must be strictly increasing", knot,
                            milliseconds(times_ns_[knot], times_ns_[knot - 1]), knot - 1));
    if (!due_ns_.empty() && due_ns_.size() != size())
      throw BadInput(text("there are %zu knots and %zu instants at which they were due; give one for each knot", size(), due_ns_.size()));
    for (std::size_t knot = 0; knot < due_ns_.size(); ++knot)
      if (due_ns_[knot] > times_ns_[knot])
        throw BadInput(text("knot %zu is due %.3f ms after its instant; a knot is on time or late", knot,
                            milliseconds(times_ns_[knot], due_ns_[knot])));
    for (std::size_t i = 0; i < targets_.size(); ++i)
      if (!std::isfinite(targets_[i]))
        throw BadInput(text("knot %zu has %g in column %zu; every target must be finite", i / width_, targets_[i], i % width_));
  }

  void prepare_rotations() {
    rotations_.resize(size() * 4);
    for (std::size_t knot = 0; knot < size(); ++knot) {
      double* q = rotations_.data() + knot * 4;
      std::copy_n(row(knot) + 3, 4, q);
      if (!quaternion::is_unit(q))
        throw BadInput(text("knot %zu has a quaternion of norm %.4f; quat_wxyz must have norm 1 within 0.01", knot, quaternion::norm(q)));
      quaternion::normalise(q);
      if (knot > 0) quaternion::align_sign(q - 4, q);
    }
  }

  std::vector<Ns> times_ns_;
  std::vector<double> targets_;    // as given
  std::vector<Ns> due_ns_;         // empty: as times_ns_
  std::vector<double> rotations_;  // of poses: the quaternions unit and in one sign, as they are evaluated
  std::size_t width_;
  Kind kind_;
  Ns lead_ns_;
};

}  // namespace onbeat
