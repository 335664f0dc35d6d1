#include "onbeat/clock_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onbeat {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// How fast a crystal's rate may change, 1/s: from a quiet room to a fan that starts. The smallest that fits is taken.
constexpr std::array<double, 6> kAccelerations{3e-10, 1e-9, 3e-9, 1e-8, 3e-8, 1e-7};
// When no line fits all that is remembered, the rate has changed: how much of the newest is kept, seconds.
constexpr std::array<double, 9> kWindows{kInfinity, 32, 16, 8, 4, 2, 1, 0.5, 0.3};
constexpr Ns kRounded = 1;
constexpr double kOldest = 600.0;
constexpr double kFloorWindow = 8.0;
constexpr double kFloorMemory = 128.0;
// A line may come this much closer to the envelopes than the best one of the last two minutes did: a share of that room, and of
// the jitter. Measured on the scenarios of bench_clock.py; ten times more hides a warming crystal, ten times less cries wolf.
constexpr double kTightness = 0.005;
constexpr double kJitterShare = 1.0 / 64.0;
constexpr double kLegSpan = 5.0;
constexpr std::size_t kLegCount = 40;
constexpr double kLeastRise = 1e-5;
constexpr double kRiseOverJitter = 6.0;
constexpr double kRouteMoves = 0.03;  // of the rise: the shortest delays of a second, from second to second; queues move by 10 % and more
constexpr double kSettled = 1.0;  // seconds without another turn, before a changed rate is believed

Ns aged(double drift_bound, Ns from, Ns to) noexcept {
  return static_cast<Ns>(std::ceil(drift_bound * static_cast<double>(elapsed_ns(std::min(from, to), std::max(from, to)))));
}

template <class T>
void drop_front(std::vector<T>& items, std::size_t most) {
  if (items.size() > most) items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(most));
}

}  // namespace

ClockModel::ClockModel(double drift_bound) : drift_bound_(drift_bound) {
  raw_.reserve(kRaw + 1);
  buckets_.reserve(kBuckets + 1);
  floors_.reserve(kFloors + 1);
}

void ClockModel::restart() noexcept {
  known_ = lined_ = turned_ = false;
  ++epoch_;
  raw_.clear();
  buckets_.clear();
  legs_.clear();
  floors_.clear();
  jitter_ = rise_outbound_ = rise_back_ = 0.0;
}

double ClockModel::relative(Ns from, Ns to) const noexcept { return seconds(from, to); }
double ClockModel::since_start(Ns t) const noexcept { return relative(start_ns_, t); }

ClockNews ClockModel::add(Ns t1, Ns t2, Ns t3, Ns t4, Ns server_bound, Ns strayed) {
  ClockNews news;
  const Ns upper_ns = t2 - t1, lower_ns = t3 - t4;
  if (harden(t1, upper_ns + server_bound, t4, lower_ns - server_bound, strayed, news)) {
    start_ns_ = t4;
    start_offset_ns_ = lower_ns + (upper_ns - lower_ns) / 2;
    since_ = -kInfinity;
  }
  ++exchanges_;
  const Limit upper{since_start(t1), relative(start_offset_ns_, upper_ns)}, lower{since_start(t4), relative(start_offset_ns_, lower_ns)};
  if (lined_) watch_legs(upper, lower, news);
  raw_.push_back({{upper.t, upper.value - rise_outbound_}, {lower.t, lower.value + rise_back_}});
  if (raw_.size() > kRaw) {
    remember(raw_.front());
    raw_.erase(raw_.begin());
  }
  follow_jitter();
  fit(lower.t, news);
  return news;
}

// Narrow the hard interval. Returns whether everything begins anew: at the first exchange, and after a step.
bool ClockModel::harden(Ns t1, Ns upper_ns, Ns t4, Ns lower_ns, Ns strayed, ClockNews& news) {
  // A stamp is a reading rounded down: the probe may have arrived, and the reply too, a nanosecond later than it says. Without
  // delay (in simulations, on coarse counters) that decides whether two exchanges contradict each other.
  lower_ns -= kRounded;
  const Ns high = upper_ns + kRounded + aged(drift_bound_, t1, t4) + strayed;  // true at t1, carried to t4
  const bool first = !known_;
  if (!first) {
    const Ns grown = aged(drift_bound_, hard_ns_, t4) + strayed;
    const Ns old_low = low_ns_ - grown, old_high = high_ns_ + grown;
    if (std::max(old_low, lower_ns) <= std::min(old_high, high)) {
      low_ns_ = std::max(old_low, lower_ns);
      high_ns_ = std::min(old_high, high);
      hard_ns_ = t4;
      return false;
    }
    news = {ClockChange::step, t4, difference_ns(old_high, lower_ns), difference_ns(old_low, high)};
    restart();
  }
  known_ = true;
  low_ns_ = lower_ns;
  high_ns_ = high;
  hard_ns_ = t4;
  return true;
}

