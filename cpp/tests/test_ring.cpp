#include <array>
#include <cstring>
#include <thread>

#include "check.hpp"
#include "onbeat/ring.hpp"

using onbeat::Ring;

namespace {

struct Slot {
  std::uint64_t number;
  std::uint64_t square;
};

bool push(Ring& ring, std::uint64_t number) {
  std::byte* memory = ring.claim();
  if (memory == nullptr) return false;
  const Slot slot{number, number * number};
  std::memcpy(memory, &slot, sizeof slot);
  ring.publish();
  return true;
}

void full_ring_refuses_the_newest_and_counts_it() {
  Ring ring(5, sizeof(Slot));
  for (std::uint64_t n = 0; n < 5; ++n) CHECK(push(ring, n));
  CHECK(!push(ring, 5));
  CHECK(!push(ring, 6));
  CHECK(ring.overflow() == 2);
  std::array<Slot, 8> out{};
  CHECK(ring.drain(reinterpret_cast<std::byte*>(out.data()), 2) == 2);
  CHECK(out[0].number == 0 && out[1].number == 1);
  CHECK(push(ring, 7) && push(ring, 8) && !push(ring, 9));
  CHECK(ring.drain(reinterpret_cast<std::byte*>(out.data()), out.size()) == 5);
  CHECK(out[2].number == 4 && out[3].number == 7 && out[4].number == 8);
  CHECK(ring.readable() == 0);
}

void reader_sees_whole_slots_in_order() {
  constexpr std::uint64_t kCount = 200'000;
  Ring ring(64, sizeof(Slot));
  std::thread writer([&ring] {
    for (std::uint64_t n = 0; n < kCount; ++n)
      while (!push(ring, n)) std::this_thread::yield();
  });
  std::array<Slot, 16> out{};
  std::uint64_t expected = 0;
  while (expected < kCount) {
    const std::size_t taken = ring.drain(reinterpret_cast<std::byte*>(out.data()), out.size());
    if (taken == 0) std::this_thread::yield();
    for (std::size_t i = 0; i < taken; ++i, ++expected) {
      CHECK(out[i].number == expected);
      CHECK(out[i].square == expected * expected);
    }
  }
  writer.join();
}

}  // namespace

int main() {
  full_ring_refuses_the_newest_and_counts_it();
  reader_sees_whole_slots_in_order();
}
