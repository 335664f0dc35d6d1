// The ring as one writes it at first: an atomic head over plain samples. A reader that is overtaken by the writer reads a sample
// while it is written. Kept to show that the thread sanitizer finds this; `make native-test` fails if it does not.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>

namespace {

struct Sample {
  std::int64_t t_ns;
  double value[7];
};

class RacyRing {
 public:
  void push(std::int64_t t_ns) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    Sample& sample = samples_[head % kCapacity];
    sample.t_ns = t_ns;
    for (double& x : sample.value) x = static_cast<double>(t_ns);
    head_.store(head + 1, std::memory_order_release);
  }
  [[nodiscard]] Sample oldest() const {
    const std::size_t head = head_.load(std::memory_order_acquire);
    return samples_[head % kCapacity];  // the very one that the next push overwrites
  }

 private:
  static constexpr std::size_t kCapacity = 4;
  Sample samples_[kCapacity] = {};
  std::atomic<std::size_t> head_{0};
};

}  // namespace

int main() {
  RacyRing ring;
  std::atomic<bool> stop{false};
  long torn = 0;
  std::thread reader([&] {
    while (!stop.load()) {
      const Sample sample = ring.oldest();
      if (sample.value[0] != sample.value[6]) ++torn;
    }
  });
  for (std::int64_t t = 0; t < 200'000; ++t) ring.push(t);
  stop.store(true);
  reader.join();
  std::printf("%ld torn samples\n", torn);
}
