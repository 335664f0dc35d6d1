// A sorted ring of samples in fixed memory: instants, values and rates as columns, written by one thread and read by many.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "onbeat/interpolation.hpp"
#include "onbeat/quaternion.hpp"
#include "onbeat/sequence_lock.hpp"
#include "onbeat/time.hpp"

namespace onbeat {

// Every read that must hold together goes through `read`; each atomic is read and written in the orders that SequenceLock asks for.
class History {
 public:
  // quaternion: first column of a quaternion whose sign is kept continuous, or width when there is none.
  History(std::size_t capacity, std::size_t width, std::size_t rate_width, std::size_t quaternion)
      : capacity_(capacity),
        width_(width),
        rate_width_(rate_width),
        quaternion_(quaternion),
        times_(capacity),
        values_(capacity * width),
        rates_(capacity * rate_width) {}

  // What a read sees: index 0 is the oldest. first < capacity and size <= capacity in every version, so that even a read that
  // mixes two versions, and is thrown away, stays inside the arrays.
  struct View {
    std::size_t first;
    std::size_t size;
  };

  template <class Read>
  std::invoke_result_t<Read, View> read(Read read) const {
    return lock_.read([&] { return read(view()); });
  }

  [[nodiscard]] View view() const noexcept { return {first_.load(std::memory_order_acquire), size_.load(std::memory_order_acquire)}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] Ns time(View v, std::size_t index) const noexcept { return times_[slot(v, index)].load(std::memory_order_acquire); }

  void copy_value(View v, std::size_t index, double* to) const noexcept { copy(value(v, index), width_, to); }

  // How many samples, of at least one, are not after t. Next to `near` (the newest stamp; the next of sorted queries) two probes
  // answer; else it gallops from where t would lie if the samples were evenly spaced, which no spacing makes worse than
  // logarithmic.
  [[nodiscard]] std::size_t count_until(View v, Ns t_ns, std::size_t near) const noexcept {
    const std::size_t last = v.size - 1;
    std::size_t start = std::min(near, last);
    const bool forward = time(v, start) <= t_ns;
    if (forward && (start == last || time(v, start + 1) > t_ns)) return start + 1;
    if (!forward && (start == 0 || time(v, start - 1) <= t_ns)) return start;
    const Ns oldest_ns = time(v, 0);
    if (oldest_ns < t_ns) {
      const double share = seconds(elapsed_ns(oldest_ns, t_ns)) / seconds(elapsed_ns(oldest_ns, time(v, last)));
      start = static_cast<std::size_t>(std::min(share, 1.0) * static_cast<double>(last));
    }
    return gallop(v, t_ns, start);
  }

  // Numbers that `gather` needs for so many samples.
  [[nodiscard]] std::size_t row_size() const noexcept { return width_ + rate_width_; }

  // Copy samples [first, last), at most Stencil::kMost, into `to` and say which of them begins the bracket.
  void gather(View v, std::size_t first, std::size_t last, std::size_t before, double* to, Stencil& stencil) const noexcept {
    stencil.count = last - first;
    stencil.before = before - first;
    stencil.width = width_;
    // A stream that takes rates but was given none is not made to read them.
    const bool rates = rated_.load(std::memory_order_acquire);
    const std::size_t width = width_;  // in a register: after each atomic load a member is read again
    for (std::size_t k = 0; k < stencil.count; ++k) {
      const std::size_t at = slot(v, first + k);
      stencil.times_ns[k] = times_[at].load(std::memory_order_acquire);
      copy(values_.data() + at * width, width, to);
      stencil.rows[k] = to;
      stencil.rates[k] = nullptr;
      to += width;
      if (!rates) continue;
      copy(rates_.data() + at * rate_width_, rate_width_, to);
      if (!std::isnan(to[0])) stencil.rates[k] = to;
      to += rate_width_;
    }
  }

  // ---- the writer ----

  // Put a sample before the one at `place` of the view v, which is up to date; a full history loses its oldest. `value` may be
  // turned to the other sign. rate is null when there is none.
  void insert(View v, std::size_t place, Ns t_ns, double* value, const double* rate) noexcept {
    if (v.size == capacity_) {
      v.first = slot(v, 1);
      --place;
    } else {
      ++v.size;
    }
    lock_.write([&] {
      first_.store(v.first, std::memory_order_release);
      size_.store(v.size, std::memory_order_release);
      if (rate != nullptr) rated_.store(true, std::memory_order_release);
      for (std::size_t k = v.size - 1; k > place; --k) {
        times_[slot(v, k)].store(time(v, k - 1), std::memory_order_release);
        copy(this->value(v, k - 1), width_, this->value(v, k));
        copy(this->rate(v, k - 1), rate_width_, this->rate(v, k));
      }
      if (quaternion_ < width_) align_signs(v, place, value + quaternion_);
      times_[slot(v, place)].store(t_ns, std::memory_order_release);
      copy(value, width_, this->value(v, place));
      Number* const rates = this->rate(v, place);
      for (std::size_t k = 0; k < rate_width_; ++k)
        rates[k].store(rate != nullptr ? rate[k] : std::numeric_limits<double>::quiet_NaN(), std::memory_order_release);
    });
  }

