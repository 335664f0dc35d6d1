#include <atomic>
#include <thread>
#include <vector>

#include "check.hpp"
#include "onbeat/steady_clock.hpp"

using namespace onbeat;

int main() {
  {  // Inside an epoch the reading goes on from where it is, and closes the rest.
    SteadyClock clock;
    CHECK(!clock.set());
    clock.update(1000, 500, 0.0, true);
    CHECK(clock.read(1000) == 1500);
    clock.update(1'000'000'000, 500 + 100'000, 0.0, false);  // the reference is 100 us ahead of the reading
    CHECK(clock.read(1'000'000'000) == 1'000'000'500);
    CHECK(clock.read(1'500'000'000) == 1'500'050'500);
    CHECK(clock.read(2'000'000'000) == 2'000'100'500);
    CHECK(clock.read(3'000'000'000) == 3'000'100'500);  // and no further
  }
  {  // A large rest is closed at 500 ppm.
    SteadyClock clock;
    clock.update(0, 0, 0.0, true);
    clock.update(0, -10'000'000, 0.0, false);
    CHECK(clock.read(10'000'000'000) == 9'995'000'000);
    CHECK(clock.read(30'000'000'000) == 29'990'000'000);
  }
  {  // A new epoch jumps forward at once, never back.
    SteadyClock clock;
    clock.update(0, 0, 0.0, true);
    clock.update(1000, 7'000'000, 0.0, true);
    CHECK(clock.read(1000) == 7'001'000);
    clock.update(2000, 0, 0.0, true);
    CHECK(clock.read(2000) >= 7'001'000);
    CHECK(clock.read(1'000'002'000) < 1'007'002'000);
  }
  {  // Readers beside a writer never see it go back.
    SteadyClock clock;
    clock.update(0, 0, 1e-4, true);
    std::atomic<Ns> time{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> readers;
    for (int k = 0; k < 2; ++k)
      readers.emplace_back([&] {
        Ns last = 0;
        while (!done.load()) {
          const Ns value = clock.read(time.load());
          CHECK(value >= last);
          last = value;
        }
      });
    for (int k = 1; k <= 20'000; ++k) {
      time.store(k * 1000);
      clock.update(k * 1000, (k % 7) * 200 - 600, k % 2 ? 2e-4 : -2e-4, k % 501 == 0);
    }
    done.store(true);
    for (std::thread& reader : readers) reader.join();
  }
}
