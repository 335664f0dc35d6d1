// One writer, many readers, no lock: a read that a write overlapped is done again.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>

namespace onbeat {

// Who may wait: readers, while the writer is inside. The writer never waits. One thread at a time may write.
//
// What it guards must be atomics, so that there is no data race, written with release and read with acquire. Then:
//   - whoever sees a store of the writer also sees that version_ had become odd (release), and as the reader's loads cannot
//     move behind its second load of version_ (acquire), such a read is repeated;
//   - version_ becomes even with a release and is first read with an acquire: a reader that starts on an even version sees
//     all of the write that made it even.
// So two equal even versions around a read mean that no write overlapped it. There are no fences, because the thread sanitizer
// does not model them; on x86-64 all of these are plain moves, on AArch64 ldar and stlr.
class SequenceLock {
 public:
  template <class Write>
  void write(Write write) noexcept {
    const std::uint64_t version = version_.load(std::memory_order_relaxed);  // only the writer changes it
    version_.store(version + 1, std::memory_order_relaxed);                  // published by the first store of `write`
    write();
    version_.store(version + 2, std::memory_order_release);
  }

  template <class Read>
  std::invoke_result_t<Read> read(Read read) const {
    for (unsigned tries = 1;; ++tries) {
      const std::uint64_t version = version_.load(std::memory_order_acquire);
      if ((version & 1) == 0) {
        const std::invoke_result_t<Read> result = read();
        // Relaxed is enough: the acquires of `read` stand before it.
        if (version_.load(std::memory_order_relaxed) == version) return result;
      }
      // The writer may have been put aside in the middle: let it run.
      if (tries % 64 == 0) std::this_thread::yield();
    }
  }

 private:
  alignas(64) std::atomic<std::uint64_t> version_{0};
};

}  // namespace onbeat
