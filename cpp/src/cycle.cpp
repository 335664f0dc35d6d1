#include "onbeat/cycle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onbeat/errors.hpp"
#include "onbeat/quaternion.hpp"

namespace onbeat {

namespace {

using Wide = __int128;

constexpr Ns kMost = Ns{1} << 62;
constexpr int kStretch = 64;  // cycles after which a device that became slower is believed
constexpr Ns kUnknown = INT64_MAX;
// A plan at exactly max_speed rounds to a few ulp above it; that is not a limit at work.
constexpr double kRounding = 1.0 + 1e-9;
constexpr double kUlp = 4e-16;

constexpr Wide floor_div(Wide a, Wide b) noexcept {  // b > 0
  const Wide quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

void check_bound(const std::vector<double>& bound, std::size_t width, const char* name) {
  if (!bound.empty() && bound.size() != width)
    throw BadInput(text("%s has %zu numbers and the plan has width %zu; give one number, or one for each column", name, bound.size(), width));
  for (const double value : bound)
    if (std::isnan(value)) throw BadInput(text("%s must not be nan", name));
}

const Trajectory& present(const std::shared_ptr<const Trajectory>& plan) {
  if (plan == nullptr) throw BadInput("a loop needs a plan");
  return *plan;
}

}  // namespace

Grid::Grid(Period period, Ns start_ns) : period_(period), start_ns_(start_ns) {
  if (period.whole < 0 || period.whole >= kMost || period.part < 0 || period.parts <= period.part || period.parts >= kMost ||
      period.whole < 1000)
    throw BadInput(text("a period must lie between 1 us and 146 years, not %lld ns", static_cast<long long>(period.whole)));
  const Wide numerator = Wide{period.whole} * period.parts + period.part;
  ceil_period_ = period.whole + (period.part > 0 ? 1 : 0);
  half_period_ = static_cast<Ns>(numerator / (Wide{2} * period.parts));
  // ceil(3/4 period) = -floor(-3/4 period); split so that nothing exceeds 128 bits.
  const Wide quarters = Wide{3} * numerator;
  three_quarters_period_ = static_cast<Ns>(-floor_div(-quarters, Wide{4} * period.parts));
}

Grid Grid::at(Ns start_ns) const noexcept {
  Grid moved = *this;
  moved.start_ns_ = start_ns;
  return moved;
}

Ns Grid::tick(Ns k) const noexcept {
  return static_cast<Ns>(Wide{start_ns_} + Wide{k} * period_.whole + floor_div(Wide{k} * period_.part, period_.parts));
}

Ns Grid::index(Ns t_ns) const noexcept {
  // tick(k) <= t  <=>  floor(k p) <= d  <=>  k p < d + 1  <=>  k < (d + 1) / p
  const Wide elapsed = Wide{t_ns} - start_ns_ + 1;
  const Wide numerator = Wide{period_.whole} * period_.parts + period_.part;
  return static_cast<Ns>(-floor_div(-elapsed * period_.parts, numerator) - 1);
}

Cycle::Cycle(Period period, std::shared_ptr<const Trajectory> plan, SendLimits limits, Ns lead_ns, OnLate on_late,
             std::size_t record_capacity)
    : width_(present(plan).width()),
      limits_(std::move(limits)),
      on_late_(on_late),
      newest_{std::move(plan), 0, lead_ns},
      plans_(newest_),
      grid_(period),
      target_(width_),
      last_(width_),
      records_(record_capacity, sizeof(CycleRecord)) {
  check(*newest_.path, lead_ns);
  check_bound(limits_.max_speed, width_, "max_speed");
  check_bound(limits_.lower, width_, "lower");
  check_bound(limits_.upper, width_, "upper");
  for (const double speed : limits_.max_speed)
    if (speed <= 0) throw BadInput(text("max_speed must be > 0, not %g", speed));
  if (!(limits_.max_angular_speed > 0)) throw BadInput(text("max_angular_speed must be > 0, not %g", limits_.max_angular_speed));
  if (!limits_.lower.empty() && !limits_.upper.empty())
    for (std::size_t i = 0; i < width_; ++i)
      if (limits_.lower[i] > limits_.upper[i])
        throw BadInput(text("column %zu has lower %g above upper %g", i, limits_.lower[i], limits_.upper[i]));
  restart(0);
}

void Cycle::check(const Trajectory& plan, Ns lead_ns) const {
  if (plan.width() != width_) throw BadInput(text("the plan has width %zu and the loop has width %zu", plan.width(), width_));
  if (lead_ns < 0) throw BadInput(text("the loop's lead must be >= 0, not %.3f ms", static_cast<double>(lead_ns) * 1e-6));
  if (lead_ns != 0 && plan.lead_ns() != 0)
    throw BadInput(text("the plan's knots are shifted by a lead of %.3f ms and the loop leads by %.3f ms; a lead is applied once: set one of them to 0",
                        static_cast<double>(plan.lead_ns()) * 1e-6, static_cast<double>(lead_ns) * 1e-6));
}

Ns Cycle::replace(std::shared_ptr<const Trajectory> plan) {
  const std::lock_guard lock(writers_);
  check(present(plan), newest_.lead_ns);
  newest_.path = std::move(plan);
  ++newest_.id;
  plans_.publish(newest_);
  return newest_.id;
}

void Cycle::set_lead(Ns lead_ns) {
  const std::lock_guard lock(writers_);
  check(*newest_.path, lead_ns);
  newest_.lead_ns = lead_ns;
  plans_.publish(newest_);
}

void Cycle::restart(Ns start_ns) noexcept {
  grid_ = grid_.at(start_ns);
  k_ = 0;
  frozen_ = false;
  has_last_ = false;
  stretch_left_ = 0;
  shortest_ = shortest_before_ = kUnknown;
}

void Cycle::seek(Ns deadline_ns) noexcept {
  k_ = grid_.index(deadline_ns);
  if (grid_.tick(k_) != deadline_ns) {
    grid_ = grid_.at(deadline_ns);
    k_ = 0;
  }
}

bool Cycle::begin(Ns wake_ns, Ns sent_ns) noexcept {
  plans_.take();
  const PlanCell& plan = plans_.value();
  record_ = {grid_.tick(k_), wake_ns, sent_ns, sent_ns, 0, plan.id, 0, thread_flags_};
  const bool late = lateness_ns() > grid_.half_period();
  if (late) {
    record_.flags |= kLate;
    add(late_, 1);
  }
  // Within half a period the path is followed on the grid; beyond, where it is now: a target evaluated for a deadline that is
  // long past would be a step back in time.
  reference_ns_ = late ? sent_ns : record_.deadline_ns;
  record_.t_eff_ns = reference_ns_ + plan.lead_ns;
  if (plan.id != plan_id_) {
    plan_id_ = plan.id;
    frozen_ = false;
    // One knot is a place to stay, not a plan that ended.
    stale_ = plan.path->start_ns() < plan.path->end_ns() && record_.t_eff_ns > plan.path->end_ns();
  }
  if (late && on_late_ == OnLate::stop) {
    add(missed_, static_cast<std::uint64_t>(grid_.index(sent_ns) - k_ + 1));
    return false;
  }
  if (late && on_late_ == OnLate::hold) frozen_ = true;
  evaluate(plan, reference_ns_);
  return true;
}

void Cycle::evaluate(const PlanCell& plan, Ns reference_ns) noexcept {
  if (stale_) record_.flags |= kStalePlan;
  if (frozen_ && has_last_) {
    std::copy(last_.begin(), last_.end(), target_.begin());
    record_.flags |= kHeld;
    return;
  }
  if (frozen_ || record_.t_eff_ns < plan.path->start_ns() || record_.t_eff_ns > plan.path->end_ns()) record_.flags |= kHeld;
  plan.path->at(record_.t_eff_ns, target_.data());
  limit(plan.path->kind(), reference_ns);
}

void Cycle::limit(Trajectory::Kind kind, Ns reference_ns) noexcept {
  // Never more than one period: after a stall the device still sees one step, and a step of n periods is a jump.
  const Ns elapsed = std::clamp<Ns>(reference_ns - last_reference_ns_, 0, grid_.ceil_period());
  const double dt_s = static_cast<double>(elapsed) * 1e-9;
  const bool pose = kind == Trajectory::Kind::pose;
  const bool out_of_range = keep_in_range(pose ? 3 : width_);
  const bool too_fast = has_last_ && (pose ? limit_pose(dt_s) : limit_columns(dt_s));
  if (!out_of_range && !too_fast) return;
  record_.flags |= kLimited;
  add(limited_, 1);
}

bool Cycle::keep_in_range(std::size_t columns) noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < columns; ++i) {
    double kept = target_[i];
    if (!limits_.lower.empty()) kept = std::max(kept, limits_.lower[i]);
    if (!limits_.upper.empty()) kept = std::min(kept, limits_.upper[i]);
    moved = moved || kept != target_[i];
    target_[i] = kept;
  }
  return moved;
}

