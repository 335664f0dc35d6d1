#include <cmath>
#include <cstdlib>

#include "check.hpp"
#include "onbeat/clock_model.hpp"

using namespace onbeat;

namespace {

// An exchange at our time t with a server whose clock reads t + offset(t); legs in ns.
ClockNews exchange(ClockModel& model, Ns t, Ns offset, double skew, Ns out, Ns back) {
  const auto server = [&](Ns at) { return at + offset + static_cast<Ns>(std::llround(skew * static_cast<double>(at))); };
  const Ns t1 = t, t2 = server(t1 + out), t3 = server(t1 + out + 20'000), t4 = t1 + out + 20'000 + back;
  return model.add(t1, t2, t3, t4);
}

double unit(unsigned& state) { return static_cast<double>((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0; }

}  // namespace

int main() {
  constexpr Ns kSecond = 1'000'000'000;
  {  // The first exchange bounds by its round trip.
    ClockModel model(2e-4);
    CHECK(!model.known());
    CHECK(exchange(model, 0, 5'000'000, 0.0, 100'000, 300'000).kind == ClockChange::none);
    const ClockLine line = model.line();
    CHECK(line.low_ns <= 5'000'000 && 5'000'000 <= line.high_ns);
    CHECK(line.high_ns - line.low_ns < 400'200);
    CHECK(std::abs(line.offset_ns - 4'900'000) <= 100);
  }
  {  // Jitter only widens: the line lies within a microsecond, and the interval always holds the truth.
    ClockModel model(2e-4);
    unsigned state = 7;
    for (int k = 0; k < 800; ++k) {
      const Ns t = k * kSecond / 8;
      const auto jitter = [&] { return 100'000 + static_cast<Ns>(-30'000 * std::log(1.0 - unit(state))); };
      CHECK(exchange(model, t, -3'000'000, 46e-6, jitter(), jitter()).kind == ClockChange::none);
      const ClockLine line = model.line();
      const double truth = -3e6 + 46e-6 * static_cast<double>(line.anchor_ns);
      CHECK(static_cast<double>(line.low_ns) <= truth + 1 && truth - 1 <= static_cast<double>(line.high_ns));
      CHECK(static_cast<double>(line.model_low_ns) <= truth + 2000 && truth - 2000 <= static_cast<double>(line.model_high_ns));
      if (k > 200) CHECK(std::abs(static_cast<double>(line.offset_ns) - truth) < 2000);
    }
    CHECK(std::abs(model.line().skew - 46e-6) < 1e-7);
    CHECK(model.epoch() == 0);
    // A step is proven by the next exchange, with an interval for its size.
    const ClockNews news = exchange(model, 101 * kSecond, -3'000'000 + 50'000'000, 46e-6, 100'000, 100'000);
    CHECK(news.kind == ClockChange::step);
    CHECK(news.low_ns <= 50'000'000 && 50'000'000 <= news.high_ns);
    CHECK(news.high_ns - news.low_ns < 2'000'000);
    CHECK(model.epoch() == 1);
  }
}
