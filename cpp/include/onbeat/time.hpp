// Instants are int64 nanoseconds on a clock that the container knows. Subtract first, then float.
#pragma once

#include <cstdint>

namespace onbeat {

using Ns = std::int64_t;

// The time from one instant to a later or equal one. Unsigned, so that it is exact for every pair: the difference of two
// int64 need not fit into an int64.
constexpr std::uint64_t elapsed_ns(Ns from, Ns to) noexcept {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

// to - from, cut at the ends of int64; for what is reported, not computed with.
constexpr Ns difference_ns(Ns from, Ns to) noexcept {
  Ns result = 0;
  if (!__builtin_sub_overflow(to, from, &result)) return result;
  return to > from ? INT64_MAX : INT64_MIN;
}

// Where t lies in [from, to], as a fraction in [0, 1]; from <= t <= to and from < to.
constexpr double fraction(Ns from, Ns t, Ns to) noexcept {
  return static_cast<double>(elapsed_ns(from, t)) / static_cast<double>(elapsed_ns(from, to));
}

constexpr double seconds(std::uint64_t ns) noexcept { return static_cast<double>(ns) * 1e-9; }

// The signed difference in milliseconds, for messages.
constexpr double milliseconds(Ns from, Ns to) noexcept {
  return from <= to ? static_cast<double>(elapsed_ns(from, to)) * 1e-6 : -(static_cast<double>(elapsed_ns(to, from)) * 1e-6);
}

}  // namespace onbeat
