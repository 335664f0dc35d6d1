// A bounded history of one signal: what was it at an instant, or why is there no answer.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "onbeat/errors.hpp"
#include "onbeat/history.hpp"
#include "onbeat/interpolation.hpp"
#include "onbeat/quaternion.hpp"
#include "onbeat/time.hpp"

namespace onbeat {

enum class How : std::uint8_t { exact, interpolated, held, predicted, not_yet, forgotten, gap };

struct Answer {
  How how = How::not_yet;
  // Width of the bracket; 0 when exact. When refused: to the newest sample (not_yet), to the oldest (forgotten), or between
  // the two samples (gap); 0 when there are too few samples.
  std::uint64_t gap_ns = 0;
  Ns age_ns = 0;  // of a held sample, the query minus its stamp
  ErrorBound bound;

  [[nodiscard]] bool answered() const noexcept { return how < How::not_yet; }
};

// Why a sample was or was not kept. out_of_order and overwritten are parts of stored; the others add up to all pushes.
struct Counts {
  std::uint64_t stored = 0, duplicate = 0, nonfinite = 0, nonunit = 0, forgotten = 0, out_of_order = 0, overwritten = 0;
};

// One thread at a time may push; any number may read at the same time and none sees half a sample (SequenceLock says how).
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
      : options_(checked(options)),
        rate_size_(rate_width(options.kind, options.width)),
        history_(options.capacity, options.width, rate_size_, quaternion_column()),
        staged_(options.width) {}

  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] std::size_t rate_size() const noexcept { return rate_size_; }
  [[nodiscard]] std::size_t size() const noexcept { return history_.size(); }

  // value: options().width numbers. rate: rate_size() numbers, or null when none was measured.
  Pushed push(Ns t_ns, const double* value, const double* rate = nullptr) noexcept {
    if (rate_size_ == 0) rate = nullptr;
    if (const Pushed verdict = stage(value, rate); verdict != Pushed::stored) return count(verdict);
    // One writer: nobody else changes what is read here, so this needs no lock.
    const History::View v = history_.view();
    const bool full = v.size == options_.capacity;
    const std::size_t place = v.size == 0 ? 0 : history_.count_until(v, t_ns, v.size);
    if (place > 0 && history_.time(v, place - 1) == t_ns) return count(Pushed::duplicate);
    if (place == 0 && full) return count(Pushed::forgotten);
    history_.insert(v, place, t_ns, staged_.data(), rate);
    if (place < v.size) add(out_of_order_);
    if (full) add(overwritten_);
    return count(Pushed::stored);
  }

  // The value at an instant, or why there is none; then `out` (options().width numbers) is not written.
  Answer at(Ns t_ns, double* out, Scratch& scratch) const {
    Stencil stencil;
    Answer answer = options_.kind == Interpolation::object ? nearest(t_ns, scratch, stencil) : look(t_ns, scratch, stencil);
    if (answer.how == How::interpolated) {
      interpolate(options_.kind, stencil, t_ns, out);
      answer.bound = error_bound(options_.kind, stencil);
    } else if (answer.answered()) {
      std::copy_n(stencil.rows[stencil.before], options_.width, out);
    }
    return answer;
  }

  // The newest sample that is not after the instant, however old; only an instant before all of them is refused.
  Answer hold(Ns t_ns, double* out, Scratch& scratch) const {
    return history_.read([&](History::View v) {
      if (v.size == 0) return Answer{};
      const std::size_t place = search(v, t_ns, scratch);
      if (place == 0) return Answer{How::forgotten, elapsed_ns(t_ns, history_.time(v, 0)), 0, {}};
      const Ns stamp_ns = history_.time(v, place - 1);
      history_.copy_value(v, place - 1, out);
      return Answer{How::held, place < v.size ? elapsed_ns(stamp_ns, history_.time(v, place)) : 0, difference_ns(stamp_ns, t_ns), {}};
    });
  }

  // The rate at an instant: rate_size() numbers, or options().width for linear and cubic. Not for hold and object.
  Answer rate_at(Ns t_ns, double* out, Scratch& scratch) const {
    Stencil stencil;
    const Answer answer = look_for_rate(t_ns, scratch, stencil);
    if (!answer.answered()) return answer;
    if (stencil.count == 1)
      std::copy_n(stencil.rate(0), rate_size_, out);
    else
      interpolate_rate(options_.kind, stencil, t_ns, out);
    return answer;
  }

  [[nodiscard]] std::optional<Ns> oldest_ns() const {
    return history_.read([&](History::View v) { return v.size == 0 ? std::nullopt : std::optional(history_.time(v, 0)); });
  }

  [[nodiscard]] std::optional<Ns> newest_ns() const {
    return history_.read([&](History::View v) { return v.size == 0 ? std::nullopt : std::optional(history_.time(v, v.size - 1)); });
  }

  // Copy the oldest sample's value, which the next push overwrites when the history is full; for the writer.
  void oldest(double* out) const noexcept { history_.copy_value(history_.view(), 0, out); }

  // How long after an instant a query for it can be answered: by as many samples as the method needs behind it, at the
  // longest of the last sixteen intervals. Nothing when fewer than two samples are there.
  [[nodiscard]] std::optional<std::uint64_t> lag_ns() const {
    if (options_.kind == Interpolation::object) return options_.tolerance_ns;
    return history_.read([&](History::View v) -> std::optional<std::uint64_t> {
      if (v.size < 2) return std::nullopt;
      std::uint64_t longest = 0;
      for (std::size_t k = v.size > 17 ? v.size - 16 : 1; k < v.size; ++k) longest = std::max(longest, interval(v, k));
      return options_.kind == Interpolation::cubic ? 2 * longest : longest;
    });
  }

  [[nodiscard]] Counts counts() const noexcept {
    const auto get = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
    return {get(pushed_[0]), get(pushed_[1]), get(pushed_[2]), get(pushed_[3]), get(pushed_[4]), get(out_of_order_), get(overwritten_)};
  }

 private:
  using Counter = std::atomic<std::uint64_t>;

  static const Options& checked(const Options& options) {
    if (options.capacity == 0) throw BadInput("capacity must be >= 1 sample");
    if (options.width == 0) throw BadInput("width must be >= 1");
    if (options.kind == Interpolation::slerp && options.width != 4)
      throw BadInput(text("a slerp stream has width 4 (quat_wxyz), not %zu", options.width));
    if (options.kind == Interpolation::pose && options.width != 7)
      throw BadInput(text("a pose stream has width 7 (position xyz and quat_wxyz), not %zu", options.width));
    return options;
  }

  [[nodiscard]] std::size_t quaternion_column() const noexcept {
    if (options_.kind == Interpolation::slerp) return 0;
    return options_.kind == Interpolation::pose ? 3 : options_.width;
  }

  // Counters are read for reports only; nothing is ordered by them, and one thread writes.
  static void add(Counter& counter) noexcept { counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  Pushed count(Pushed verdict) noexcept {
    add(pushed_[static_cast<std::size_t>(verdict)]);
    return verdict;
  }

  // Copy a value aside, its quaternion unit, or say what is wrong with the sample.
  Pushed stage(const double* value, const double* rate) noexcept {
    const auto finite = [](double x) { return std::isfinite(x); };
    if (!std::all_of(value, value + options_.width, finite)) return Pushed::nonfinite;
    if (rate != nullptr && !std::all_of(rate, rate + rate_size_, finite)) return Pushed::nonfinite;
    std::copy_n(value, options_.width, staged_.data());
    if (const std::size_t column = quaternion_column(); column < options_.width) {
      if (!quaternion::is_unit(staged_.data() + column)) return Pushed::nonunit;
      quaternion::normalise(staged_.data() + column);
    }
    return Pushed::stored;
  }

  std::size_t search(History::View v, Ns t_ns, Scratch& scratch) const noexcept {
    return scratch.near = history_.count_until(v, t_ns, scratch.near);
  }

  // The time between a sample and the one before it.
  [[nodiscard]] std::uint64_t interval(History::View v, std::size_t index) const noexcept {
    return elapsed_ns(history_.time(v, index - 1), history_.time(v, index));
  }

  void gather(History::View v, std::size_t first, std::size_t last, std::size_t before, Scratch& scratch, Stencil& stencil) const {
    history_.gather(v, first, last, before, scratch.reserve(Stencil::kMost * history_.row_size()), stencil);
  }

  // Copy the bracket that begins at `before` with the neighbours that the method looks at, or say that it is a gap.
  Answer bracket(History::View v, std::size_t before, Scratch& scratch, Stencil& stencil) const {
    const std::uint64_t width_ns = interval(v, before + 1);
    if (width_ns > options_.max_gap_ns) return {How::gap, width_ns, 0, {}};
    std::size_t first = before, last = before + 2;
    // A neighbour across a gap says nothing about this bracket.
    for (std::size_t k = 0; k < interpolation::reach(options_.kind); ++k) {
      if (first > 0 && interval(v, first) <= options_.max_gap_ns) --first;
      if (last < v.size && interval(v, last) <= options_.max_gap_ns) ++last;
    }
    gather(v, first, last, before, scratch, stencil);
    return {How::interpolated, width_ns, 0, {}};
  }

  [[nodiscard]] Answer exact() const noexcept {
    ErrorBound none;
    none.value = 0.0;
    if (options_.kind == Interpolation::pose) none.rotation = 0.0;
    return {How::exact, 0, 0, none};
  }

  Answer look(Ns t_ns, Scratch& scratch, Stencil& stencil) const {
    return history_.read([&](History::View v) -> Answer {
      if (v.size == 0) return {};
      const std::size_t place = search(v, t_ns, scratch);
      if (place == 0) return {How::forgotten, elapsed_ns(t_ns, history_.time(v, 0)), 0, {}};
      const Ns before_ns = history_.time(v, place - 1);
      if (before_ns == t_ns) {
        gather(v, place - 1, place, place - 1, scratch, stencil);
        return exact();
      }
      if (place == v.size) return {How::not_yet, elapsed_ns(before_ns, t_ns), 0, {}};
      Answer answer = bracket(v, place - 1, scratch, stencil);
      if (options_.kind == Interpolation::hold && answer.answered()) {
        answer.how = How::held;
        answer.age_ns = difference_ns(before_ns, t_ns);
      }
      return answer;
    });
  }

  // As look, but at a sample without a measured rate: the bracket that begins there, or, at the last sample before the end or
  // before a gap, the one that ends there.
  Answer look_for_rate(Ns t_ns, Scratch& scratch, Stencil& stencil) const {
    const Answer answer = look(t_ns, scratch, stencil);
    if (answer.how != How::exact || stencil.rated(0)) return answer;
    return history_.read([&](History::View v) -> Answer {
      const std::size_t place = search(v, t_ns, scratch);
      if (v.size < 2 || place == 0) return {};
      const bool ends = place > 1 && (place == v.size || interval(v, place) > options_.max_gap_ns);
      return bracket(v, ends ? place - 2 : place - 1, scratch, stencil);
    });
  }

  // The nearest sample if it lies within the tolerance; of two equally near ones the earlier.
  Answer nearest(Ns t_ns, Scratch& scratch, Stencil& stencil) const {
    return history_.read([&](History::View v) -> Answer {
      if (v.size == 0) return {};
      const std::size_t place = search(v, t_ns, scratch);
      constexpr auto far = std::numeric_limits<std::uint64_t>::max();
      const std::uint64_t back = place > 0 ? elapsed_ns(history_.time(v, place - 1), t_ns) : far;
      const std::uint64_t ahead = place < v.size ? elapsed_ns(t_ns, history_.time(v, place)) : far;
      const std::uint64_t around = place > 0 && place < v.size ? interval(v, place) : 0;
      if (std::min(back, ahead) <= options_.tolerance_ns) {
        const std::size_t index = back <= ahead ? place - 1 : place;
        gather(v, index, index + 1, index, scratch, stencil);
        if (back == 0) return exact();
        return {How::held, around, difference_ns(stencil.times_ns[0], t_ns), {}};
      }
      if (place == 0) return {How::forgotten, ahead, 0, {}};
      if (place == v.size) return {How::not_yet, back, 0, {}};
      return {How::gap, around, 0, {}};
    });
  }

  const Options options_;
  const std::size_t rate_size_;
  History history_;
  std::vector<double> staged_;  // of the writer
  std::array<Counter, 5> pushed_{};  // by verdict
  Counter out_of_order_{0}, overwritten_{0};
};

}  // namespace onbeat
