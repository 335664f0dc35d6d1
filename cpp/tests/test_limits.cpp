#include <cmath>

#include "check.hpp"
#include "onbeat/limits.hpp"

using onbeat::MoveLimits;
using onbeat::Ns;
using Kind = onbeat::Trajectory::Kind;

namespace {

constexpr Ns kMs = 1'000'000;

template <class Call>
bool refused(Call call) {
  try {
    call();
  } catch (const onbeat::BadInput&) {
    return true;
  }
  return false;
}

void slowest_column_decides() {
  const MoveLimits limits({1.0, 2.0}, {}, {});
  const double from[] = {0.0, 0.0}, to[] = {0.5, 3.0};
  CHECK(limits.shortest_ns(from, to, 2, Kind::linear) == 1500 * kMs);
}

void pose_takes_the_longer_of_moving_and_turning() {
  const double from[] = {0, 0, 0, 1, 0, 0, 0};
  const double h = std::sqrt(0.5);
  const double to[] = {0.3, 0.4, 0, -h, 0, 0, -h};  // a quarter turn, in the other sign
  CHECK(MoveLimits({1.0}, {}, {}).shortest_ns(from, to, 7, Kind::pose) == 500 * kMs);
  const Ns turning = MoveLimits({1.0}, {}, {}, std::acos(0.0)).shortest_ns(from, to, 7, Kind::pose);
  CHECK(turning >= 1000 * kMs - 1 && turning <= 1000 * kMs + 1);
}

void range_is_of_every_column_and_of_a_pose_of_its_position() {
  const double pose[] = {0, 0, 0.2, 1, 0, 0, 0};
  CHECK(!MoveLimits({}, {-1.0}, {0.2}).outside(pose, 7, Kind::pose));
  CHECK(MoveLimits({}, {-1.0}, {0.2}).outside(pose, 7, Kind::linear));
  CHECK(MoveLimits({}, {}, {1.0, 1.0, 0.1}).outside(pose, 7, Kind::pose));
}

void what_does_not_fit_is_refused() {
  CHECK(refused([] { const MoveLimits limits({0.0}, {}, {}); }));
  CHECK(refused([] { const MoveLimits limits({}, {}, {}, std::nan("")); }));
  CHECK(refused([] { MoveLimits({1.0, 2.0}, {}, {}).check(3, Kind::linear); }));
  CHECK(refused([] { MoveLimits({1.0, 2.0, 3.0}, {}, {}).check(7, Kind::pose); }));
  CHECK(!refused([] { MoveLimits({1.0}, {0, 0, 0}, {1, 1, 1, 1, 1, 1, 1}).check(7, Kind::pose); }));
}

void no_move_is_longer_than_for_ever() {
  const double from[] = {-1e308}, to[] = {1e308};
  CHECK(MoveLimits({1e-308}, {}, {}).shortest_ns(from, to, 1, Kind::linear) == MoveLimits::kForever);
  CHECK(MoveLimits().shortest_ns(from, to, 1, Kind::linear) == 0);
}

}  // namespace

int main() {
  slowest_column_decides();
  pose_takes_the_longer_of_moving_and_turning();
  range_is_of_every_column_and_of_a_pose_of_its_position();
  what_does_not_fit_is_refused();
  no_move_is_longer_than_for_ever();
}
