#include "onbeat/stream_follower.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"

using namespace onbeat;

namespace {

constexpr Ns kMs = 1'000'000;
constexpr double kPeriod = 0.004;

SendLimits limits() { return {{3.1}, {}, {}, std::numeric_limits<double>::infinity(), {20.0}, {400.0}}; }

void without_all_three_limits_it_is_not_able() {
  CHECK(StreamFollower(limits(), 1, kPeriod).able());
  SendLimits lacking = limits();
  lacking.max_jerk.clear();
  CHECK(!StreamFollower(lacking, 1, kPeriod).able());
  SendLimits endless = limits();
  endless.max_speed[0] = std::numeric_limits<double>::infinity();
  CHECK(!StreamFollower(endless, 1, kPeriod).able());
}

void a_sample_is_taken_once_and_carried_on() {
  StreamFollower follower(limits(), 1, kPeriod);
  for (Ns k = 0; k < 20; ++k) {
    const Aim aim{k * 10 * kMs, {0.01 * static_cast<double>(k)}, {1.0}};
    for (int again = 0; again < 3; ++again) follower.take(aim);
  }
  // 0.19 at 190 ms and 1 a second; at 195 ms and 20 ms ahead: 0.215.
  CHECK(std::abs(follower.aimed(0, 195 * kMs, 0.02).position - 0.215) < 1e-12);
  CHECK(follower.aimed(0, 205 * kMs, 0.0).velocity == 1.0);
  const JointState given_up = follower.aimed(0, 206 * kMs, 0.02);
  CHECK(given_up.position == 0.19 && given_up.velocity == 0.0);
}

void another_stream_has_no_past() {
  StreamFollower follower(limits(), 1, kPeriod);
  for (Ns k = 0; k < 20; ++k) follower.take({k * 4 * kMs, {0.004 * static_cast<double>(k)}, {}});
  CHECK(follower.aimed(0, 78 * kMs, 0.0).velocity > 0.5);
  follower.forget();
  follower.take({80 * kMs, {0.08}, {}});
  CHECK(follower.aimed(0, 82 * kMs, 0.0).velocity == 0.0);
}

void it_begins_as_the_last_targets_moved_and_not_where_it_could_not_stop() {
  StreamFollower follower(limits(), 1, kPeriod);
  SendLimiter sent(limits(), 1);
  double target = 0.0;
  sent.place(&target);
  for (int k = 1; k <= 100; ++k) {
    target = 1.5 * kPeriod * k;
    sent.sent(&target, kPeriod);
  }
  CHECK(follower.begin(sent, kPeriod));
  CHECK(std::abs(follower.speed(0) - 1.5) < 1e-9);
  SendLimits narrow = limits();
  narrow.lower = {-1.0};
  narrow.upper = {0.61};
  CHECK(!StreamFollower(narrow, 1, kPeriod).begin(sent, kPeriod));  // 0.6 at 1.5 a second, and 0.01 to go
}

void steps_of_any_length_keep_the_limits() {
  StreamFollower follower(limits(), 1, kPeriod);
  SendLimiter sent(limits(), 1);
  double target = 0.0, speed = 0.0;
  sent.place(&target);
  CHECK(follower.begin(sent, kPeriod));
  Ns now = 0;
  for (int k = 0; k < 5000; ++k) {
    const double dt = kPeriod * (0.75 + 0.05 * (k % 6));
    now += static_cast<Ns>(dt * 1e9);
    follower.take({now, {std::sin(0.01 * k) + (k % 500 < 250 ? 1.0 : 0.0)}, {}});
    follower.step(now, 0.0, dt, &target);
    CHECK(std::abs(follower.speed(0)) <= 3.1);
    CHECK(std::abs(follower.speed(0) - speed) <= 20.0 * dt * (1 + 1e-9));
    speed = follower.speed(0);
  }
}

}  // namespace

int main() {
  without_all_three_limits_it_is_not_able();
  a_sample_is_taken_once_and_carried_on();
  another_stream_has_no_past();
  it_begins_as_the_last_targets_moved_and_not_where_it_could_not_stop();
  steps_of_any_length_keep_the_limits();
}
