#include "convert.hpp"

#include <nanobind/stl/string.h>

#include <type_traits>

namespace onbeat::bind {

namespace {

// Owned for the life of the process: looked up at import, so that no call pays for it or imports under a lock.
PyObject* frombuffer = nullptr;
PyObject* ascontiguousarray = nullptr;
PyObject* asarray = nullptr;
PyObject* int64_type = nullptr;
PyObject* float64_type = nullptr;

template <class T>
bool matches(const Py_buffer& view) {
  if (view.ndim < 1 || view.itemsize != sizeof(T) || view.format == nullptr || view.format[1] != '\0') return false;
  if constexpr (std::is_same_v<T, double>) return view.format[0] == 'd';
  return view.format[0] == 'l' || view.format[0] == 'q';
}

template <class T>
bool borrow(PyObject* value, Py_buffer& view) {
  if (!PyObject_CheckBuffer(value)) return false;
  if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  if (matches<T>(view)) return true;
  PyBuffer_Release(&view);
  return false;
}

std::string name_of_type(nb::handle value) { return nb::cast<std::string>(nb::handle(value.type()).attr("__name__")); }

}  // namespace

void prepare(nb::module_& m) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  frombuffer = nb::object(numpy.attr("frombuffer")).release().ptr();
  ascontiguousarray = nb::object(numpy.attr("ascontiguousarray")).release().ptr();
  asarray = nb::object(numpy.attr("asarray")).release().ptr();
  int64_type = nb::object(numpy.attr("int64")).release().ptr();
  float64_type = nb::object(numpy.attr("float64")).release().ptr();
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const BadInput& error) {
      const nb::object type = nb::module_::import_("onbeat.errors").attr("BadInput");
      PyErr_SetString(type.ptr(), error.what());
    }
  });
}

void raise(const char* error, const std::string& message) {
  const nb::object type = nb::module_::import_("onbeat.errors").attr(error);
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

Ns instant(nb::handle value, const char* name) {
  nb::object index;
  if (!PyLong_Check(value.ptr())) {
    index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) {
      PyErr_Clear();
      throw BadInput(text("%s must be an int of nanoseconds, not a %s; convert seconds with onbeat.units.to_ns", name,
                          name_of_type(value).c_str()));
    }
    value = index;
  }
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0) throw BadInput(text("%s must fit into 64 bits of nanoseconds (292 years)", name));
  return result;
}

template <class T>
Numbers<T>::Numbers(nb::handle value, const char* name) {
  if (borrow<T>(value.ptr(), view_) || read_list(value)) return;
  constexpr bool is_instant = std::is_same_v<T, Ns>;
  nb::object converted;
  try {
    if constexpr (is_instant) {
      const nb::object given = nb::handle(asarray)(value);
      const std::string kind = nb::cast<std::string>(given.attr("dtype").attr("kind"));
      // numpy would wrap an unsigned value above int64 around in silence. An empty list comes as float64 and is let through.
      bool fits = kind == "i" || nb::cast<std::size_t>(given.attr("size")) == 0;
      if (!fits && kind == "u") {
        const nb::int_ most(INT64_MAX);
        fits = PyObject_RichCompareBool(nb::object(given.attr("max")()).ptr(), most.ptr(), Py_LE) == 1;
      }
      if (fits) converted = nb::handle(ascontiguousarray)(given, nb::handle(int64_type));
    } else {
      converted = nb::handle(ascontiguousarray)(value, nb::handle(float64_type));
    }
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError) && !error.matches(PyExc_OverflowError)) throw;
  }
  if (!converted.is_valid() || !borrow<T>(converted.ptr(), view_)) {
    if constexpr (is_instant)
      throw BadInput(text("%s must be ints of nanoseconds; convert seconds with onbeat.units.to_ns", name));
    else
      throw BadInput(text("%s must be numbers of one shape, not a %s of something else", name, name_of_type(value).c_str()));
  }
}

template <class T>
bool Numbers<T>::read_list(nb::handle value) {
  const bool list = PyList_CheckExact(value.ptr());
  if (!list && !PyTuple_CheckExact(value.ptr())) return false;
  const Py_ssize_t n = list ? PyList_Size(value.ptr()) : PyTuple_Size(value.ptr());
  if (n == 0 || n > 64) return false;
  listed_.reserve(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = list ? PyList_GetItem(value.ptr(), i) : PyTuple_GetItem(value.ptr(), i);
    int overflow = 0;
    if (std::is_same_v<T, double> && PyFloat_CheckExact(item)) {
      listed_.push_back(static_cast<T>(PyFloat_AsDouble(item)));
    } else if (PyLong_CheckExact(item)) {
      const long long whole = PyLong_AsLongLongAndOverflow(item, &overflow);
      listed_.push_back(static_cast<T>(whole));
      if (overflow != 0) break;
    } else {
      break;
    }
    if (static_cast<Py_ssize_t>(listed_.size()) == n) return true;
  }
  listed_.clear();
  return false;
}

template <class T>
Numbers<T>::~Numbers() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

template class Numbers<Ns>;
template class Numbers<double>;

nb::object array(const double* values, std::size_t n) {
  const nb::object bytes = nb::steal(
      PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(values), static_cast<Py_ssize_t>(n * sizeof(double))));
  if (!bytes.is_valid()) throw nb::python_error();
  return nb::handle(frombuffer)(bytes);
}

nb::object frozen_array(const double* values, std::size_t n) {
  const nb::object bytes =
      nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(values), static_cast<Py_ssize_t>(n * sizeof(double))));
  if (!bytes.is_valid()) throw nb::python_error();
  return nb::handle(frombuffer)(bytes);
}

}  // namespace onbeat::bind
