#include "onbeat/target_motion.hpp"

#include <cmath>

#include "check.hpp"

using onbeat::TargetMotion;

namespace {

double parabola(double t) { return 0.3 + 2 * t + 4 * t * t; }

void constant_acceleration_is_found_at_any_rate() {
  for (const int held : {1, 8}) {
    TargetMotion motion({20.0}, 0.004);
    double target = 0;
    for (int k = 0; k <= 400; ++k) {
      if (k % held == 0) target = parabola(0.004 * k);
      motion.take(&target, nullptr);
    }
    const auto now = motion.now(0);
    CHECK(std::abs(now.position - parabola(1.6)) < 1e-6);
    CHECK(std::abs(now.velocity - (2 + 8 * 1.6)) < 1e-3);
    CHECK(std::abs(now.acceleration - 8) < 1e-2);
  }
}

void held_sample_is_carried_on_and_then_stands() {
  TargetMotion motion({20.0}, 0.004);
  double target = 0;
  for (int k = 0; k <= 80; ++k) {
    if (k % 8 == 0) target = 0.004 * k;
    motion.take(&target, nullptr);
  }
  for (int k = 0; k < 5; ++k) motion.take(&target, nullptr);
  CHECK(std::abs(motion.now(0).position - (target + 0.02)) < 1e-6);
  for (int k = 0; k < 8; ++k) motion.take(&target, nullptr);
  CHECK(motion.now(0).position == target && motion.now(0).velocity == 0.0);
}

void sample_after_a_pause_is_a_new_place() {
  TargetMotion motion({20.0}, 0.004);
  double target = 0;
  for (int k = 0; k < 20; ++k) motion.take(&target, nullptr);
  target = 0.5;
  motion.take(&target, nullptr);
  CHECK(motion.now(0).position == 0.5 && motion.now(0).velocity == 0.0 && motion.now(0).acceleration == 0.0);
}

void jump_within_a_stream_is_a_new_place_that_moves_soon_again() {
  TargetMotion motion({20.0}, 0.004);
  for (int k = 0; k <= 200; ++k) {
    const double target = 0.004 * k + (k > 150 ? 0.8 : 0.0);
    motion.take(&target, nullptr);
    if (k == 151) CHECK(motion.now(0).position == target && motion.now(0).velocity == 0.0);
    if (k == 150 || k > 190) CHECK(std::abs(motion.now(0).velocity - 1.0) < 1e-2);
  }
}

void told_velocity_is_taken_as_it_is() {
  TargetMotion motion({20.0, 20.0}, 0.004);
  for (int k = 0; k <= 100; ++k) {
    const double t = 0.004 * k, target[] = {parabola(t), 1.0}, velocity[] = {2 + 8 * t, 0.0};
    motion.take(target, velocity);
  }
  CHECK(motion.now(0).velocity == 2 + 8 * 0.4);
  CHECK(std::abs(motion.now(0).acceleration - 8) < 1e-6);
  CHECK(motion.now(1).velocity == 0.0 && motion.now(1).acceleration == 0.0);
}

}  // namespace

int main() {
  constant_acceleration_is_found_at_any_rate();
  held_sample_is_carried_on_and_then_stands();
  sample_after_a_pause_is_a_new_place();
  jump_within_a_stream_is_a_new_place_that_moves_soon_again();
  told_velocity_is_taken_as_it_is();
}