// A leg whose shortest delay rose has another route. While the line still rests on the old one this is seen, and taken off what
// comes: else the middle of the two envelopes would move by half of it. A clock that moved would shorten the other leg.
void ClockModel::watch_legs(const Limit& upper, const Limit& lower, ClockNews& news) {
  const double floor = floor_margin(lower.t);
  if (!(floor < kInfinity) || floors_.empty() || lower.t - floors_.front().t < 2 * kLegSpan) return;
  const double outbound = upper.value - line_at(upper.t), back = line_at(lower.t) - lower.value;
  const double tolerance = 4 * kTightness * floor + jitter_ / 16;
  // A leg that is shorter again than what was taken off, while the other is as it was: the old route is back.
  if (outbound - rise_outbound_ < floor - tolerance && rise_outbound_ > 0 && back - rise_back_ > floor - tolerance)
    rise_outbound_ = std::max(0.0, outbound - floor);
  if (back - rise_back_ < floor - tolerance && rise_back_ > 0 && outbound - rise_outbound_ > floor - tolerance)
    rise_back_ = std::max(0.0, back - floor);

  const auto second = static_cast<std::int64_t>(std::floor(lower.t));
  if (legs_.empty() || legs_.back().second != second) legs_.push_back({second, 0, kInfinity, kInfinity});
  Legs& now = legs_.back();
  ++now.count;
  now.outbound = std::min(now.outbound, outbound);
  now.back = std::min(now.back, back);
  std::size_t count = 0;
  double least_outbound = kInfinity, least_back = kInfinity, most_outbound = -kInfinity, most_back = -kInfinity;
  auto oldest = legs_.end();
  while (oldest != legs_.begin() && !(count >= kLegCount && static_cast<double>(second - oldest->second) >= kLegSpan)) {
    --oldest;
    count += oldest->count;
    least_outbound = std::min(least_outbound, oldest->outbound);
    least_back = std::min(least_back, oldest->back);
    if (oldest->count < 2) continue;  // the second that has just begun
    most_outbound = std::max(most_outbound, oldest->outbound);
    most_back = std::max(most_back, oldest->back);
  }
  const bool enough = count >= kLegCount && static_cast<double>(second - oldest->second) >= kLegSpan;
  legs_.erase(legs_.begin(), oldest);
  if (!enough) return;
  const double least = std::max({kLeastRise, 0.1 * floor, kRiseOverJitter * jitter_});
  const double more_outbound = least_outbound - floor - rise_outbound_, more_back = least_back - floor - rise_back_;
  const bool went_out = more_outbound > least && more_back < tolerance + least / 4;
  const bool came_back = more_back > least && more_outbound < tolerance + least / 4;
  if (went_out == came_back) return;
  const double more = went_out ? more_outbound : more_back;
  // A queue that stands for long has a floor too, but one that moves; what it adds is not known well enough to be taken off.
  const double moved = went_out ? most_outbound - least_outbound : most_back - least_back;
  if (moved > std::max(kLeastRise, kRouteMoves * more)) return;
  (went_out ? rise_outbound_ : rise_back_) += more;
  for (Raw& raw : raw_) {  // those of the new route got no correction yet
    if (went_out && raw.upper.value - more - line_at(raw.upper.t) > 0.9 * floor) raw.upper.value -= more;
    if (came_back && line_at(raw.lower.t) - raw.lower.value - more > 0.9 * floor) raw.lower.value += more;
  }
  legs_.clear();
  const double slack = tolerance + jitter_ / 8;
  news = {went_out ? ClockChange::delay_outbound : ClockChange::delay_return, start_ns_ + static_cast<Ns>(lower.t * 1e9),
          static_cast<Ns>((more - slack) * 1e9), static_cast<Ns>((more + slack) * 1e9)};
}

void ClockModel::remember(const Raw& raw) {
  const auto second = static_cast<std::int64_t>(std::floor(raw.lower.t));
  if (buckets_.empty() || buckets_.back().second != second) {
    buckets_.push_back({second, raw.upper, raw.lower});
    drop_front(buckets_, kBuckets);
    return;
  }
  Bucket& best = buckets_.back();
  if (raw.upper.value - skew_ * (raw.upper.t - best.upper.t) < best.upper.value) best.upper = raw.upper;
  if (raw.lower.value - skew_ * (raw.lower.t - best.lower.t) > best.lower.value) best.lower = raw.lower;
}

