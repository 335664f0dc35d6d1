#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "onbeat/splice.hpp"

using onbeat::Fate;
using onbeat::MoveLimits;
using onbeat::Ns;
using onbeat::Splice;
using onbeat::SpliceOptions;
using onbeat::Trajectory;
using onbeat::Waypoints;

namespace {

constexpr Ns kMs = 1'000'000;

Waypoints way(std::vector<Ns> times_ms, std::vector<double> targets) {
  for (Ns& t : times_ms) t *= kMs;
  return {std::move(times_ms), std::move(targets), 1};
}

SpliceOptions at(Ns now_ms) {
  SpliceOptions options;
  options.now_ns = now_ms * kMs;
  return options;
}

void late_prefix_is_dropped_and_the_plan_begins_now() {
  const Splice result = splice(Trajectory({0}, {0.0}, 1), way({40, 90, 150}, {1, 2, 3}), {}, at(100));
  CHECK((result.plan->times_ns() == std::vector<Ns>{100 * kMs, 150 * kMs}));
  CHECK((result.fates.codes == std::vector{Fate::dropped, Fate::dropped, Fate::kept}));
  CHECK((result.fates.by_ns == std::vector<Ns>{60 * kMs, 10 * kMs, 0}));
}

void stretched_corner_survives_being_sent_again() {
  const MoveLimits limits({4.0}, {}, {});
  const Waypoints rows = way({200, 300}, {1.0, 0.9});
  const Splice first = splice(Trajectory({100 * kMs}, {0.0}, 1), rows, limits, at(100));
  CHECK((first.plan->times_ns() == std::vector<Ns>{100 * kMs, 350 * kMs, 375 * kMs}));
  CHECK((first.plan->due_ns() == std::vector<Ns>{100 * kMs, 200 * kMs, 300 * kMs}));
  for (const Ns now_ms : {101, 250, 340, 360}) CHECK(!splice(*first.plan, rows, limits, at(now_ms)).plan);
}

void lost_knots_are_listed() {
  const Trajectory old({0, 200 * kMs, 300 * kMs}, {0.0, 5.0, 6.0}, 1, Trajectory::Kind::linear, 10 * kMs);
  const Splice result = splice(old, way({250, 350}, {7, 8}), {}, at(150));
  CHECK((result.tail.due_ns == std::vector<Ns>{300 * kMs}));
  CHECK((result.tail.waypoints.t_ns == std::vector<Ns>{310 * kMs}));
  CHECK((result.tail.waypoints.targets == std::vector<double>{6.0}));
}

void instants_at_the_ends_of_time_are_refused_or_exact() {
  constexpr Ns kLeast = std::numeric_limits<Ns>::min(), kMost = std::numeric_limits<Ns>::max();
  const auto refused = [](const Waypoints& rows, const SpliceOptions& options) {
    try {
      splice(Trajectory({0}, {0.0}, 1), rows, MoveLimits({1e-9}, {}, {}), options);
    } catch (const onbeat::BadInput&) {
      return true;
    }
    return false;
  };
  SpliceOptions led = at(0);
  led.lead_ns = 10;
  CHECK(refused({{kLeast + 1}, {1.0}, 1}, led));
  CHECK(refused({{kMost - 1, kMost}, {10.0, 0.0}, 1}, at(0)));
  SpliceOptions first = at(0);
  first.now_ns = kLeast;
  CHECK(splice(Trajectory({kLeast}, {0.0}, 1), {{kMost}, {1.0}, 1}, {}, first).plan->end_ns() == kMost);
  first.now_ns = kMost;
  CHECK(splice(Trajectory({0}, {0.0}, 1), {{kLeast}, {1.0}, 1}, {}, first).fates.by_ns[0] == kMost);
}

// Random plans one after another: the position never jumps, the speed holds, nothing reads or writes out of bounds.
void any_splice_is_continuous_and_within_speed() {
  std::mt19937 random(3);
  const auto below = [&random](std::uint32_t n) { return static_cast<Ns>(random() % n); };
  const MoveLimits limits({5.0}, {}, {});
  Trajectory plan({0}, {0.0}, 1);
  Ns now_ns = 0;
  Waypoints rows;
  for (int turn = 0; turn < 20'000; ++turn) {
    now_ns += below(150) * kMs;
    if (turn == 0 || below(3) > 0) {
      rows = Waypoints{{}, {}, 1};
      Ns t_ns = now_ns + (below(200) - 80) * kMs;
      for (Ns k = 0; k < 1 + below(8); ++k, t_ns += 1 + below(90) * kMs) {
        rows.t_ns.push_back(t_ns);
        rows.targets.push_back(static_cast<double>(below(5)) / 4.0);
      }
    }
    SpliceOptions options;
    options.now_ns = now_ns;
    options.lead_ns = below(50) * kMs;
    options.scale = below(2) == 0;
    const Splice result = splice(plan, rows, limits, options);
    CHECK(result.fates.size() == rows.size());
    if (!result.plan) continue;
    double before = 0.0, after = 0.0;
    plan.at(now_ns, &before);
    result.plan->at(now_ns, &after);
    CHECK(std::abs(before - after) < 1e-12);
    for (std::size_t k = 1; k < result.plan->size(); ++k) {
      const double moved = std::abs(result.plan->targets()[k] - result.plan->targets()[k - 1]);
      CHECK(moved <= 5e-9 * static_cast<double>(result.plan->times_ns()[k] - result.plan->times_ns()[k - 1]) + 1e-9);
    }
    plan = *result.plan;
  }
}

}  // namespace

int main() {
  late_prefix_is_dropped_and_the_plan_begins_now();
  stretched_corner_survives_being_sent_again();
  lost_knots_are_listed();
  instants_at_the_ends_of_time_are_refused_or_exact();
  any_splice_is_continuous_and_within_speed();
}
