#include "onbeat/cycle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onbeat/errors.hpp"

namespace onbeat {

namespace {

using Wide = __int128;

constexpr Ns kMost = Ns{1} << 62;
constexpr int kStretch = 64;  // cycles after which a device that became slower is believed
constexpr Ns kUnknown = INT64_MAX;
constexpr std::size_t kTakenOver = 256;  // plans that were followed since a writer last spoke
constexpr Ns kAhead = 100'000'000;  // as far as a target may be stamped ahead
constexpr Ns kGap = 3;         // periods without a send after which the device stands at the last target

constexpr Wide floor_div(Wide a, Wide b) noexcept {  // b > 0
  const Wide quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
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
             std::size_t record_capacity, CycleOptions options)
    : width_(present(plan).width()),
      on_late_(on_late),
      options_(options),
      newest_{std::move(plan), 0, lead_ns},
      plans_(newest_),
      taken_over_(options.feedback ? kTakenOver : 1, sizeof(TakeOver)),
      grid_(period),
      limiter_(std::move(limits), width_),
      follower_(limiter_.limits(), width_, static_cast<double>(period.whole) * 1e-9 + static_cast<double>(period.part) / static_cast<double>(period.parts) * 1e-9),
      target_(width_),
      before_(width_),
      earlier_(width_),
      at_(width_),
      records_(record_capacity, sizeof(CycleRecord)) {
  check(*newest_.path, lead_ns);
  if (options_.extrapolate_ns >= 0 && !limiter_.smooth())
    throw BadInput("extrapolating beyond a plan's end needs limits.max_acceleration for the way to rest");
  if (options_.phase_ns >= grid_.ceil_period())
    throw BadInput(text("the phase must lie in [0, %.6f) ms, one period, not at %.6f ms", static_cast<double>(grid_.ceil_period()) * 1e-6,
                        static_cast<double>(options_.phase_ns) * 1e-6));
  if (!(options_.k_ff >= 0 && std::isfinite(options_.k_ff))) throw BadInput(text("k_ff must be finite and >= 0, not %g", options_.k_ff));
  if (options_.feedback) in_force_.published(0, newest_.path);
  restart(0);
}

void Cycle::place(const std::vector<double>& at) {
  if (at.size() != width_) throw BadInput(text("where the device stands has %zu numbers and the loop has width %zu", at.size(), width_));
  for (std::size_t i = 0; i < width_; ++i)
    if (!std::isfinite(at[i])) throw BadInput(text("where the device stands must be finite; column %zu is %g", i, at[i]));
  std::copy(at.begin(), at.end(), at_.begin());
  placed_ = true;
}

void Cycle::restart(Ns start_ns) noexcept {
  if (options_.phase_ns >= 0) {
    grid_ = grid_.at(options_.phase_ns);
    k_ = grid_.index(start_ns - 1) + 1;
  } else {
    grid_ = grid_.at(start_ns);
    k_ = 0;
  }
  plan_id_ = -1;
  frozen_ = false;
  last_t_eff_ns_ = INT64_MIN;
  last_reference_ns_ = grid_.tick(k_) - grid_.ceil_period();
  if (placed_)
    limiter_.place(at_.data());
  else
    limiter_.forget();
  placed_ = false;
  in_step_ = false;
  stretch_left_ = 0;
  shortest_ = shortest_before_ = kUnknown;
}

void Cycle::seek(Ns deadline_ns) noexcept {
  if (deadline_ns < grid_.tick(k_)) last_t_eff_ns_ = INT64_MIN;
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
  // long past would be a step back in time. A lead that shrinks does not turn it back either: then it stands until time catches up.
  reference_ns_ = late ? sent_ns : record_.deadline_ns;
  record_.t_eff_ns = std::max(reference_ns_ + plan.lead_ns, last_t_eff_ns_);
  if (plan.id != plan_id_) see(plan);
  if (late && on_late_ == OnLate::stop) {
    add(missed_, static_cast<std::uint64_t>(grid_.index(sent_ns) - k_ + 1));
    return false;
  }
  if (late && on_late_ == OnLate::hold) frozen_ = true;
  // Never more than one period: after a stall the device still sees one step, and a step of n periods is a jump.
  const Ns elapsed_ns = std::max<Ns>(reference_ns_ - last_reference_ns_, 0);
  const Ns period_ns = grid_.ceil_period() + (plan.beat.on() ? largest_move() : 0);
  dt_s_ = static_cast<double>(std::min(elapsed_ns, period_ns)) * 1e-9;
  if (elapsed_ns > kGap * grid_.ceil_period()) {
    limiter_.rest();
    in_step_ = false;
  }
  evaluate(plan);
  if (limiter_.keep_finite(target_.data())) {
    in_step_ = false;
    if ((record_.flags & kLimited) == 0) add(limited_, 1);
    record_.flags |= kLimited;
  }
  return true;
}

void Cycle::see(const PlanCell& plan) noexcept {
  plan_id_ = plan.id;
  seen_ns_ = reference_ns_;
  frozen_ = false;
  in_step_ = false;
  follower_.forget();
  if (options_.feedback) {
    if (std::byte* slot = taken_over_.claim()) {
      const TakeOver said{plan.id, record_.t_eff_ns};
      std::memcpy(slot, &said, sizeof said);
      taken_over_.publish();
    }
  }
  // One knot is a place to stay, not a plan that ended.
  ended_ = plan.aim == nullptr && plan.path->start_ns() < plan.path->end_ns() && record_.t_eff_ns > plan.path->end_ns();
}

void Cycle::evaluate(const PlanCell& plan) noexcept {
  const Ns fresh_ns = plan.aim == nullptr ? seen_ns_ : plan.aim->t_ns;
  const Ns age_ns = difference_ns(fresh_ns, reference_ns_);
  // A target from the future, which another clock has stamped, would be fresh for ever.
  const bool ahead = plan.aim != nullptr && age_ns < -std::max(options_.stale_ns, kAhead);
  const bool stale = options_.stale_ns >= 0 && (age_ns > options_.stale_ns || ahead);
  if (ended_ || stale) record_.flags |= kStalePlan;
  if (plan.aim != nullptr) return follow_stream(plan, stale);
  if ((frozen_ || stale) && limiter_.has_last()) return stop_moving();
  const Trajectory& path = *plan.path;
  const Ns past_end_ns = difference_ns(path.end_ns(), record_.t_eff_ns);
  const bool cut_off = past_end_ns > 0 && !ended_ && path.start_ns() < path.end_ns();  // one knot is a place to stay
  if (cut_off && options_.extrapolate_ns >= 0 && limiter_.has_last()) return extrapolate(past_end_ns);
  if (frozen_ || record_.t_eff_ns < path.start_ns() || past_end_ns > 0) record_.flags |= kHeld;
  path.at(record_.t_eff_ns, target_.data());
  bool moved = false;
  if (path.kind() == Trajectory::Kind::pose) {
    moved = limiter_.limit_pose(target_.data(), dt_s_);
  } else {
    if (limiter_.smooth()) look_back(path);
    if (plan.correction != nullptr) add_correction(plan);
    moved = limiter_.limit(target_.data(), dt_s_, before_.data(), earlier_.data());
  }
  if (!moved) return;
  record_.flags |= kLimited;
  add(limited_, 1);
}

// To the path and to where it was: it is the path that is moved, and the limits see how it moves.
void Cycle::add_correction(const PlanCell& plan) noexcept {
  const Correction& correction = *plan.correction;
  const Ns age_ns = difference_ns(correction.t_ns, record_.sent_ns);
  // One from the future, which another clock has stamped, would count for ever.
  const double part = std::clamp(2.0 - std::abs(static_cast<double>(age_ns)) / static_cast<double>(correction.good_ns), 0.0, 1.0);
  if (part == 0.0) return;
  for (std::size_t i = 0; i < width_; ++i) {
    const double moved = part * correction.values[i];
    target_[i] += moved, before_[i] += moved, earlier_[i] += moved;
  }
  record_.flags |= kCorrected;
  ages_.add(age_ns);
}

void Cycle::follow_stream(const PlanCell& plan, bool stale) noexcept {
  follower_.take(*plan.aim);
  // A stream begins from what was sent; where nothing was, from the plan before it.
  bool limited = false;
  if (!limiter_.has_last()) {
    plan.path->at(record_.t_eff_ns, target_.data());
    limited = limiter_.keep_in_range(target_.data(), width_);
    limiter_.place(target_.data());
  }
  if (frozen_ || stale || !(dt_s_ > 0)) return stop_following();
  in_step_ = in_step_ || follower_.begin(limiter_, dt_s_);
  const double lead_s = options_.k_ff * seconds(reference_ns_, record_.t_eff_ns);
  if (in_step_) {
    limited |= follower_.step(reference_ns_, lead_s, dt_s_, target_.data());
    in_step_ = limiter_.within(target_.data(), dt_s_);
    for (std::size_t i = 0; i < width_; ++i) before_[i] = follower_.speed(i) * dt_s_;
  } else {
    limited = true;
    for (std::size_t i = 0; i < width_; ++i) target_[i] = follower_.aimed(i, reference_ns_, lead_s).position, before_[i] = 0.0;
  }
  if (!in_step_) {
    // What was sent last does not fit into such a motion: the limiter brings it nearer, as if the target went on like this.
    for (std::size_t i = 0; i < width_; ++i) {
      const double step = before_[i];
      before_[i] = target_[i] - step;
      earlier_[i] = before_[i] - step;
    }
    limited |= limiter_.limit(target_.data(), dt_s_, before_.data(), earlier_.data());
  }
  if (!limited) return;
  record_.flags |= kLimited;
  add(limited_, 1);
}

// Where the path was one and two steps ago. A new plan begins now; there it is continued backwards as it goes on.
void Cycle::look_back(const Trajectory& path) noexcept {
  const Ns t_ns = record_.t_eff_ns, step_ns = static_cast<Ns>(dt_s_ * 1e9 + 0.5);
  const bool begins = t_ns >= path.start_ns() && t_ns - step_ns < path.start_ns();
  path.at(begins ? t_ns + step_ns : t_ns - step_ns, before_.data());
  if (begins)
    for (std::size_t i = 0; i < width_; ++i) before_[i] = 2.0 * target_[i] - before_[i];
  if (t_ns - 2 * step_ns >= path.start_ns())
    path.at(t_ns - 2 * step_ns, earlier_.data());
  else
    for (std::size_t i = 0; i < width_; ++i) earlier_[i] = 2.0 * before_[i] - target_[i];
}

// Down to rest from what was sent, then stay.
void Cycle::stop_moving() noexcept {
  record_.flags |= limiter_.at_rest() ? kHeld : kExtrapolated;
  if (limiter_.smooth())
    limiter_.brake(target_.data(), dt_s_);
  else
    std::copy_n(limiter_.last(), width_, target_.data());
}

// As the follower can: it has left itself room for that inside the range. Out of step with it, as the limiter can.
void Cycle::stop_following() noexcept {
  in_step_ = in_step_ && dt_s_ > 0;
  if (in_step_) {
    follower_.stop(dt_s_, target_.data());
    in_step_ = limiter_.within(target_.data(), dt_s_);
  }
  if (!in_step_) return stop_moving();
  record_.flags |= limiter_.at_rest() ? kHeld : kExtrapolated;
}

void Cycle::extrapolate(Ns past_end_ns) noexcept {
  if (past_end_ns > options_.extrapolate_ns) return stop_moving();
  record_.flags |= limiter_.at_rest() ? kHeld : kExtrapolated;
  limiter_.go_on(target_.data(), dt_s_);
}

Ns Cycle::end(Ns done_ns, SendResult result) noexcept {
  record_.done_ns = done_ns;
  in_step_ = in_step_ && result == SendResult::sent;
  if (result == SendResult::sent) {
    limiter_.sent(target_.data(), dt_s_);
    last_reference_ns_ = reference_ns_;
    last_t_eff_ns_ = record_.t_eff_ns;
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
  // Where the grid goes earlier, no deadline comes closer to this send than 3/4 of a period: centring costs none.
  const Ns closest_ns = std::min<Ns>(sent_by + grid_.three_quarters_period() - grid_.tick(k_), 0);
  const Ns move_ns = std::max(plans_.value().beat.step(grid_.tick(k_), largest_move()), closest_ns);
  grid_ = grid_.at(grid_.start_ns() + move_ns);
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