 private:
  using Number = std::atomic<double>;
  static_assert(Number::is_always_lock_free && std::atomic<Ns>::is_always_lock_free);

  [[nodiscard]] std::size_t gallop(View v, Ns t_ns, std::size_t start) const noexcept {
    const std::size_t capacity = capacity_;
    const std::atomic<Ns>* const times = times_.data();
    const auto until = [=](std::size_t index) {
      const std::size_t raw = v.first + index;
      return times[raw < capacity ? raw : raw - capacity].load(std::memory_order_acquire) <= t_ns;
    };
    std::size_t low = 0, high = v.size;  // the answer lies in [low, high]
    if (until(start)) {
      low = start + 1;
      for (std::size_t step = 1; low + step <= v.size; step *= 2) {
        if (!until(low + step - 1)) {
          high = low + step - 1;
          break;
        }
        low += step;
      }
    } else {
      high = start;
      for (std::size_t step = 1; step <= high; step *= 2) {
        if (until(high - step)) {
          low = high - step + 1;
          break;
        }
        high -= step;
      }
    }
    // Without a branch on the data: the outcomes are random, and each wrong guess costs more than a probe.
    for (std::size_t n = high - low; n > 0;) {
      const std::size_t half = n / 2;
      const bool below = until(low + half);
      low = below ? low + half + 1 : low;
      n = below ? n - half - 1 : half;
    }
    return low;
  }

  [[nodiscard]] std::size_t slot(View v, std::size_t index) const noexcept {
    const std::size_t raw = v.first + index;
    return raw < capacity_ ? raw : raw - capacity_;
  }
  [[nodiscard]] const Number* value(View v, std::size_t index) const noexcept { return values_.data() + slot(v, index) * width_; }
  [[nodiscard]] Number* value(View v, std::size_t index) noexcept { return values_.data() + slot(v, index) * width_; }
  [[nodiscard]] const Number* rate(View v, std::size_t index) const noexcept { return rates_.data() + slot(v, index) * rate_width_; }
  [[nodiscard]] Number* rate(View v, std::size_t index) noexcept { return rates_.data() + slot(v, index) * rate_width_; }

  static void copy(const Number* from, std::size_t n, double* to) noexcept {
    for (std::size_t k = 0; k < n; ++k) to[k] = from[k].load(std::memory_order_acquire);
  }
  static void copy(const double* from, std::size_t n, Number* to) noexcept {
    for (std::size_t k = 0; k < n; ++k) to[k].store(from[k], std::memory_order_release);
  }
  static void copy(const Number* from, std::size_t n, Number* to) noexcept {
    for (std::size_t k = 0; k < n; ++k) to[k].store(from[k].load(std::memory_order_relaxed), std::memory_order_release);
  }

  // The sign of each quaternion follows its predecessor's, so that no interpolated value jumps to the other sign.
  void align_signs(View v, std::size_t place, double* q) noexcept {
    if (place > 0) quaternion::align_sign(rotation(v, place - 1).data(), q);
    if (place + 1 == v.size || quaternion::dot(q, rotation(v, place + 1).data()) >= 0.0) return;
    if (place == 0) {
      quaternion::negate(q);
      return;
    }
    for (std::size_t k = place + 1; k < v.size; ++k)
      for (std::size_t c = quaternion_; c < quaternion_ + 4; ++c) {
        Number& x = value(v, k)[c];
        x.store(-x.load(std::memory_order_relaxed), std::memory_order_release);
      }
  }

  [[nodiscard]] std::array<double, 4> rotation(View v, std::size_t index) const noexcept {
    std::array<double, 4> q{};
    copy(value(v, index) + quaternion_, 4, q.data());
    return q;
  }

  const std::size_t capacity_, width_, rate_width_, quaternion_;
  std::vector<std::atomic<Ns>> times_;
  std::vector<Number> values_;
  std::vector<Number> rates_;  // NaN where none was given
  SequenceLock lock_;
  std::atomic<std::size_t> first_{0};
  std::atomic<std::size_t> size_{0};
  std::atomic<bool> rated_{false};  // whether any sample came with a rate
};

}  // namespace onbeat
