#include "near.hpp"
#include "onbeat/trajectory.hpp"

using namespace onbeat;

namespace {

bool refused(std::vector<Ns> times, std::vector<double> targets, std::size_t width, Trajectory::Kind kind = Trajectory::Kind::linear) {
  try {
    Trajectory(std::move(times), std::move(targets), width, kind);
  } catch (const BadInput&) {
    return true;
  }
  return false;
}

void test_linear() {
  const Trajectory path({0, 100, 300}, {0.0, 1.0, 1.0, 1.0, 2.0, -1.0}, 2);
  double out[2];
  path.at(25, out);
  CHECK(out[0] == 0.25 && out[1] == 1.0);
  path.at(-5, out);
  CHECK(out[0] == 0.0);
  path.at(INT64_MAX, out);
  CHECK(out[0] == 2.0 && out[1] == -1.0);
  path.velocity_at(100, out);
  CHECK_NEAR(out[0], 1.0 / 200e-9, 1e-3);
  path.velocity_at(300, out);
  CHECK(out[0] == 0.0 && out[1] == 0.0);
}

void test_pose() {
  const double h = std::sqrt(0.5);
  const Trajectory path({0, 1'000'000'000}, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -h, -h, 0, 0}, 7, Trajectory::Kind::pose);
  double pose[7], velocity[6];
  path.at(500'000'000, pose);
  CHECK_NEAR(pose[3], std::cos(std::acos(-1.0) / 8), 1e-15);
  path.velocity_at(1, velocity);
  CHECK_NEAR(velocity[3], std::acos(-1.0) / 2, 1e-12);
  CHECK(path.velocity_width() == 6);
}

void test_one_knot_and_refusals() {
  const Trajectory place({7}, {3.0}, 1);
  double out = 0.0;
  place.at(-7, &out);
  CHECK(out == 3.0);
  CHECK(refused({}, {}, 1));
  CHECK(refused({0, 0}, {1, 2}, 1));
  CHECK(refused({0}, {NAN}, 1));
  CHECK(refused({0}, {1, 2}, 1));
  CHECK(refused({0}, {0, 0, 0, 2, 0, 0, 0}, 7, Trajectory::Kind::pose));
}

}  // namespace

int main() {
  test_linear();
  test_pose();
  test_one_knot_and_refusals();
}
