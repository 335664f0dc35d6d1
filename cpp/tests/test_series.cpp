// One writer and many readers of one Series: no read sees half a sample, and the answers are those of one history.
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "near.hpp"
#include "onbeat/series.hpp"

using namespace onbeat;

namespace {

void test_answers() {
  Series series({.kind = Interpolation::linear, .width = 1, .capacity = 3, .max_gap_ns = 20});
  Series::Scratch scratch;
  double out = 0.0;
  CHECK(series.at(0, &out, scratch).how == How::not_yet);
  for (const Ns t : {10, 30, 20, 40}) {
    const auto value = static_cast<double>(t);
    CHECK(series.push(t, &value) == Series::Pushed::stored);
  }
  CHECK(*series.oldest_ns() == 20 && *series.newest_ns() == 40);
  CHECK(series.at(25, &out, scratch).how == How::interpolated && out == 25.0);
  CHECK(series.at(30, &out, scratch).how == How::exact);
  CHECK(series.at(41, &out, scratch).gap_ns == 1);
  CHECK(series.at(15, &out, scratch).how == How::forgotten);
  CHECK(series.push(30, &out) == Series::Pushed::duplicate);
  CHECK(series.push(5, &out) == Series::Pushed::forgotten);
  CHECK(series.hold(1000, &out, scratch).age_ns == 960 && out == 40.0);
  const double wrong = NAN;
  CHECK(series.push(50, &wrong) == Series::Pushed::nonfinite);
  const double next = 70.0;
  CHECK(series.push(70, &next) == Series::Pushed::stored);
  CHECK(series.at(55, &out, scratch).how == How::gap);
  const Counts counts = series.counts();
  CHECK(counts.stored == 5 && counts.out_of_order == 1 && counts.overwritten == 2);
}

// Samples are (t, t, ..., t): linear interpolation at t gives t in every column, whatever was pushed meanwhile.
void test_no_read_is_torn() {
  constexpr std::size_t kWidth = 8;
  constexpr Ns kLast = 60'000;
  Series series({.kind = Interpolation::linear, .width = kWidth, .capacity = 64});
  const auto push = [&](Ns t) {
    const std::vector<double> value(kWidth, static_cast<double>(t));
    series.push(t, value.data());
  };
  for (Ns t = 0; t < 64; t += 2) push(t);

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> answers{0};
  const auto read = [&](unsigned seed) {
    std::mt19937 random(seed);
    Series::Scratch scratch;
    double out[kWidth];
    while (!stop.load(std::memory_order_relaxed)) {
      const Ns newest = *series.newest_ns();
      CHECK(*series.oldest_ns() >= 0);
      const Ns t = newest - static_cast<Ns>(random() % 70);
      const Answer answer = series.at(t, out, scratch);
      if (!answer.answered()) {
        CHECK(answer.how == How::forgotten || answer.how == How::gap);
        continue;
      }
      answers.fetch_add(1, std::memory_order_relaxed);
      for (const double x : out) CHECK_NEAR(x, static_cast<double>(t), 1e-9);
      if (series.hold(t, out, scratch).answered())
        for (const double x : out) CHECK(x == out[0]);
    }
  };
  std::vector<std::thread> readers;
  for (unsigned seed = 1; seed <= 3; ++seed) readers.emplace_back(read, seed);
  std::mt19937 random(99);
  for (Ns t = 64; t < kLast; t += 2) {
    push(t);
    if (random() % 4 == 0) push(t - 1 - 2 * static_cast<Ns>(random() % 20));  // late: between two others
    if (random() % 64 == 0) std::this_thread::yield();
  }
  while (answers.load() < 1000) std::this_thread::yield();
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
}

// Late rotations turn the signs of those after them; a reader must never see half of that.
void test_signs_are_continuous_for_every_reader() {
  constexpr double kTurn = 0.05;
  Series series({.kind = Interpolation::slerp, .width = 4, .capacity = 128});
  const auto push = [&](Ns t, double sign) {
    const double half = 0.5 * kTurn * static_cast<double>(t);
    const double q[4] = {sign * std::cos(half), sign * std::sin(half), 0.0, 0.0};
    series.push(t, q);
  };
  for (Ns t = 0; t < 128; t += 2) push(t, 1.0);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    Series::Scratch scratch;
    double q[4];
    while (!stop.load(std::memory_order_relaxed)) {
      const Ns t = *series.newest_ns() - 31;
      if (!series.at(t, q, scratch).answered()) continue;
      const double half = 0.5 * kTurn * static_cast<double>(t);
      CHECK_NEAR(std::abs(q[0] * std::cos(half) + q[1] * std::sin(half)), 1.0, 1e-12);
    }
  });
  for (Ns t = 128; t < 20'000; t += 2) {
    push(t, t % 4 == 0 ? 1.0 : -1.0);
    if (t % 6 == 0) push(t - 21, -1.0);
  }
  stop.store(true);
  reader.join();
}

}  // namespace

int main() {
  test_answers();
  test_no_read_is_torn();
  test_signs_are_continuous_for_every_reader();
}
