// How samples come into a stream: from arrays, from lists, as objects.
#include <optional>
#include <utility>

#include "bind_series.hpp"

namespace onbeat::bind {

namespace {

void push_object(Stream& stream, Ns t_ns, nb::handle value) {
  Series& series = *stream.series;
  const bool full = series.size() == series.options().capacity;
  double oldest = 0.0;
  if (full) series.oldest(&oldest);
  const std::size_t ticket = stream.free_tickets.back();
  const auto stored = static_cast<double>(ticket);
  if (series.push(t_ns, &stored) != Series::Pushed::stored) return;
  stream.free_tickets.pop_back();
  stream.pool[ticket] = nb::borrow(value);
  if (!full) return;
  // Dropping the last reference may run any code, even a push here: only when all is in order again.
  const auto freed = static_cast<std::size_t>(oldest);
  const nb::object dropped = std::exchange(stream.pool[freed], nb::object());
  stream.free_tickets.push_back(freed);
}

void refuse_push(const Stream& stream, Series::Pushed verdict) {
  if (verdict == Series::Pushed::nonfinite)
    throw BadInput(text("a sample of '%s' is not finite; leave it out or count it with push_many", stream.name.c_str()));
  if (verdict == Series::Pushed::nonunit)
    throw BadInput(text("a sample of '%s' has a quaternion whose norm is not 1 within 0.01; quat_wxyz must be unit", stream.name.c_str()));
}

bool takes_rate(const Stream& stream, bool given) {
  const Interpolation kind = stream.series->options().kind;
  if (given && stream.series->rate_size() == 0)
    throw BadInput(text("'%s' is of kind %s, which takes no rate; use hermite, slerp or pose", stream.name.c_str(), kind_name(kind)));
  if (!given && kind == Interpolation::hermite)
    throw BadInput(text("'%s' is of kind hermite, which needs the measured rate with each sample; give rate or use cubic", stream.name.c_str()));
  return given;
}

// One row of numbers of a width; what has another shape is counted and refused.
class Row {
 public:
  Row(Stream& stream, nb::handle value, const char* name, std::size_t width) {
    try {
      numbers_.emplace(value, name);
    } catch (const BadInput&) {
      ++stream.misshapen;
      throw;
    }
    if (numbers_->ndim() == 1 && numbers_->size() == width) return;
    ++stream.misshapen;
    throw BadInput(text("a %s of '%s' must have the shape (%zu,), not %d dimension(s) and %zu number(s)", name, stream.name.c_str(), width,
                        numbers_->ndim(), numbers_->size()));
  }
  [[nodiscard]] const double* data() const noexcept { return numbers_->data(); }

 private:
  std::optional<Numbers<double>> numbers_;
};

// Rows that do not fit one array: store those that have the right shape.
void push_one_by_one(Stream& stream, const Numbers<Ns>& times, nb::handle values, nb::handle rates) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (stream.holds_objects()) {
      push_object(stream, times.data()[i], nb::object(values[i]));
      continue;
    }
    try {
      const Row row(stream, nb::object(values[i]), "value", stream.series->options().width);
      std::optional<Row> rate;
      if (!rates.is_none()) rate.emplace(stream, nb::object(rates[i]), "rate", stream.series->rate_size());
      stream.series->push(times.data()[i], row.data(), rate ? rate->data() : nullptr);
    } catch (const BadInput&) {
      // Counted by Row as misshapen.
    }
  }
}

bool is_table(const Numbers<double>& numbers, std::size_t rows, std::size_t width) {
  if (numbers.ndim() == 1) return width == 1 && numbers.size() == rows;
  return numbers.ndim() == 2 && numbers.shape(0) == rows && numbers.shape(1) == width;
}

}  // namespace

void push(Stream& stream, nb::handle t_ns, nb::handle value, nb::handle rate) {
  const Ns t = instant(t_ns);
  const bool rated = takes_rate(stream, !rate.is_none());
  if (stream.holds_objects()) return push_object(stream, t, value);
  const Row values(stream, value, "value", stream.series->options().width);
  if (!rated) return refuse_push(stream, stream.series->push(t, values.data()));
  const Row rates(stream, rate, "rate", stream.series->rate_size());
  refuse_push(stream, stream.series->push(t, values.data(), rates.data()));
}

void push_many(Stream& stream, nb::handle t_ns, nb::handle values, nb::handle rates) {
  const Numbers<Ns> times(t_ns, "t_ns");
  if (times.ndim() != 1) throw BadInput(text("t_ns must have 1 dimension, not %d", times.ndim()));
  const bool rated = takes_rate(stream, !rates.is_none());
  for (const nb::handle rows : {values, rates})
    if (!rows.is_none() && nb::len(rows) != times.size())
      throw BadInput(text("there are %zu instants and %zu rows; give one row for each instant", times.size(), nb::len(rows)));
  if (stream.holds_objects()) return push_one_by_one(stream, times, values, rates);
  Series& series = *stream.series;
  const std::size_t width = series.options().width;
  std::optional<Numbers<double>> table, rate_table;
  try {
    table.emplace(values, "values");
    if (rated) rate_table.emplace(rates, "rates");
  } catch (const BadInput&) {
    return push_one_by_one(stream, times, values, rates);
  }
  if (!is_table(*table, times.size(), width) || (rated && !is_table(*rate_table, times.size(), series.rate_size()))) {
    stream.misshapen += times.size();
    return;
  }
  for (std::size_t i = 0; i < times.size(); ++i)
    series.push(times.data()[i], table->data() + i * width, rated ? rate_table->data() + i * series.rate_size() : nullptr);
}

}  // namespace onbeat::bind
