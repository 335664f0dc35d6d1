// How old something was each time it was used, as a histogram: one writer that never waits, any readers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "onbeat/time.hpp"

namespace onbeat {

// Relaxed throughout: a reader in between sees some counts sooner than others, and none that is wrong.
class Ages {
 public:
  static constexpr Ns kBin_ns = 100'000;
  static constexpr std::size_t kBins = 4096;  // 0.4 s; what is older counts as that

  void add(Ns age_ns) noexcept {
    auto& bin = bins_[static_cast<std::size_t>(std::clamp<Ns>(age_ns / kBin_ns, 0, kBins - 1))];
    bin.store(bin.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& bin : bins_) sum += bin.load(std::memory_order_relaxed);
    return sum;
  }

  // The age that this share of them does not exceed, up to a bin; 0 when there are none.
  [[nodiscard]] Ns quantile(double share) const noexcept {
    const double wanted = std::ceil(share * static_cast<double>(count()));
    double sum = 0;
    for (std::size_t k = 0; wanted > 0 && k < kBins; ++k)
      if ((sum += static_cast<double>(bins_[k].load(std::memory_order_relaxed))) >= wanted) return static_cast<Ns>(k + 1) * kBin_ns;
    return 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBins> bins_{};
};

}  // namespace onbeat