void ClockModel::follow_jitter() noexcept {
  std::array<double, kRaw> trips{};
  for (std::size_t k = 0; k < raw_.size(); ++k) trips[k] = raw_[k].upper.value - raw_[k].lower.value;
  if (raw_.size() < 4) return;
  const auto end = trips.begin() + static_cast<std::ptrdiff_t>(raw_.size());
  std::sort(trips.begin(), end);
  const double jitter = trips[raw_.size() / 2] - trips[0];
  jitter_ = jitter_ == 0.0 ? jitter : jitter_ + 0.05 * (jitter - jitter_);
}

// The bounds of the last `window` seconds, as ages and values.
void ClockModel::collect(double now, double window) {
  const double from = std::max(now - std::min(window, kOldest), since_);
  uppers_ = lowers_ = 0;
  const auto take = [&](const Limit& upper, const Limit& lower) {
    if (upper.t >= from) upper_[uppers_++] = {now - upper.t, upper.value};
    if (lower.t >= from) lower_[lowers_++] = {now - lower.t, lower.value};
  };
  for (const Bucket& bucket : buckets_) take(bucket.upper, bucket.lower);
  for (const Raw& raw : raw_) take(raw.upper, raw.lower);
}

// With slope `skew` the offset now lies below every upper bound carried to now, and above every lower one; what is old has slack
// for the rate to have changed.
ClockModel::Value ClockModel::envelopes(double skew, double acceleration) const noexcept {
  Value at{kInfinity, -kInfinity, 0.0};
  double upper_age = 0.0, lower_age = 0.0;
  for (std::size_t k = 0; k < uppers_; ++k) {
    const double value = upper_[k].value + upper_[k].t * (skew + 0.5 * acceleration * upper_[k].t);
    if (value < at.high) at.high = value, upper_age = upper_[k].t;
  }
  for (std::size_t k = 0; k < lowers_; ++k) {
    const double value = lower_[k].value + lower_[k].t * (skew - 0.5 * acceleration * lower_[k].t);
    if (value > at.low) at.low = value, lower_age = lower_[k].t;
  }
  at.slope = upper_age - lower_age;
  return at;
}

// The slope with the most room between the envelopes: their distance is concave and piecewise linear in it, so the tangents at
// both ends of a bracket meet above the maximum (Kelley's cutting planes); a few steps end exactly at a corner.
ClockModel::Solution ClockModel::widest(double acceleration) const noexcept {
  if (uppers_ == 0 || lowers_ == 0) return {};
  struct Side {
    double skew, room, slope;
  };
  const auto look = [&](double skew) {
    const Value at = envelopes(skew, acceleration);
    return Side{skew, at.high - at.low, at.slope};
  };
  double step = lined_ ? 2e-7 : drift_bound_;  // the last slope is nearly right
  const double middle = lined_ ? skew_ : 0.0;
  Side left = look(std::max(-drift_bound_, middle - step)), right = look(std::min(drift_bound_, middle + step));
  for (double width = step; left.slope <= 0 && left.skew > -drift_bound_; width *= 8)
    right = left, left = look(std::max(-drift_bound_, left.skew - 8 * width));
  for (double width = step; right.slope >= 0 && right.skew < drift_bound_; width *= 8)
    left = right, right = look(std::min(drift_bound_, right.skew + 8 * width));
  double best = left.slope <= 0 ? left.skew : right.slope >= 0 ? right.skew : 0.5 * (left.skew + right.skew);
  for (int k = 0; k < 40 && left.slope > 0 && right.slope < 0; ++k) {
    best = (right.room - left.room + left.slope * left.skew - right.slope * right.skew) / (left.slope - right.slope);
    if (!(best > left.skew && best < right.skew)) best = 0.5 * (left.skew + right.skew);
    const Side at = look(best);
    if (left.room + left.slope * (best - left.skew) - at.room < 1e-10 || right.skew - left.skew < 1e-13 || at.slope == 0) break;
    (at.slope > 0 ? left : right) = at;
  }
  const Value at = envelopes(best, acceleration);
  return {true, 0.5 * (at.high + at.low), best, 0.5 * (at.high - at.low)};
}

// The last slope towards `outside` at which the envelopes do not cross.
double ClockModel::edge(double inside, double outside, double acceleration) const noexcept {
  const auto room = [&](double skew) {
    const Value at = envelopes(skew, acceleration);
    return at.high - at.low;
  };
  if (room(outside) >= 0) return outside;
  for (int k = 0; k < 24; ++k) {
    const double middle = 0.5 * (inside + outside);
    (room(middle) >= 0 ? inside : outside) = middle;
  }
  return outside;
}

