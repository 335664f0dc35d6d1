#include "onbeat/splice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onbeat/errors.hpp"
#include "onbeat/quaternion.hpp"

namespace onbeat {

namespace {

constexpr std::size_t kPosition = 3;

Ns sum(Ns a, Ns b, const char* what) {
  Ns result = 0;
  if (__builtin_add_overflow(a, b, &result)) throw BadInput(text("%s does not fit into 64 bits of nanoseconds (292 years)", what));
  return result;
}

// The path being made: knots as columns.
struct Knots {
  std::vector<Ns> times_ns;
  std::vector<double> targets;
  std::vector<Ns> due_ns;

  void add(Ns t_ns, const double* target, std::size_t width, Ns due) {
    times_ns.push_back(t_ns);
    targets.insert(targets.end(), target, target + width);
    due_ns.push_back(due);
  }
};

class Splicer {
 public:
  Splicer(const Trajectory& plan, Waypoints waypoints, const MoveLimits& limits, const SpliceOptions& options)
      : plan_(plan), limits_(limits), options_(options), width_(plan.width()), n_(waypoints.size()) {
    result_.fates.waypoints = std::move(waypoints);
  }

  Splice run() {
    check();
    take_off_lead();
    if (outside()) return std::move(result_);
    find_front();
    drop_what_is_late();
    if (next_ == n_ && (!again() || last_held_ + 1 == plan_.size())) return std::move(result_);
    keep_head();
    arrive();
    list_lost_tail();
    result_.plan = std::make_shared<const Trajectory>(std::move(knots_.times_ns), std::move(knots_.targets), width_, plan_.kind(),
                                                      options_.lead_ns, std::move(knots_.due_ns));
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool pose() const noexcept { return plan_.kind() == Trajectory::Kind::pose; }
  [[nodiscard]] const Waypoints& given() const noexcept { return result_.fates.waypoints; }
  [[nodiscard]] const double* target(std::size_t row) const noexcept { return targets_.data() + row * width_; }
  [[nodiscard]] Ns time(std::size_t knot) const noexcept { return plan_.times_ns()[knot]; }
  [[nodiscard]] Ns due(std::size_t knot) const noexcept { return plan_.due_ns()[knot]; }
  [[nodiscard]] bool again() const noexcept { return held_begin_ < held_end_; }

  void check() {
    const Waypoints& rows = given();
    if (n_ == 0) throw BadInput("there are no waypoints to schedule");
    if (rows.width != width_) throw BadInput(text("the waypoints have width %zu, the plan has width %zu", rows.width, width_));
    if (options_.lead_ns < 0) throw BadInput(text("lead_ns must be >= 0, not %lld", static_cast<long long>(options_.lead_ns)));
    limits_.check(width_, plan_.kind());
    for (std::size_t i = 0; i < rows.targets.size(); ++i)
      if (!std::isfinite(rows.targets[i]))
        throw BadInput(text("waypoint %zu has %s in column %zu; every target must be finite", i / width_,
                            std::isnan(rows.targets[i]) ? "nan" : rows.targets[i] > 0 ? "inf" : "-inf", i % width_));
    for (std::size_t k = 1; k < n_; ++k)
      if (rows.t_ns[k] <= rows.t_ns[k - 1])
        throw BadInput(text("waypoint %zu is due %.3f ms before or at waypoint %zu; sort by time", k,
                            milliseconds(rows.t_ns[k], rows.t_ns[k - 1]), k - 1));
    targets_ = rows.targets;
    if (pose()) normalise();
  }

  void normalise() {
    for (std::size_t k = 0; k < n_; ++k) {
      double* q = targets_.data() + k * width_ + kPosition;
      if (!quaternion::is_unit(q))
        throw BadInput(text("waypoint %zu has a quaternion of norm %.4f; quat_wxyz must have norm 1 within 0.01", k, quaternion::norm(q)));
      quaternion::normalise(q);
    }
  }

  void take_off_lead() {
    Fates& fates = result_.fates;
    fates.codes.assign(n_, Fate::kept);
    fates.by_ns.assign(n_, 0);
    fates.due_ns.resize(n_);
    for (std::size_t k = 0; k < n_; ++k) fates.due_ns[k] = sum(given().t_ns[k], -options_.lead_ns, "a waypoint less its lead");
  }

  bool outside() {
    for (std::size_t k = 0; k < n_ && !result_.outside; ++k) result_.outside = limits_.outside(target(k), width_, plan_.kind());
    return result_.outside;
  }

  // Find the first row that can still be used, and the rows that the plan holds already: those are not new, their knots stay.
  void find_front() {
    const auto& due_ns = result_.fates.due_ns;
    const auto in_time = std::upper_bound(due_ns.begin(), due_ns.end(), options_.now_ns) - due_ns.begin();
    const auto& t_ns = given().t_ns;
    const auto wanted = std::lower_bound(t_ns.begin(), t_ns.end(), options_.first_usable_ns) - t_ns.begin();
    first_ = static_cast<std::size_t>(std::max(in_time, wanted));
    const auto& times_ns = plan_.times_ns();
    pending_ = static_cast<std::size_t>(std::upper_bound(times_ns.begin(), times_ns.end(), options_.now_ns) - times_ns.begin());

    std::size_t knot = pending_;
    for (std::size_t row = 0; row <= first_ && row < n_; ++row) {
      while (knot < plan_.size() && due(knot) < due_ns[row]) ++knot;
      if (knot == plan_.size()) return;
      if (due(knot) == due_ns[row] && same(row, knot)) return hold_from(row, knot);
    }
  }

  void hold_from(std::size_t row, std::size_t knot) {
    const auto& due_ns = result_.fates.due_ns;
    held_begin_ = row;
    for (;; ++row) {
      settle(row, time(knot), Fate::kept);
      held_end_ = row + 1;
      last_held_ = knot;
      if (held_end_ == n_) return;
      if (knot + 1 < plan_.size() && due(knot + 1) == due_ns[row + 1] && same(row + 1, knot + 1))
        ++knot;
      else if (!(time(knot) >= due_ns[row + 1] && same(row + 1, knot)))  // one pose twice, reached late: one knot says it
        return;
    }
  }

  void drop_what_is_late() {
    Fates& fates = result_.fates;
    next_ = std::max(first_, held_end_);
    for (std::size_t k = 0; k < first_; ++k) {
      if (again() && k >= held_begin_ && k < held_end_) continue;
      fates.codes[k] = Fate::dropped;
      fates.by_ns[k] = std::max(Ns{0}, difference_ns(fates.due_ns[k], options_.now_ns));
    }
    if (options_.clamp_ns == 0 || again() || first_ == 0 || given().t_ns[first_ - 1] < options_.first_usable_ns) return;
    next_ = first_ - 1;
    fates.codes[next_] = Fate::late;
    clamped_ns_ = sum(options_.now_ns, options_.clamp_ns, "the instant of a clamped waypoint");
    if (first_ == n_) return;
    const auto half_ns = static_cast<Ns>(elapsed_ns(options_.now_ns, fates.due_ns[first_]) / 2);
    clamped_ns_ = std::min(clamped_ns_, options_.now_ns + std::max(Ns{1}, half_ns));
  }

  [[nodiscard]] Ns wanted(std::size_t row) const noexcept {
    return result_.fates.codes[row] == Fate::late ? clamped_ns_ : result_.fates.due_ns[row];
  }

  // What is kept of the plan: where it is now, and its knots up to the last one that is held, or before the first new waypoint.
  void keep_head() {
    here_.resize(width_);
    plan_.at(options_.now_ns, here_.data());
    knots_.add(options_.now_ns, here_.data(), width_, options_.now_ns);
    for (kept_ = pending_; kept_ < plan_.size(); ++kept_) {
      if (again() ? kept_ > last_held_ : time(kept_) >= wanted(next_)) break;
      plan_.at(time(kept_), here_.data());
      knots_.add(time(kept_), here_.data(), width_, due(kept_));
    }
  }

  // Reach each new row no earlier than wanted and no faster than the limits allow, from the last kept knot on.
  void arrive() {
    const Ns base_ns = knots_.times_ns.back();
    const Ns base_due_ns = again() ? knots_.due_ns.back() : base_ns;
    const std::vector<Ns> shortest = shortest_moves();
    const double factor = options_.scale ? scale_factor(shortest, base_due_ns) : 1.0;
    for (std::size_t k = next_; k < n_; ++k) {
      const Ns before_ns = knots_.times_ns.back();
      Ns arrival_ns = std::max(wanted(k), sum(before_ns, shortest[k - next_], "an arrival"));
      if (factor > 1.0) {
        const double scaled = static_cast<double>(elapsed_ns(base_due_ns, wanted(k))) * factor;
        arrival_ns = std::max(arrival_ns, sum(base_ns, MoveLimits::rounded_up(scaled), "an arrival"));
      }
      settle(k, arrival_ns, result_.fates.codes[k]);
      result_.stretched |= arrival_ns > wanted(k);
      // One pose twice, reached late: one knot says it.
      if (arrival_ns > before_ns) knots_.add(arrival_ns, target(k), width_, result_.fates.due_ns[k]);
    }
  }

  // The move to each new row; also turns each quaternion to the sign of the one before it.
  std::vector<Ns> shortest_moves() {
    std::vector<Ns> shortest(n_ - next_);
    const double* from = knots_.targets.data() + knots_.targets.size() - width_;
    for (std::size_t k = next_; k < n_; ++k) {
      double* to = targets_.data() + k * width_;
      if (pose()) quaternion::align_sign(from + kPosition, to + kPosition);
      const bool moves = !std::equal(from, from + width_, to);
      shortest[k - next_] = std::max(limits_.shortest_ns(from, to, width_, plan_.kind()), Ns{moves ? 1 : 0});
      from = to;
    }
    return shortest;
  }

  [[nodiscard]] double scale_factor(const std::vector<Ns>& shortest, Ns before_ns) const noexcept {
    double factor = 1.0;
    for (std::size_t k = next_; k < n_; ++k) {
      factor = std::max(factor, static_cast<double>(shortest[k - next_]) / static_cast<double>(elapsed_ns(before_ns, wanted(k))));
      before_ns = wanted(k);
    }
    return factor;
  }

  void settle(std::size_t row, Ns arrival_ns, Fate fate) {
    Fates& fates = result_.fates;
    fates.by_ns[row] = difference_ns(fates.due_ns[row], arrival_ns);
    fates.codes[row] = fate == Fate::kept && fates.by_ns[row] > 0 ? Fate::stretched : fate;
  }

  void list_lost_tail() {
    Fates& tail = result_.tail;
    tail.waypoints.width = width_;
    const Fates& fates = result_.fates;
    std::size_t asked = next_, arrived = next_;
    for (std::size_t knot = kept_; knot < plan_.size(); ++knot) {
      while (asked < n_ && fates.due_ns[asked] < due(knot)) ++asked;
      if (asked < n_ && fates.due_ns[asked] == due(knot) && same(asked, knot)) continue;
      while (arrived < n_ && fates.due_ns[arrived] + fates.by_ns[arrived] < time(knot)) ++arrived;
      if (arrived < n_ && fates.due_ns[arrived] + fates.by_ns[arrived] == time(knot) && same(arrived, knot)) continue;
      tail.waypoints.t_ns.push_back(sum(time(knot), plan_.lead_ns(), "a knot and its lead"));
      const double* values = plan_.targets().data() + knot * width_;
      tail.waypoints.targets.insert(tail.waypoints.targets.end(), values, values + width_);
      tail.codes.push_back(Fate::dropped);
      tail.by_ns.push_back(0);
      tail.due_ns.push_back(time(knot));
    }
  }

  // Whether a knot of the plan goes to a row's target: to the bit, of rotations to what normalising twice may change.
  [[nodiscard]] bool same(std::size_t row, std::size_t knot) const noexcept {
    const double* a = target(row);
    const double* b = plan_.targets().data() + knot * width_;
    if (!std::equal(a, a + (pose() ? kPosition : width_), b)) return false;
    if (!pose()) return true;
    double q[4] = {b[3], b[4], b[5], b[6]};
    quaternion::normalise(q);
    const quaternion::Chords chords(a + kPosition, q);
    return std::min(chords.minus, chords.plus) < 1e-28;
  }

  const Trajectory& plan_;
  const MoveLimits& limits_;
  const SpliceOptions& options_;
  const std::size_t width_, n_;
  std::vector<double> targets_;  // of poses: unit, and in one sign from the plan on
  std::vector<double> here_;
  Knots knots_;
  std::size_t first_ = 0;                    // the first row that can still be used
  std::size_t pending_ = 0;                  // the first knot after now
  std::size_t held_begin_ = 0, held_end_ = 0;  // the rows that the plan holds already
  std::size_t last_held_ = 0;                // the knot of the last of them
  std::size_t next_ = 0;                     // the first new row
  std::size_t kept_ = 0;                     // the first knot after now that is not kept
  Ns clamped_ns_ = 0;
  Splice result_;
};

}  // namespace

std::vector<Ns> chunk_instants(Ns anchor_ns, Ns step_ns, Ns first_step, std::size_t n) {
  std::vector<Ns> t_ns(n);
  for (std::size_t k = 0; k < n; ++k) {
    Ns steps = 0, after_ns = 0;
    if (__builtin_add_overflow(first_step, static_cast<Ns>(k), &steps) || __builtin_mul_overflow(steps, step_ns, &after_ns) ||
        __builtin_add_overflow(anchor_ns, after_ns, &t_ns[k]))
      throw BadInput(text("row %zu of the chunk does not fit into 64 bits of nanoseconds (292 years)", k));
  }
  return t_ns;
}

Splice splice(const Trajectory& plan, Waypoints waypoints, const MoveLimits& limits, const SpliceOptions& options) {
  return Splicer(plan, std::move(waypoints), limits, options).run();
}

}  // namespace onbeat
