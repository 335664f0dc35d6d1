// Exactness of each method on the motion that it is exact for, at random spacing.
#include <random>
#include <vector>

#include "near.hpp"
#include "onbeat/interpolation.hpp"

using namespace onbeat;

namespace {

struct Samples {
  std::vector<double> numbers = std::vector<double>(6 * 13);
  Stencil stencil;

  // n samples of a function of seconds that writes width values and, when it is asked to, rates.
  template <class F>
  Samples(std::size_t n, std::size_t before, std::size_t width, std::size_t rate_width, std::mt19937& random, F function) {
    std::uniform_int_distribution<Ns> step(2'000'000, 20'000'000);
    stencil.count = n;
    stencil.before = before;
    stencil.width = width;
    Ns t = 1'700'000'000'000'000'000;
    for (std::size_t k = 0; k < n; ++k, t += step(random)) {
      double* row = numbers.data() + k * 13;
      stencil.times_ns[k] = t;
      function(static_cast<double>(t - 1'700'000'000'000'000'000) * 1e-9, row, row + width);
      stencil.rows[k] = row;
      stencil.rates[k] = rate_width > 0 ? row + width : nullptr;
    }
  }
  [[nodiscard]] Ns instant(double u) const {
    const Ns from = stencil.times_ns[stencil.before];
    return from + static_cast<Ns>(u * static_cast<double>(stencil.times_ns[stencil.before + 1] - from));
  }
};

double seconds_of(Ns t) { return static_cast<double>(t - 1'700'000'000'000'000'000) * 1e-9; }

void cube(double t, double* value, double* rate) {
  value[0] = 1.0 + 2.0 * t - 3.0 * t * t + 40.0 * t * t * t;
  rate[0] = 2.0 - 6.0 * t + 120.0 * t * t;
}

void test_cubic_and_hermite_are_exact_on_cubes(std::mt19937& random) {
  for (const Interpolation kind : {Interpolation::cubic, Interpolation::hermite})
    for (int repeat = 0; repeat < 200; ++repeat) {
      const std::size_t n = 4 + random() % 3;
      const Samples samples(n, random() % (n - 1), 1, rate_width(kind, 1), random, cube);
      for (const double u : {0.1, 0.5, 0.9}) {
        const Ns t = samples.instant(u);
        double value = 0, expected[2], rate = 0;
        cube(seconds_of(t), expected, expected + 1);
        interpolate(kind, samples.stencil, t, &value);
        interpolate_rate(kind, samples.stencil, t, &rate);
        CHECK_NEAR(value, expected[0], 1e-12);
        CHECK_NEAR(rate, expected[1], 1e-9);
      }
    }
}

// A steady screw: constant body rate and constant velocity.
void test_pose_is_exact_on_a_steady_turn(std::mt19937& random) {
  const double omega[3] = {3.0, -4.0, 12.0};  // 13 rad/s
  const auto turn = [&](double t, double* value, double* rate) {
    const double angle[3] = {omega[0] * t, omega[1] * t, omega[2] * t};
    for (int k = 0; k < 3; ++k) value[k] = k + t, rate[k] = 1.0, rate[k + 3] = omega[k];
    quaternion::exp(angle, value + 3);
  };
  for (const std::size_t rates : {0, 6})
    for (int repeat = 0; repeat < 200; ++repeat) {
      const Samples samples(4, 1, 7, rates, random, turn);
      const Ns t = samples.instant(0.37);
      double value[7], expected[13], rate[6];
      turn(seconds_of(t), expected, expected + 7);
      interpolate(Interpolation::pose, samples.stencil, t, value);
      interpolate_rate(Interpolation::pose, samples.stencil, t, rate);
      quaternion::align_sign(expected + 3, value + 3);
      for (int k = 0; k < 7; ++k) CHECK_NEAR(value[k], expected[k], 1e-13);
      for (int k = 0; k < 6; ++k) CHECK_NEAR(rate[k], expected[k + 7], 1e-9);
      const ErrorBound bound = error_bound(Interpolation::pose, samples.stencil);
      CHECK(bound.value < 1e-9 && bound.rotation < 1e-6);
    }
}

void test_jacobians_undo_each_other(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1.5, 1.5);
  for (const double scale : {1e-9, 1e-5, 1e-3, 1.0})
    for (int repeat = 0; repeat < 50; ++repeat) {
      const double rotation[3] = {scale * uniform(random), scale * uniform(random), scale * uniform(random)};
      const double omega[3] = {uniform(random), uniform(random), uniform(random)};
      double derivative[3], back[3];
      quaternion::vector_from_rate(rotation, omega, derivative);
      quaternion::rate_from_vector(rotation, derivative, back);
      for (int k = 0; k < 3; ++k) CHECK_NEAR(back[k], omega[k], 1e-10);
    }
}

}  // namespace

int main() {
  std::mt19937 random(7);
  test_cubic_and_hermite_are_exact_on_cubes(random);
  test_pose_is_exact_on_a_steady_turn(random);
  test_jacobians_undo_each_other(random);
}
