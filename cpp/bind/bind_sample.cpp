// The answers of a stream: one, or many as columns.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "bind_series.hpp"
#include "module.hpp"

namespace onbeat::bind {

namespace {

constexpr std::uint32_t kInfinite = 0x7f800000u;
constexpr std::uint16_t kUnknown = 0x7fc0u;

nb::object bound_of(const Sample& sample) {
  if (std::isnan(sample.bound.value)) return nb::none();
  if (std::isnan(sample.bound.rotation)) return nb::float_(sample.bound.value);
  return nb::make_tuple(sample.bound.value, sample.bound.rotation);
}

ErrorBound parse_bound(nb::handle bound) {
  ErrorBound result;
  if (nb::isinstance<nb::tuple>(bound)) {
    std::tie(result.value, result.rotation) = std::pair(nb::cast<double>(bound[0]), nb::cast<double>(bound[1]));
  } else if (!bound.is_none()) {
    result.value = nb::cast<double>(bound);
  }
  return result;
}

bool same_value(nb::handle a, nb::handle b) {
  if (a.is(b)) return true;
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::handle array_type = numpy.attr("ndarray");
  if (nb::isinstance(a, array_type) && nb::isinstance(b, array_type)) {
    // equal_nan asks for numbers; an image is one, an array of objects is not.
    const bool objects = nb::cast<std::string>(a.attr("dtype").attr("kind")) == "O";
    return nb::cast<bool>(nb::bool_(numpy.attr("array_equal")(a, b, nb::arg("equal_nan") = !objects)));
  }
  return a.equal(b);
}

bool operator==(const Sample& a, const Sample& b) {
  return a.t_ns == b.t_ns && a.how == b.how && a.gap_ns == b.gap_ns && a.age_ns == b.age_ns && bound_of(a).equal(bound_of(b)) &&
         same_value(a.value, b.value);
}

std::string text_of(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

std::string repr_of_sample(const Sample& sample) {
  return "Sample(t_ns=" + std::to_string(sample.t_ns) + ", value=" + text_of(sample.value) + ", how=" + text_of(nb::cast(sample.how)) +
         ", gap_ns=" + std::to_string(sample.gap_ns) + ", age_ns=" + std::to_string(sample.age_ns) +
         ", error_bound=" + text_of(bound_of(sample)) + ")";
}

Py_hash_t hash_of_sample(const Sample& sample) {
  nb::object value = sample.value;
  if (nb::hasattr(value, "tobytes")) value = (value + nb::int_(0)).attr("tobytes")();  // + 0: -0.0 and 0.0 are equal
  return nb::hash(nb::make_tuple(sample.t_ns, value, static_cast<int>(sample.how), sample.gap_ns, sample.age_ns));
}

nb::tuple fields_of(const Sample& sample) {
  return nb::make_tuple(sample.t_ns, sample.value, sample.how, sample.gap_ns, sample.age_ns, bound_of(sample));
}

template <class T>
nb::object column(nb::pointer_and_handle<Samples> self, const T* data) {
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {self.p->size}, self.h));
}

nb::object made_here(double* data, std::initializer_list<std::size_t> shape) {
  const nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<double*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, const double>(data, shape, owner));
}

nb::object values_of(nb::pointer_and_handle<Samples> self) {
  const Samples& samples = *self.p;
  if (samples.kind != Interpolation::object)
    return nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<2>>(samples.values.get(), {samples.size, samples.width}, self.h));
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object values = numpy.attr("empty")(samples.size, numpy.attr("object_"));
  for (std::size_t i = 0; i < samples.size; ++i) values[i] = samples.objects[i];
  values.attr("flags").attr("writeable") = false;
  return values;
}

nb::object ages_of(nb::pointer_and_handle<Samples> self) {
  if (self.p->age_ns) return column(self, self.p->age_ns.get());
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object zeros = numpy.attr("zeros")(self.p->size, numpy.attr("int64"));
  zeros.attr("flags").attr("writeable") = false;
  return zeros;
}

nb::object bounds_of(const Samples& samples) {
  const std::size_t columns = samples.rotation_bound ? 2 : 1;
  auto* out = new double[samples.size * columns];
  for (std::size_t i = 0; i < samples.size; ++i) {
    out[i * columns] = samples.bound[i].value();
    if (columns == 2) out[i * columns + 1] = samples.rotation_bound[i].value();
  }
  return columns == 1 ? made_here(out, {samples.size}) : made_here(out, {samples.size, columns});
}

