// The Python objects of a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "convert.hpp"
#include "onbeat/series.hpp"

namespace onbeat::bind {

struct Stream {
  Stream(nb::handle name, nb::handle clock, const std::string& kind, nb::handle width, nb::handle capacity, nb::handle max_gap_s,
         double tolerance_s);

  [[nodiscard]] bool holds_objects() const noexcept { return series->options().kind == Interpolation::object; }
  [[nodiscard]] std::size_t width() const noexcept { return holds_objects() ? 0 : series->options().width; }

  std::string name;
  std::string clock;
  std::unique_ptr<Series> series;
  // Of an object stream: the series holds tickets, places in this pool; one more than the capacity, so that the newcomer has
  // a place before the oldest loses its. Touched under the GIL only.
  std::vector<nb::object> pool;
  std::vector<std::size_t> free_tickets;
  std::uint64_t misshapen = 0;
};

const char* kind_name(Interpolation kind);

// Store one sample, or many; what cannot be stored is counted, and refused by the first.
void push(Stream& stream, nb::handle t_ns, nb::handle value, nb::handle rate);
void push_many(Stream& stream, nb::handle t_ns, nb::handle values, nb::handle rates);

struct Sample {
  Ns t_ns;
  nb::object value;
  How how;
  Ns gap_ns;
  Ns age_ns;
  ErrorBound bound;
};

// An error bound in 16 bits, rounded up to three digits: with float64 a hundred thousand answers would not fit into 8 MB.
class Coarse {
 public:
  Coarse() = default;
  explicit Coarse(double value) noexcept;
  [[nodiscard]] double value() const noexcept;

 private:
  std::uint16_t bits_;
};

// The answers of at_many as columns; ages only where the kind has any.
struct Samples {
  Samples(Interpolation kind, std::size_t size, std::size_t width);
  [[nodiscard]] Sample operator[](std::size_t i) const;

  Interpolation kind;
  std::size_t size;
  std::size_t width;
  std::unique_ptr<Ns[]> t_ns;
  std::unique_ptr<double[]> values;
  std::unique_ptr<How[]> how;
  std::unique_ptr<Ns[]> gap_ns;
  std::unique_ptr<Ns[]> age_ns;
  std::unique_ptr<Coarse[]> bound;
  std::unique_ptr<Coarse[]> rotation_bound;
  std::vector<nb::object> objects;
};

}  // namespace onbeat::bind
