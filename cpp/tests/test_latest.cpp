#include <atomic>
#include <memory>
#include <thread>

#include "check.hpp"
#include "onbeat/latest.hpp"

using onbeat::Latest;

namespace {

std::atomic<int> alive{0};
std::atomic<int> died_elsewhere{0};

// A value that knows on which thread it may die.
struct Value {
  Value(long n, std::thread::id writer) : number(n), square(n * n), home(writer) { alive.fetch_add(1); }
  ~Value() {
    alive.fetch_sub(1);
    if (std::this_thread::get_id() != home) died_elsewhere.fetch_add(1);
  }
  long number;
  long square;
  std::thread::id home;
};

using Cell = std::shared_ptr<const Value>;

Cell make(long n) { return std::make_shared<const Value>(n, std::this_thread::get_id()); }

void newest_wins_and_the_old_die_at_once() {
  Latest<Cell> latest(make(0));
  CHECK(!latest.take());
  CHECK(latest.value()->number == 0);
  for (long n = 1; n <= 5; ++n) latest.publish(make(n));
  CHECK(alive.load() == 2);  // what the reader has, and the newest
  CHECK(latest.take());
  CHECK(latest.value()->number == 5);
  CHECK(!latest.take());
  latest.publish(make(6));
  CHECK(latest.value()->number == 5);
  CHECK(alive.load() == 2);
}

void reader_sees_whole_values_that_never_go_back() {
  constexpr long kCount = 100'000;
  Latest<Cell> latest(make(0));
  std::atomic<bool> done{false};
  std::thread reader([&] {
    long last = 0;
    while (last < kCount) {
      latest.take();
      const Value& value = *latest.value();
      CHECK(value.square == value.number * value.number);
      CHECK(value.number >= last);
      if (value.number == last) std::this_thread::yield();
      last = value.number;
    }
    done.store(true);
  });
  for (long n = 1; n <= kCount; ++n) latest.publish(make(n));
  reader.join();
  CHECK(done.load());
}

}  // namespace

int main() {
  newest_wins_and_the_old_die_at_once();
  CHECK(alive.load() == 0);
  reader_sees_whole_values_that_never_go_back();
  CHECK(alive.load() == 0);
  CHECK(died_elsewhere.load() == 0);
}
