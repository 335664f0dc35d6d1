#include "check.hpp"
#include "onbeat/time.hpp"

using namespace onbeat;

int main() {
  // The whole of the time line, where a difference does not fit into an int64.
  static_assert(elapsed_ns(INT64_MIN, INT64_MAX) == UINT64_MAX);
  static_assert(difference_ns(INT64_MIN, INT64_MAX) == INT64_MAX);
  static_assert(difference_ns(INT64_MAX, INT64_MIN) == INT64_MIN);
  static_assert(difference_ns(7, 3) == -4);
  // Subtract first: at the epoch a nanosecond is below the resolution of a double.
  constexpr Ns epoch = 1'700'000'000'000'000'000;
  static_assert(fraction(epoch, epoch + 1, epoch + 4) == 0.25);
  CHECK(milliseconds(epoch, epoch + 3'200'000) == 3.2);
  CHECK(milliseconds(epoch, epoch - 1'500'000) == -1.5);
  CHECK(fraction(INT64_MIN, 0, INT64_MAX) == 0.5);
}