bool Cycle::limit_columns(double dt_s) noexcept {
  if (limits_.max_speed.empty()) return false;
  bool moved = false;
  for (std::size_t i = 0; i < width_; ++i) {
    const double most = limits_.max_speed[i] * dt_s;
    const double step = target_[i] - last_[i];
    if (std::abs(step) <= most * kRounding + kUlp * std::abs(last_[i])) continue;
    target_[i] = last_[i] + std::copysign(most, step);
    moved = true;
  }
  return moved;
}

bool Cycle::limit_pose(double dt_s) noexcept {
  bool moved = false;
  const double x = target_[0] - last_[0], y = target_[1] - last_[1], z = target_[2] - last_[2];
  const double step = std::sqrt(x * x + y * y + z * z);
  const double most = limits_.max_speed.empty() ? step : limits_.max_speed[0] * dt_s;
  if (step > most * kRounding + kUlp * (std::abs(last_[0]) + std::abs(last_[1]) + std::abs(last_[2]))) {
    const double part = most / step;
    target_[0] = last_[0] + part * x, target_[1] = last_[1] + part * y, target_[2] = last_[2] + part * z;
    moved = true;
  }
  double* rotation = target_.data() + 3;
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

Ns Cycle::end(Ns done_ns, SendResult result) noexcept {
  record_.done_ns = done_ns;
  if (result == SendResult::sent) {
    target_.swap(last_);  // no allocation: two buffers of one width
    has_last_ = true;
    last_reference_ns_ = reference_ns_;
  } else if (result == SendResult::would_block) {
    record_.flags |= kWouldBlock;
    add(would_block_, 1);
  } else {
    record_.flags |= kDeviceError;
  }
  // The send lies somewhere in [sent, done]. How far into an undisturbed send it lies is the same every time and at most the
  // shortest duration seen, so a send that took longer may have gone out later by the excess. Counting from there keeps any
  // two sends 3/4 of a period apart even when the stall is inside the send, and a device that is always slow keeps its rate.
  const Ns sent_by = done_ns - undisturbed(done_ns - record_.sent_ns);
  const Ns next = std::max(k_ + 1, grid_.index(sent_by + grid_.three_quarters_period() - 1) + 1);
  record_.skipped = next - k_ - 1;
  if (record_.skipped > 0) {
    record_.flags |= kSkipped;
    add(missed_, static_cast<std::uint64_t>(record_.skipped));
  }
  k_ = next;
  add(cycles_, 1);
  if (std::byte* slot = records_.claim()) {
    std::memcpy(slot, &record_, sizeof record_);
    records_.publish();
  }
  return grid_.tick(k_);
}

// How long a send takes when nothing disturbs it, as far as is known; 0 when nothing is.
Ns Cycle::undisturbed(Ns duration_ns) noexcept {
  if (stretch_left_ == 0) {
    stretch_left_ = kStretch;
    shortest_before_ = shortest_;
    shortest_ = kUnknown;
  }
  --stretch_left_;
  if (duration_ns < grid_.ceil_period()) shortest_ = std::min(shortest_, duration_ns);
  const Ns shortest = std::min(shortest_, shortest_before_);
  return shortest == kUnknown ? 0 : shortest;
}

CycleCounts Cycle::counts() const noexcept {
  return {cycles_.load(std::memory_order_relaxed),  missed_.load(std::memory_order_relaxed),      late_.load(std::memory_order_relaxed),
          limited_.load(std::memory_order_relaxed), would_block_.load(std::memory_order_relaxed), records_.overflow()};
}

std::vector<CycleRecord> Cycle::drain() {
  const std::lock_guard lock(readers_);
  std::vector<CycleRecord> out(records_.readable());
  out.resize(records_.drain(reinterpret_cast<std::byte*>(out.data()), out.size()));
  return out;
}

}  // namespace onbeat
