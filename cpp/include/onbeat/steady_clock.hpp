// A reference's time, read from our clock through a line that is bent, never broken: it does not go back, and its rate stays near 1.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "onbeat/sequence_lock.hpp"
#include "onbeat/time.hpp"

namespace onbeat {

// One thread updates, any number read. An update inside an epoch bends the line: the reading goes on from where it is and closes
// the rest within a second, or at the greatest rate. A new epoch jumps forward at once; backward it is closed at the greatest
// rate too, because a reading never goes back.
class SteadyClock {
 public:
  static constexpr double kMostRate = 500e-6;  // of our clock
  static constexpr double kCloseIn = 1e9;      // ns

  [[nodiscard]] bool set() const noexcept { return set_.load(std::memory_order_acquire); }

  // Follow the reference: at our instant `now` it reads now + offset, and gains `skew` per unit of our time.
  void update(Ns now, Ns offset, double skew, bool new_epoch) noexcept {
    const Ns target = now + offset;
    Ns value = target;
    if (set()) {
      const Ns here = std::max(at(now), last_.load(std::memory_order_relaxed));
      if (!new_epoch || here > target) value = here;
    }
    const double rest = static_cast<double>(difference_ns(value, target));
    const double first = std::clamp(skew + rest / kCloseIn, -kMostRate, kMostRate);
    const double closing = first - skew;
    const double until = rest == 0.0 || closing * rest <= 0.0 ? 0.0 : std::min(rest / closing, 9e17);
    lock_.write([&] {
      from_.store(now, std::memory_order_release);
      value_.store(value, std::memory_order_release);
      first_.store(first, std::memory_order_release);
      skew_.store(std::clamp(skew, -kMostRate, kMostRate), std::memory_order_release);
      until_.store(until, std::memory_order_release);
    });
    set_.store(true, std::memory_order_release);
  }

  // What the reference reads at our instant, by the line as it stands.
  [[nodiscard]] Ns at(Ns now) const noexcept {
    return lock_.read([&] {
      const Ns from = from_.load(std::memory_order_acquire), value = value_.load(std::memory_order_acquire);
      const double first = first_.load(std::memory_order_acquire), skew = skew_.load(std::memory_order_acquire);
      const double until = until_.load(std::memory_order_acquire);
      const double since = static_cast<double>(now - from), bent = std::clamp(since, 0.0, until);
      return value + (now - from) + static_cast<Ns>(std::llround(bent * first + (since - bent) * skew));
    });
  }

  // The same, and never less than anybody was told before: an update may fall between a reader's look at our clock and its answer.
  [[nodiscard]] Ns read(Ns now) noexcept {
    const Ns value = at(now);
    Ns last = last_.load(std::memory_order_relaxed);
    while (last < value && !last_.compare_exchange_weak(last, value, std::memory_order_relaxed)) {
    }
    return std::max(last, value);
  }

 private:
  SequenceLock lock_;
  std::atomic<Ns> from_{0}, value_{0};
  std::atomic<double> first_{0.0}, skew_{0.0}, until_{0.0};
  std::atomic<bool> set_{false};
  std::atomic<Ns> last_{INT64_MIN};
};

}  // namespace onbeat
