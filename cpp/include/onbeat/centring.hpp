// Keep the deadlines a margin before the device's ticks: the grid moves there in steps too small to be seen.
#pragma once

#include <algorithm>
#include <cmath>

#include "onbeat/time.hpp"

namespace onbeat {

// The instants at which to send: at_ns + k period_ns, k of either sign. A period of 0 is no beat, and moves nothing.
struct Beat {
  Ns at_ns = 0;
  double period_ns = 0.0;

  // A step is at most this part of the loop's period: the rate errs by so much while the grid moves, and a clock that differs by up to
  // so much is followed.
  static constexpr Ns kSteps = 500;

  [[nodiscard]] bool on() const noexcept { return period_ns > 0; }
  [[nodiscard]] Ns tick(double k) const noexcept { return at_ns + static_cast<Ns>(std::nearbyint(k * period_ns)); }

  // How far to move a deadline towards the nearest of these instants, in one step.
  [[nodiscard]] Ns step(Ns deadline_ns, Ns most_ns) const noexcept {
    if (!on()) return 0;
    const double k = std::nearbyint(static_cast<double>(difference_ns(at_ns, deadline_ns)) / period_ns);
    return std::clamp<Ns>(tick(k) - deadline_ns, -most_ns, most_ns);
  }
};

}  // namespace onbeat
