// What crosses the border: instants, arrays and errors. Arrays are borrowed through the buffer protocol where they already
// have the right type, because that costs 0.1 us where a cast costs 1 us.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <string>
#include <vector>

#include "onbeat/errors.hpp"
#include "onbeat/time.hpp"

namespace onbeat::bind {

namespace nb = nanobind;

// Look numpy's functions up once and translate onbeat::BadInput; call while the module is initialised.
void prepare(nb::module_& m);

// Raise a class of onbeat.errors by its name.
[[noreturn]] void raise(const char* error, const std::string& message);

// An int, or what stands for one (a numpy integer); floats and what does not fit into int64 are refused with BadInput.
Ns instant(nb::handle value, const char* name = "t_ns");

// Numbers of a Python object, C-contiguous, for as long as this lives; at least one dimension. Short lists of plain numbers are
// read one by one: half of what numpy takes.
template <class T>
class Numbers {
 public:
  Numbers(nb::handle value, const char* name);
  ~Numbers();
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  [[nodiscard]] bool borrowed() const noexcept { return view_.obj != nullptr; }
  [[nodiscard]] const T* data() const noexcept { return borrowed() ? static_cast<const T*>(view_.buf) : listed_.data(); }
  [[nodiscard]] int ndim() const noexcept { return borrowed() ? view_.ndim : 1; }
  [[nodiscard]] std::size_t shape(int axis) const noexcept { return borrowed() ? static_cast<std::size_t>(view_.shape[axis]) : listed_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return borrowed() ? static_cast<std::size_t>(view_.len) / sizeof(T) : listed_.size(); }
  [[nodiscard]] std::vector<T> copy() const { return {data(), data() + size()}; }

 private:
  bool read_list(nb::handle value);

  Py_buffer view_{};
  std::vector<T> listed_;
};

extern template class Numbers<Ns>;
extern template class Numbers<double>;

// A new 1-D array, shape (n,), n >= 1: writable for a result, read-only for a part of a value.
nb::object array(const double* values, std::size_t n);
nb::object frozen_array(const double* values, std::size_t n);

}  // namespace onbeat::bind