bool operator==(const Samples& a, const Samples& b) {
  if (a.size != b.size) return false;
  for (std::size_t i = 0; i < a.size; ++i)
    if (!(a[i] == b[i])) return false;
  return true;
}

std::string repr_of_samples(nb::handle self) {
  std::string result = "Samples(";
  for (const char* field : {"t_ns", "values", "how", "gap_ns", "age_ns", "error_bound"})
    result += (result.back() == '(' ? "" : ", ") + std::string(field) + "=" + text_of(self.attr(field));
  return result + ")";
}

template <class T>
bool equal_to(const T& self, nb::handle other) {
  const T* same = nullptr;
  return nb::try_cast<const T*>(other, same) && same != nullptr && self == *same;
}

void bind_one(nb::module_& m) {
  nb::class_<Sample>(m, "Sample", "The answer of a stream at one instant. Immutable; equality is by value.", nb::is_final())
      .def(
          "__init__",
          [](Sample* self, nb::handle t_ns, nb::handle value, How how, nb::handle gap_ns, nb::handle age_ns, nb::handle error_bound) {
            new (self) Sample{instant(t_ns),          nb::borrow(value), how, instant(gap_ns, "gap_ns"), instant(age_ns, "age_ns"),
                              parse_bound(error_bound)};
          },
          nb::arg("t_ns"), nb::arg("value").none(), nb::arg("how"), nb::arg("gap_ns") = 0, nb::arg("age_ns") = 0,
          nb::arg("error_bound").none() = nb::none(),
          nb::sig("def __init__(self, t_ns: int, value: typing.Any, how: How, gap_ns: int = 0, age_ns: int = 0, "
                  "error_bound: float | tuple[float, float] | None = None) -> None"))
      .def_ro("t_ns", &Sample::t_ns, "The instant asked for, on the stream's clock.")
      .def_ro("value", &Sample::value, nb::sig("def value(self) -> typing.Any"),
              "float64 of shape (width,), read-only; of an object stream, the object.")
      .def_ro("how", &Sample::how, "Where the value comes from.")
      .def_ro("gap_ns", &Sample::gap_ns, "Time between the samples around the instant; 0 when exact, or held after the newest.")
      .def_ro("age_ns", &Sample::age_ns,
              "The instant asked for minus the stamp of the sample that was held (negative when the nearest object lies after it); 0 when "
              "interpolated or exact.")
      .def_prop_ro("error_bound", &bound_of, nb::sig("def error_bound(self) -> float | tuple[float, float] | None"),
                   R"(Largest error of interpolation in this bracket, in the unit of the values; None where unknown.

Of a pose, (metres, rad); of slerp, rad; else the Euclidean norm over the columns. It takes the derivative in the method's law from
the neighbouring samples: for motion that is smooth at the stream's rate, and without the samples' own noise. Rounded up to three digits.)")
      .def("__repr__", &repr_of_sample)
      .def("__hash__", &hash_of_sample)
      .def("__eq__", &equal_to<Sample>, nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__reduce__", [](nb::pointer_and_handle<Sample> self) { return nb::make_tuple(self.h.type(), fields_of(*self.p)); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  m.attr("Sample").attr("__match_args__") = nb::make_tuple("t_ns", "value", "how", "gap_ns", "age_ns", "error_bound");
}

void bind_many(nb::module_& m) {
  nb::class_<Samples>(m, "Samples",
                      "The answers of a stream at many instants, as read-only columns; a Sample only on indexing. Equality is by value.",
                      nb::is_final())
      .def("__len__", [](const Samples& self) { return self.size; })
      .def(
          "__getitem__",
          [](const Samples& self, Py_ssize_t i) {
            const auto size = static_cast<Py_ssize_t>(self.size);
            if (i < -size || i >= size) throw nb::index_error(text("index %zd of %zd samples", i, size).c_str());
            return self[static_cast<std::size_t>(i < 0 ? i + size : i)];
          },
          nb::arg("index"), "Give one answer; unanswered instants have NaN (None for an object) and say why in `how`.")
      .def(
          "__iter__", [](nb::handle self) { return nb::steal(PySeqIter_New(self.ptr())); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Sample]"))
      .def_prop_ro("t_ns", [](nb::pointer_and_handle<Samples> self) { return column(self, self.p->t_ns.get()); },
                   nb::sig("def t_ns(self) -> numpy.typing.NDArray[numpy.int64]"), "The instants asked for, shape (n,).")
      .def_prop_ro("values", &values_of, nb::sig("def values(self) -> numpy.typing.NDArray[typing.Any]"),
                   "float64 of shape (n, width), NaN where there is no answer; of an object stream objects of shape (n,), None where none.")
      .def_prop_ro(
          "how",
          [](nb::pointer_and_handle<Samples> self) { return column(self, reinterpret_cast<const std::uint8_t*>(self.p->how.get())); },
          nb::sig("def how(self) -> numpy.typing.NDArray[numpy.uint8]"), "Values of How, shape (n,).")
      .def_prop_ro("gap_ns", [](nb::pointer_and_handle<Samples> self) { return column(self, self.p->gap_ns.get()); },
                   nb::sig("def gap_ns(self) -> numpy.typing.NDArray[numpy.int64]"),
                   "Width of the bracket, shape (n,); NOT_YET and FORGOTTEN: how far beyond the newest or the oldest sample.")
      .def_prop_ro("age_ns", &ages_of, nb::sig("def age_ns(self) -> numpy.typing.NDArray[numpy.int64]"),
                   "Age of the value where it is HELD, else 0, shape (n,).")
      .def_prop_ro("error_bound", &bounds_of, nb::sig("def error_bound(self) -> numpy.typing.NDArray[numpy.float64]"),
                   "Error bounds rounded up to three digits, NaN where unknown, shape (n,); of a pose (n, 2): metres, rad.")
      .def("__repr__", &repr_of_samples)
      .def("__eq__", &equal_to<Samples>, nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  m.attr("Samples").attr("__hash__") = nb::none();
}

}  // namespace

Coarse::Coarse(double value) noexcept {
  // Zero stays zero and not a number stays so; a positive number goes up to the next that ends in sixteen zeros, which also
  // covers that float rounds to the nearest.
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t up = value > 0.0 ? bits + 0x10000u : bits;
  bits_ = static_cast<std::uint16_t>(std::min(up, kInfinite) >> 16);
  if (std::isnan(value)) bits_ = kUnknown;
}

double Coarse::value() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16); }

