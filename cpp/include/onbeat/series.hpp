// A bounded, sorted history of one signal: fixed memory, one writer, many readers, any instant.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "onbeat/errors.hpp"
#include "onbeat/interpolation.hpp"
#include "onbeat/quaternion.hpp"
#include "onbeat/time.hpp"

namespace onbeat {

enum class How : std::uint8_t { exact, interpolated, held, predicted, not_yet, forgotten, gap };

struct Answer {
  How how = How::not_yet;
  // Width of the bracket; 0 when exact. When refused: to the newest sample (not_yet), to the oldest (forgotten), or between
  // the two samples (gap); 0 when the history is empty.
  std::uint64_t gap_ns = 0;
  Ns age_ns = 0;  // the query minus the newest stamp used that is not after it; 0 when interpolated or exact
  ErrorBound bound;

  [[nodiscard]] bool answered() const noexcept { return how < How::not_yet; }
};

// Why a sample was or was not kept. out_of_order and overwritten are parts of stored; the others add up to all pushes.
struct Counts {
  std::uint64_t stored = 0, duplicate = 0, nonfinite = 0, nonunit = 0, forgotten = 0, out_of_order = 0, overwritten = 0;
};

// A lock-free ring under a sequence lock.
//
// Who may wait: readers, while the writer is inside a push (tens of nanoseconds; an out-of-order push moves the newer samples
// first). The writer never waits. One thread at a time may push; any number may read.
//
// Why it is not torn: version_ is odd while the writer is inside. Each field is an atomic, so that there is no data race, and
//   - the writer's stores inside are releases: whoever sees one of them also sees that version_ had become odd;
//   - the reader's loads inside are acquires: they cannot move behind its second load of version_;
//   - version_ becomes even with a release and is first read with an acquire: a reader that starts on an even version sees
//     all of the push that made it even.
// So two equal even versions around a read mean that no push overlapped it. There are no fences, because the thread
// sanitizer does not model them; on x86-64 all of these are plain moves, on AArch64 ldar and stlr.
class Series {
 public:
  struct Options {
    Interpolation kind = Interpolation::linear;
    std::size_t width = 1;     // 4 for slerp, 7 for pose, 1 for object (whatever stands for the object)
    std::size_t capacity = 1;  // samples kept
    std::uint64_t max_gap_ns = std::numeric_limits<std::uint64_t>::max();  // a wider bracket is a gap
    std::uint64_t tolerance_ns = 0;                                        // of object: how far the nearest may be
  };

  enum class Pushed : std::uint8_t { stored, duplicate, nonfinite, nonunit, forgotten };

  // Where a read puts its samples; keep one for many reads.
  class Scratch {
   public:
    double* reserve(std::size_t n) {
      if (n <= few_.size()) return few_.data();
      if (many_.size() < n) many_.resize(n);
      return many_.data();
    }
    std::size_t near = std::numeric_limits<std::size_t>::max();  // where the last search ended; starts at the newest

   private:
    std::array<double, 160> few_;
    std::vector<double> many_;
  };

  explicit Series(const Options& options)  // throws BadInput
      : options_(options),
        rate_size_(rate_width(options.kind, options.width)),
        times_(checked(options).capacity),
        values_(options.capacity * options.width),
        rates_(options.capacity * rate_size_),
        staged_value_(options.width),
        staged_rate_(rate_size_) {}

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] std::size_t rate_size() const noexcept { return rate_size_; }

  // ---- the writer ----

