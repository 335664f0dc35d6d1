// The bounds on what is sent, and their order: range, speed, acceleration, jerk.
#include "onbeat/send_limiter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"
#include "onbeat/errors.hpp"

using namespace onbeat;

namespace {

constexpr double kDt = 0.004;

SendLimits bounds(double speed, double acceleration, double jerk) {
  SendLimits limits;
  limits.max_speed = {speed};
  limits.max_acceleration = {acceleration};
  if (jerk > 0) limits.max_jerk = {jerk};
  return limits;
}

template <class Function>
bool refused(Function&& function) {
  try {
    function();
  } catch (const BadInput&) {
    return true;
  }
  return false;
}

void step_arrives_within_its_bounds_and_without_overshoot() {
  for (const double jerk : {0.0, 400.0, 3000.0}) {
    SendLimiter limiter(bounds(3.14, 20.0, jerk), 1);
    const double start = 0.0, goal = 1.0;
    limiter.place(&start);
    double at = 0.0, speed = 0.0, acceleration = 0.0;
    for (int k = 0; k < 400; ++k) {
      double target = goal;
      limiter.limit(&target, kDt, &goal, &goal);
      const double new_speed = (target - at) / kDt, new_acceleration = (new_speed - speed) / kDt;
      CHECK(target <= goal && target >= at);
      CHECK(new_speed <= 3.14 * (1 + 1e-9) && std::abs(new_acceleration) <= 20.0 * (1 + 1e-6));
      if (jerk > 0) CHECK(std::abs(new_acceleration - acceleration) / kDt <= jerk * (1 + 1e-4));
      at = target, speed = new_speed, acceleration = new_acceleration;
      limiter.sent(&target, kDt);
    }
    CHECK(at == goal && limiter.at_rest());
  }
}

// Targets that jump about at random, every duration of a step, and ranges: no bound is ever left.
void nothing_leaves_the_bounds() {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0.0, 1.0);
  std::uniform_real_distribution<double> part(0.75, 1.0);
  for (const double jerk : {0.0, 900.0}) {
    SendLimits limits = bounds(3.0, 20.0, jerk);
    limits.lower = {-0.8};
    limits.upper = {0.9};
    SendLimiter limiter(limits, 1);
    double at = 0.0, speed = 0.0, goal = 0.0;
    limiter.place(&at);
    for (int k = 0; k < 20000; ++k) {
      if (k % 40 == 0) goal = normal(random);
      const double dt = jerk > 0 ? kDt : kDt * part(random);
      double target = goal;
      if (k / 500 % 5 == 4)
        limiter.brake(&target, dt);
      else
        limiter.limit(&target, dt, &goal, &goal);
      CHECK(target >= -0.8 && target <= 0.9);
      CHECK(std::abs(target - at) / dt <= 3.0 * (1 + 1e-9));
      CHECK(jerk == 0 || std::abs((target - at) / dt - speed) / dt <= 20.0 * (1 + 1e-4));
      speed = (target - at) / dt, at = target;
      limiter.sent(&target, dt);
    }
  }
}

void place_outside_the_range_is_left_inwards_only() {
  SendLimits limits = bounds(1.0, 10.0, 0.0);
  limits.upper = {0.5};
  SendLimiter limiter(limits, 1);
  const double outside = 0.7;
  limiter.place(&outside);
  double before = outside;
  for (int k = 0; k < 300; ++k) {
    const double goal = 2.0;
    double target = goal;
    CHECK(limiter.limit(&target, kDt, &goal, &goal));
    CHECK(target <= before);
    before = target;
    limiter.sent(&target, kDt);
  }
  CHECK(std::abs(before - 0.5) < 1e-12);
}

void one_column_may_have_no_bound() {
  SendLimits limits;
  limits.max_acceleration = {std::numeric_limits<double>::infinity(), 10.0};
  SendLimiter limiter(limits, 2);
  const std::vector<double> start{0.0, 0.0}, goal{1.0, 1.0};
  limiter.place(start.data());
  std::vector<double> target = goal;
  limiter.limit(target.data(), kDt, goal.data(), goal.data());
  CHECK(target[0] == 1.0 && target[1] > 0.0 && target[1] <= 10.0 * kDt * kDt * (1 + 1e-9));
}

void settings_are_checked() {
  CHECK(refused([] { SendLimiter(SendLimits{{}, {}, {}, 1.0, {0.0}, {}}, 1); }));
  CHECK(refused([] { SendLimiter(SendLimits{{}, {}, {}, 1.0, {1.0, 1.0}, {}}, 1); }));
  CHECK(refused([] { SendLimiter(SendLimits{{}, {}, {}, 1.0, {}, {1.0}}, 1); }));
  CHECK(refused([] { SendLimiter(SendLimits{{}, {}, {}, 1.0, {std::nan("")}, {}}, 1); }));
}

}  // namespace

int main() {
  step_arrives_within_its_bounds_and_without_overshoot();
  nothing_leaves_the_bounds();
  place_outside_the_range_is_left_inwards_only();
  one_column_may_have_no_bound();
  settings_are_checked();
}