Samples::Samples(Interpolation its_kind, std::size_t its_size, std::size_t its_width)
    : kind(its_kind),
      size(its_size),
      width(its_width),
      t_ns(new Ns[size]),
      values(width > 0 ? new double[size * width] : nullptr),
      how(new How[size]),
      gap_ns(new Ns[size]),
      age_ns(kind == Interpolation::hold || kind == Interpolation::object ? new Ns[size] : nullptr),
      bound(new Coarse[size]),
      rotation_bound(kind == Interpolation::pose ? new Coarse[size] : nullptr) {}

Sample Samples::operator[](std::size_t i) const {
  ErrorBound error{bound[i].value(), rotation_bound ? rotation_bound[i].value() : std::numeric_limits<double>::quiet_NaN()};
  nb::object value = kind == Interpolation::object ? objects[i] : frozen_array(values.get() + i * width, width);
  return {t_ns[i], std::move(value), how[i], gap_ns[i], age_ns ? age_ns[i] : 0, error};
}

void bind_sample(nb::module_& m) {
  nb::enum_<How>(m, "How", nb::is_arithmetic(), "Where a value comes from, or why there is none.")
      .value("EXACT", How::exact, "a sample of that very instant")
      .value("INTERPOLATED", How::interpolated, "between two samples")
      .value("HELD", How::held, "an older sample, or the nearest object; age_ns says how old")
      .value("PREDICTED", How::predicted, "beyond the newest sample")
      .value("NOT_YET", How::not_yet, "newer than the newest sample: wait")
      .value("FORGOTTEN", How::forgotten, "older than the oldest sample kept: too late")
      .value("GAP", How::gap, "the samples around it are too far apart");
  bind_one(m);
  bind_many(m);
}

}  // namespace onbeat::bind
