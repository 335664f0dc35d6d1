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

// Divided, not multiplied by 1e-9, so that 3'200'000 ns are the double nearest to 0.0032 s.
constexpr double seconds(std::uint64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }
constexpr double milliseconds(std::uint64_t ns) noexcept { return static_cast<double>(ns) / 1e6; }

// The signed time from one instant to another.
constexpr double seconds(Ns from, Ns to) noexcept { return from <= to ? seconds(elapsed_ns(from, to)) : -seconds(elapsed_ns(to, from)); }
constexpr double milliseconds(Ns from, Ns to) noexcept {
  return from <= to ? milliseconds(elapsed_ns(from, to)) : -milliseconds(elapsed_ns(to, from));
}

}  // namespace onbeat