double ClockModel::floor_margin(double now) const noexcept {
  double least = kInfinity;
  for (const Limit& floor : floors_)
    if (floor.t >= now - kFloorMemory) least = std::min(least, floor.value);
  return least;
}

void ClockModel::remember_floor(double now, double margin) {
  const double second = std::floor(now);
  if (!floors_.empty() && floors_.back().t == second) {
    floors_.back().value = std::min(floors_.back().value, margin);
    return;
  }
  floors_.push_back({second, margin});
  drop_front(floors_, kFloors);
}

void ClockModel::fit(double now, ClockNews& news) {
  const double floor = floor_margin(now);
  const double wanted = floor < kInfinity ? floor - kTightness * floor - kJitterShare * jitter_ : -kInfinity;
  Solution best;
  double acceleration = kAccelerations.back();
  std::size_t kept = 0;
  bool enough = false;
  for (; kept < kWindows.size() && !enough; ++kept) {
    collect(now, kWindows[kept]);
    const Solution loosest = widest(kAccelerations.back());
    if (!loosest.ok) break;
    if (!best.ok || loosest.margin > best.margin) best = loosest, acceleration = kAccelerations.back();
    if (loosest.margin < wanted) continue;
    enough = true;
    best = loosest;
    acceleration = kAccelerations.back();
    for (const double candidate : kAccelerations) {
      const Solution tight = widest(candidate);
      if (tight.margin < wanted) continue;
      best = tight;
      acceleration = candidate;
      break;
    }
    break;
  }
  if (!best.ok) return;
  if (enough && kept > 0) {
    if (!turned_ || now - turned_t_ > kSettled) skew_before_low_ = line_.skew_low, skew_before_high_ = line_.skew_high;
    turned_ = lined_;
    turned_t_ = now;
    since_ = std::max(since_, now - kWindows[kept]);
    legs_.clear();
  } else if (!enough) {
    collect(now, kInfinity);  // the floor itself has sunk: a shorter route
  }
  x_ = std::clamp(best.x, relative(start_offset_ns_, low_ns_), relative(start_offset_ns_, high_ns_));
  skew_ = best.skew;
  x_t_ = now;
  lined_ = true;
  publish(acceleration);
  if (turned_) watch_rate(now, news);
  collect(now, kFloorWindow);
  if (const Solution recent = widest(kAccelerations.back()); recent.ok) remember_floor(now, recent.margin);
}

void ClockModel::publish(double acceleration) {
  line_.anchor_ns = hard_ns_;
  line_.offset_ns = start_offset_ns_ + static_cast<Ns>(std::llround(x_ * 1e9));
  line_.offset_ns = std::clamp(line_.offset_ns, low_ns_, high_ns_);
  line_.skew = skew_;
  line_.low_ns = low_ns_;
  line_.high_ns = high_ns_;
  line_.acceleration = acceleration;
  const Value here = envelopes(skew_, acceleration);
  const bool feasible = here.high >= here.low;
  line_.skew_low = feasible ? edge(skew_, -drift_bound_, acceleration) : -drift_bound_;
  line_.skew_high = feasible ? edge(skew_, drift_bound_, acceleration) : drift_bound_;
  const auto instant = [&](double value) { return start_offset_ns_ + static_cast<Ns>(std::llround(value * 1e9)); };
  // Both envelopes rise with the slope, so the corners of what is feasible hold the extremes.
  line_.model_low_ns = feasible ? std::clamp(instant(envelopes(line_.skew_low, acceleration).low), low_ns_, line_.offset_ns) : low_ns_;
  line_.model_high_ns = feasible ? std::clamp(instant(envelopes(line_.skew_high, acceleration).high), line_.offset_ns, high_ns_) : high_ns_;
}

// A rate that changed is said once the new one is proven to be another.
void ClockModel::watch_rate(double now, ClockNews& news) {
  if (now - since_ > 60.0) {
    turned_ = false;
    return;
  }
  const double low = line_.skew_low - skew_before_high_, high = line_.skew_high - skew_before_low_;
  if (now - turned_t_ < kSettled || (low <= 0 && high >= 0) || news.kind != ClockChange::none) return;
  news = {ClockChange::rate, start_ns_ + static_cast<Ns>(since_ * 1e9), static_cast<Ns>(low * 1e9), static_cast<Ns>(high * 1e9)};
  turned_ = false;
}

ClockLine ClockModel::line() const noexcept { return line_; }

}  // namespace onbeat
