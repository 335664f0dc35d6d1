#include "onbeat/online_shaper.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

using onbeat::JointState;
using onbeat::OnlineShaper;
using onbeat::ShaperLimits;

namespace {

template <class Call>
bool refused(Call call) {
  try {
    call();
  } catch (const onbeat::BadInput&) {
    return true;
  }
  return false;
}

// Jumps, runs, noise and rests in turn.
void wild_targets_break_no_limit(double dt_s, double speed, double acceleration, double jerk) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> each(-1, 1);
  OnlineShaper shaper({{speed, acceleration, jerk, -0.8, 0.6}, {speed, acceleration, jerk}}, dt_s);
  shaper.begin(std::vector<JointState>(2));
  double target[2] = {}, velocity[2] = {}, before[2] = {};
  int kind = 0;
  for (int k = 0; k < 60'000; ++k) {
    if (k % 50 == 0) kind = static_cast<int>(random() % 4);
    for (int joint = 0; joint < 2; ++joint) {
      if (kind == 0 && k % 50 == 0) target[joint] = 2 * each(random);
      if (kind == 1) target[joint] += dt_s * 5;
      if (kind == 2) target[joint] = 2 * each(random);
      velocity[joint] = 10 * each(random);
    }
    if (std::abs(target[0]) > 3) target[0] = target[1] = 0.0;
    CHECK(shaper.step(target, k % 7000 < 3000 ? velocity : nullptr));
    for (std::size_t joint = 0; joint < 2; ++joint) {
      const JointState& now = shaper.state(joint);
      CHECK(std::abs(now.velocity) <= speed);
      CHECK(std::abs(now.acceleration) <= acceleration);
      CHECK(std::abs(now.acceleration - before[joint]) <= jerk * dt_s);
      before[joint] = now.acceleration;
    }
    CHECK(shaper.state(0).position >= -0.8 && shaper.state(0).position <= 0.6);
  }
}

void what_is_not_finite_changes_nothing() {
  const std::vector<ShaperLimits> limits(2, {1, 10, 100});
  OnlineShaper shaper(limits, 0.004), twin(limits, 0.004);
  shaper.begin(std::vector<JointState>(2));
  twin.begin(std::vector<JointState>(2));
  const double good[] = {1.0, 1.0}, bad[] = {1.0, std::nan("")}, endless[] = {std::numeric_limits<double>::infinity(), 0.0};
  for (int k = 0; k < 50; ++k) {
    CHECK(shaper.step(good, nullptr) && twin.step(good, nullptr));
    CHECK(!shaper.step(bad, nullptr) && !shaper.step(good, endless));
  }
  for (std::size_t k = 0; k < 2; ++k) CHECK(shaper.state(k).position == twin.state(k).position);
}

void start_that_cannot_stop_is_refused() {
  OnlineShaper shaper({{1, 10, 100, -1, 1}}, 0.004);
  CHECK(refused([&] { shaper.begin({{0.0, 1.1, 0.0}}); }));
  CHECK(refused([&] { shaper.begin({{0.0, 0.9, 5.0}}); }));  // 0.9 + 5^2 / 200 is above 1
  CHECK(refused([&] { shaper.begin({{0.99, 0.9, 0.0}}); }));
  CHECK(refused([&] { shaper.begin({{0.0, std::nan(""), 0.0}}); }));
  shaper.begin({{-1.0, 0.0, 0.0}});
  shaper.begin({{0.0, 0.8, 5.0}});
}

void limits_that_are_none_are_refused() {
  CHECK(refused([] { OnlineShaper shaper({}, 0.004); }));
  CHECK(refused([] { OnlineShaper shaper({{1, 10, std::numeric_limits<double>::infinity()}}, 0.004); }));
  CHECK(refused([] { OnlineShaper shaper({{0, 10, 100}}, 0.004); }));
  CHECK(refused([] { OnlineShaper shaper({{1, 10, 100, 1, -1}}, 0.004); }));
  CHECK(refused([] { OnlineShaper shaper({{1, 10, 100}}, 0.0); }));
}

}  // namespace

int main() {
  wild_targets_break_no_limit(0.004, 3.1, 20, 400);
  wild_targets_break_no_limit(0.001, 3.1, 20, 400);
  wild_targets_break_no_limit(0.02, 3.1, 20, 4000);
  wild_targets_break_no_limit(0.004, 0.05, 500, 1e6);
  what_is_not_finite_changes_nothing();
  start_that_cannot_stop_is_refused();
  limits_that_are_none_are_refused();
}