  // value: options().width numbers. rate: rate_size() numbers, or null when none was measured.
  Pushed push(Ns t_ns, const double* value, const double* rate = nullptr) noexcept {
    if (const Pushed verdict = stage(value, rate); verdict != Pushed::stored) return verdict;
    // One writer: nobody else changes what is read here, so this needs no version check.
    const View v = view();
    const bool full = v.size == options_.capacity;
    const std::size_t place = v.size == 0 ? 0 : count_until(v, t_ns, v.size);
    if (place > 0 && time(v, place - 1) == t_ns) return refuse(Pushed::duplicate);
    if (place == 0 && full) return refuse(Pushed::forgotten);
    const std::uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);  // odd: seen by whoever sees a store below
    if (rate != nullptr && rate_size_ > 0) rated_.store(true, std::memory_order_release);
    // A full history loses its oldest sample.
    if (full)
      insert(t_ns, place - 1, {slot(v, 1), v.size});
    else
      insert(t_ns, place, {v.first, v.size + 1});
    version_.store(version + 2, std::memory_order_release);
    count(counter(Pushed::stored));
    if (place < v.size) count(out_of_order_);
    if (full) count(overwritten_);
    return Pushed::stored;
  }

  // ---- the readers ----

  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  [[nodiscard]] std::optional<Ns> oldest_ns() const noexcept {
    return consistent([&]() -> std::optional<Ns> {
      const View v = view();
      return v.size == 0 ? std::nullopt : std::optional(time(v, 0));
    });
  }

  [[nodiscard]] std::optional<Ns> newest_ns() const noexcept {
    return consistent([&]() -> std::optional<Ns> {
      const View v = view();
      return v.size == 0 ? std::nullopt : std::optional(time(v, v.size - 1));
    });
  }

  // The value at an instant, or why there is none; then `out` (options().width numbers) is not written.
  Answer at(Ns t_ns, double* out, Scratch& scratch) const {
    Stencil stencil;
    const Answer answer = options_.kind == Interpolation::object ? nearest(t_ns, scratch, stencil) : look(t_ns, scratch, stencil, false);
    return finish(answer, stencil, t_ns, out);
  }

  // The newest sample that is not after the instant, however old; only an instant before all of them is refused.
  Answer hold(Ns t_ns, double* out, Scratch& scratch) const {
    Stencil stencil;
    const Answer answer = consistent([&] {
      const View v = view();
      if (v.size == 0) return Answer{};
      const std::size_t place = count_until(v, t_ns, scratch.near);
      scratch.near = place;
      if (place == 0) return Answer{How::forgotten, elapsed_ns(t_ns, time(v, 0)), 0, {}};
      gather(v, place - 1, place, place - 1, scratch, stencil);
      const std::uint64_t bracket = place < v.size ? elapsed_ns(stencil.times_ns[0], time(v, place)) : 0;
      return Answer{How::held, bracket, difference_ns(stencil.times_ns[0], t_ns), {}};
    });
    if (answer.answered()) std::copy_n(stencil.rows[0], options_.width, out);
    return answer;
  }

  // The rate at an instant: rate_size() numbers, or options().width for linear and cubic. Not for hold and object.
  Answer rate_at(Ns t_ns, double* out, Scratch& scratch) const {
    Stencil stencil;
    const Answer answer = look(t_ns, scratch, stencil, true);
    if (!answer.answered()) return answer;
    if (stencil.count == 1)
      std::copy_n(stencil.rate(0), rate_size(), out);
    else
      interpolate_rate(options_.kind, stencil, t_ns, out);
    return answer;
  }

  // How long after an instant a query for it can be answered: by as many samples as the method needs behind it, at the
  // longest of the last sixteen intervals. Nothing when fewer than two samples are there.
  [[nodiscard]] std::optional<std::uint64_t> lag_ns() const noexcept {
    if (options_.kind == Interpolation::object) return options_.tolerance_ns;
    return consistent([&]() -> std::optional<std::uint64_t> {
      const View v = view();
      if (v.size < 2) return std::nullopt;
      std::uint64_t longest = 0;
      for (std::size_t k = v.size > 17 ? v.size - 16 : 1; k < v.size; ++k) longest = std::max(longest, elapsed_ns(time(v, k - 1), time(v, k)));
      return options_.kind == Interpolation::cubic ? 2 * longest : longest;
    });
  }

  // The value of the oldest sample: what the next push overwrites when the history is full.
  [[nodiscard]] double oldest_first_column() const noexcept { return value(view(), 0)[0].load(std::memory_order_acquire); }

  [[nodiscard]] Counts counts() const noexcept {
    const auto get = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
    return {get(pushed_[0]), get(pushed_[1]), get(pushed_[2]), get(pushed_[3]), get(pushed_[4]), get(out_of_order_), get(overwritten_)};
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  using Number = std::atomic<double>;
  static_assert(Number::is_always_lock_free && std::atomic<Ns>::is_always_lock_free);

  static const Options& checked(const Options& options) {
    if (options.capacity == 0) throw BadInput("capacity must be >= 1 sample");
    if (options.width == 0) throw BadInput("width must be >= 1");
    if (options.kind == Interpolation::slerp && options.width != 4)
      throw BadInput(text("a slerp stream has width 4 (quat_wxyz), not %zu", options.width));
    if (options.kind == Interpolation::pose && options.width != 7)
      throw BadInput(text("a pose stream has width 7 (position xyz and quat_wxyz), not %zu", options.width));
    return options;
  }

  // Counters are read for reports only; nothing is ordered by them.
  static void count(Counter& counter) noexcept { counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  [[nodiscard]] std::size_t quaternion_column() const noexcept {
    if (options_.kind == Interpolation::slerp) return 0;
    return options_.kind == Interpolation::pose ? 3 : options_.width;
  }

  Counter& counter(Pushed verdict) noexcept { return pushed_[static_cast<std::size_t>(verdict)]; }

  Pushed refuse(Pushed why) noexcept {
    count(counter(why));
    return why;
  }

  // Copy a sample aside, its quaternion unit.
  Pushed stage(const double* value, const double* rate) noexcept {
    const auto finite = [](double x) { return std::isfinite(x); };
    if (!std::all_of(value, value + options_.width, finite)) return refuse(Pushed::nonfinite);
    if (rate != nullptr && !std::all_of(rate, rate + rate_size_, finite)) return refuse(Pushed::nonfinite);
    std::copy_n(value, options_.width, staged_value_.data());
    if (rate != nullptr)
      std::copy_n(rate, rate_size_, staged_rate_.data());
    else
      std::fill_n(staged_rate_.data(), rate_size_, std::numeric_limits<double>::quiet_NaN());
    if (const std::size_t column = quaternion_column(); column < options_.width) {
      double* q = staged_value_.data() + column;
      if (!quaternion::is_unit(q)) return refuse(Pushed::nonunit);
      quaternion::normalise(q);
    }
    return Pushed::stored;
  }

  // What a read sees: index 0 is the oldest. first_ < capacity and size_ <= capacity in every version, so that even a read that
  // mixes two versions, and is thrown away, stays inside the arrays.
  struct View {
    std::size_t first;
    std::size_t size;
  };
  [[nodiscard]] View view() const noexcept { return {first_.load(std::memory_order_acquire), size_.load(std::memory_order_acquire)}; }

  [[nodiscard]] std::size_t slot(View v, std::size_t index) const noexcept {
    const std::size_t raw = v.first + index;
    return raw < options_.capacity ? raw : raw - options_.capacity;
  }
  [[nodiscard]] Ns time(View v, std::size_t index) const noexcept { return times_[slot(v, index)].load(std::memory_order_acquire); }
  [[nodiscard]] const Number* value(View v, std::size_t index) const noexcept { return values_.data() + slot(v, index) * options_.width; }
  [[nodiscard]] Number* value(View v, std::size_t index) noexcept { return values_.data() + slot(v, index) * options_.width; }
  [[nodiscard]] const Number* rate(View v, std::size_t index) const noexcept { return rates_.data() + slot(v, index) * rate_size_; }
  [[nodiscard]] Number* rate(View v, std::size_t index) noexcept { return rates_.data() + slot(v, index) * rate_size_; }

  // From and to numbers or atomics; each order as the comment on the class says.
  static void copy(const Number* from, std::size_t n, double* to) noexcept {
    for (std::size_t k = 0; k < n; ++k) to[k] = from[k].load(std::memory_order_acquire);
  }
  static void copy(const double* from, std::size_t n, Number* to) noexcept {
    for (std::size_t k = 0; k < n; ++k) to[k].store(from[k], std::memory_order_release);
  }
  static void copy(const Number* from, std::size_t n, Number* to) noexcept {
    for (std::size_t k = 0; k < n; ++k) to[k].store(from[k].load(std::memory_order_relaxed), std::memory_order_release);
  }

  // Put the staged sample at `place` of the history as it will be.
  void insert(Ns t_ns, std::size_t place, View v) noexcept {
    first_.store(v.first, std::memory_order_release);
    size_.store(v.size, std::memory_order_release);
    for (std::size_t k = v.size - 1; k > place; --k) {
      times_[slot(v, k)].store(time(v, k - 1), std::memory_order_release);
      copy(value(v, k - 1), options_.width, value(v, k));
      copy(rate(v, k - 1), rate_size_, rate(v, k));
    }
    if (quaternion_column() < options_.width) align_signs(v, place);
    times_[slot(v, place)].store(t_ns, std::memory_order_release);
    copy(staged_value_.data(), options_.width, value(v, place));
    copy(staged_rate_.data(), rate_size_, rate(v, place));
  }

  // The sign of each quaternion follows its predecessor's, so that no interpolated value jumps to the other sign.
  void align_signs(View v, std::size_t place) noexcept {
    const std::size_t column = quaternion_column();
    double* staged = staged_value_.data() + column;
    if (place > 0) quaternion::align_sign(rotation(v, place - 1).data(), staged);
    if (place + 1 == v.size || quaternion::dot(staged, rotation(v, place + 1).data()) >= 0.0) return;
    if (place == 0) {
      quaternion::negate(staged);
      return;
    }
    for (std::size_t k = place + 1; k < v.size; ++k)
      for (Number* x = value(v, k) + column; x != value(v, k) + column + 4; ++x)
        x->store(-x->load(std::memory_order_relaxed), std::memory_order_release);
  }

  [[nodiscard]] std::array<double, 4> rotation(View v, std::size_t index) const noexcept {
    std::array<double, 4> q{};
    copy(value(v, index) + quaternion_column(), 4, q.data());
    return q;
  }

  // How many samples, of at least one, are not after t. Gallops from `near`: constant for a query at the newest stamp and for the
  // next of sorted queries, logarithmic in the distance else.
  [[nodiscard]] std::size_t count_until(View v, Ns t_ns, std::size_t near) const noexcept {
    std::size_t low = 0, high = v.size;  // the answer lies in [low, high]
    const std::size_t start = std::min(near, v.size - 1);
    if (time(v, start) <= t_ns) {
      low = start + 1;
      for (std::size_t step = 1; low + step <= v.size; step *= 2) {
        if (time(v, low + step - 1) > t_ns) {
          high = low + step - 1;
          break;
        }
        low += step;
      }
    } else {
      high = start;
      for (std::size_t step = 1; step <= high; step *= 2) {
        if (time(v, high - step) <= t_ns) {
          low = high - step + 1;
          break;
        }
        high -= step;
      }
    }
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (time(v, middle) <= t_ns)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // Copy samples [first, last) and say which of them begins the bracket.
  void gather(View v, std::size_t first, std::size_t last, std::size_t before, Scratch& scratch, Stencil& stencil) const {
    double* to = scratch.reserve(Stencil::kMost * (options_.width + rate_size_));
    stencil.count = last - first;
    stencil.before = before - first;
    stencil.width = options_.width;
    // A stream that takes rates but was given none is not made to read them.
    const bool rates = rated_.load(std::memory_order_acquire);
    for (std::size_t k = first; k < last; ++k) {
      stencil.times_ns[k - first] = time(v, k);
      copy(value(v, k), options_.width, to);
      stencil.rows[k - first] = to;
      to += options_.width;
      stencil.rates[k - first] = nullptr;
      if (!rates) continue;
      copy(rate(v, k), rate_size_, to);
      if (!std::isnan(to[0])) stencil.rates[k - first] = to;
      to += rate_size_;
    }
  }

  // Find the bracket and copy what is needed of it. `both`: also of an exact hit its bracket, for a rate.
  Answer look(Ns t_ns, Scratch& scratch, Stencil& stencil, bool both) const {
    return consistent([&] {
      const View v = view();
      if (v.size == 0) return Answer{};
      const std::size_t place = count_until(v, t_ns, scratch.near);
      scratch.near = place;
      if (place == 0) return Answer{How::forgotten, elapsed_ns(t_ns, time(v, 0)), 0, {}};
      const Ns before_ns = time(v, place - 1);
      const bool exact = before_ns == t_ns;
      if (exact && (!both || rate_size() > 0)) {
        gather(v, place - 1, place, place - 1, scratch, stencil);
        if (!both || stencil.rated(0)) return Answer{How::exact, 0, 0, {0.0, 0.0}};
      }
      if (place == v.size && (!exact || v.size == 1)) return Answer{How::not_yet, elapsed_ns(before_ns, t_ns), 0, {}};
      // Of an exact hit the bracket that begins there, unless it ends the history or a gap begins there.
      std::size_t before = place - 1;
      if (exact && before > 0 && (place == v.size || elapsed_ns(before_ns, time(v, place)) > options_.max_gap_ns)) --before;
      const std::uint64_t bracket = elapsed_ns(time(v, before), time(v, before + 1));
      if (bracket > options_.max_gap_ns) return Answer{How::gap, bracket, 0, {}};
      std::size_t first = before, last = before + 2;
      const std::size_t reach = interpolation::reach(options_.kind);
      // A neighbour across a gap says nothing about this bracket.
      for (std::size_t k = 0; k < reach && first > 0 && elapsed_ns(time(v, first - 1), time(v, first)) <= options_.max_gap_ns; ++k) --first;
      for (std::size_t k = 0; k < reach && last < v.size && elapsed_ns(time(v, last - 1), time(v, last)) <= options_.max_gap_ns; ++k) ++last;
      gather(v, first, last, before, scratch, stencil);
      if (exact) return Answer{How::exact, 0, 0, {}};
      if (options_.kind == Interpolation::hold) return Answer{How::held, bracket, difference_ns(before_ns, t_ns), {}};
      return Answer{How::interpolated, bracket, 0, {}};
    });
  }

  // The nearest sample if it lies within the tolerance; of two equally near ones the earlier.
  Answer nearest(Ns t_ns, Scratch& scratch, Stencil& stencil) const {
    return consistent([&] {
      const View v = view();
      if (v.size == 0) return Answer{};
      const std::size_t place = count_until(v, t_ns, scratch.near);
      scratch.near = place;
      constexpr auto far = std::numeric_limits<std::uint64_t>::max();
      const std::uint64_t back = place > 0 ? elapsed_ns(time(v, place - 1), t_ns) : far;
      const std::uint64_t ahead = place < v.size ? elapsed_ns(t_ns, time(v, place)) : far;
      const std::uint64_t distance = std::min(back, ahead);
      if (distance <= options_.tolerance_ns) {
        const std::size_t index = back <= ahead ? place - 1 : place;
        gather(v, index, index + 1, index, scratch, stencil);
        if (distance == 0) return Answer{How::exact, 0, 0, {0.0, 0.0}};
        const std::uint64_t bracket = place > 0 && place < v.size ? elapsed_ns(time(v, place - 1), time(v, place)) : 0;
        return Answer{How::held, bracket, difference_ns(stencil.times_ns[0], t_ns), {}};
      }
      if (place == 0) return Answer{How::forgotten, ahead, 0, {}};
      if (place == v.size) return Answer{How::not_yet, back, 0, {}};
      return Answer{How::gap, elapsed_ns(time(v, place - 1), time(v, place)), 0, {}};
    });
  }

  Answer finish(Answer answer, const Stencil& stencil, Ns t_ns, double* out) const noexcept {
    if (!answer.answered()) return answer;
    if (answer.how == How::interpolated) {
      interpolate(options_.kind, stencil, t_ns, out);
      answer.bound = error_bound(options_.kind, stencil);
    } else {
      std::copy_n(stencil.rows[stencil.before], options_.width, out);
    }
    return answer;
  }

  // Repeat a read until no push overlapped it.
  template <class Read>
  std::invoke_result_t<Read> consistent(Read read) const {
    for (unsigned tries = 1;; ++tries) {
      const std::uint64_t version = version_.load(std::memory_order_acquire);
      if ((version & 1) == 0) {
        const std::invoke_result_t<Read> result = read();
        if (version_.load(std::memory_order_relaxed) == version) return result;
      }
      // The writer may have been put aside in the middle of a push: let it run.
      if (tries % 64 == 0) std::this_thread::yield();
    }
  }

  const Options options_;
  const std::size_t rate_size_;
  std::vector<std::atomic<Ns>> times_;
  std::vector<Number> values_;
  std::vector<Number> rates_;  // NaN where none was given
  std::vector<double> staged_value_, staged_rate_;  // of the writer
  alignas(64) std::atomic<std::uint64_t> version_{0};
  std::atomic<std::size_t> first_{0};
  std::atomic<std::size_t> size_{0};
  std::atomic<bool> rated_{false};  // whether any sample came with a rate
  std::array<Counter, 5> pushed_{};  // by verdict
  Counter out_of_order_{0}, overwritten_{0};
};

}  // namespace onbeat
