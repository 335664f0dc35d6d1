#include "bind_series.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <bit>
#include <cinttypes>
#include <utility>

#include "module.hpp"

namespace onbeat::bind {

namespace {

constexpr std::array<std::pair<const char*, Interpolation>, 7> kKinds{{{"hold", Interpolation::hold},
                                                                       {"linear", Interpolation::linear},
                                                                       {"cubic", Interpolation::cubic},
                                                                       {"hermite", Interpolation::hermite},
                                                                       {"slerp", Interpolation::slerp},
                                                                       {"pose", Interpolation::pose},
                                                                       {"object", Interpolation::object}}};

Interpolation parse_kind(const std::string& kind) {
  for (const auto& [name, value] : kKinds)
    if (kind == name) return value;
  throw BadInput(text("kind must be one of hold, linear, cubic, hermite, slerp, pose, object, not '%s'", kind.c_str()));
}

const char* name_of(Interpolation kind) { return kKinds[static_cast<std::size_t>(kind)].first; }

std::string clock_id(nb::handle clock) {
  nb::object id = nb::borrow(clock);
  if (!nb::isinstance<nb::str>(clock)) id = nb::getattr(clock, "id", nb::none());
  if (!nb::isinstance<nb::str>(id)) throw BadInput("clock must be a Clock or the id of one, a str");
  return nb::cast<std::string>(id);
}

std::uint64_t duration_ns(double value_s, const char* name) {
  if (!(value_s >= 0.0) || value_s > 9e9) throw BadInput(text("%s must lie between 0 and 9e9 s, not %g", name, value_s));
  return static_cast<std::uint64_t>(std::llround(value_s * 1e9));
}

std::size_t count_of(nb::handle value, const char* name, Ns least) {
  const Ns number = instant(value, name);
  if (number < least) throw BadInput(text("%s must be >= %" PRId64 ", not %" PRId64, name, least, number));
  return static_cast<std::size_t>(number);
}

// Small results on the stack; a stream of images has width 0, one of joints a few dozen.
class Values {
 public:
  explicit Values(std::size_t n) : many_(n > few_.size() ? n : 0) {}
  double* data() noexcept { return many_.empty() ? few_.data() : many_.data(); }

 private:
  std::array<double, 64> few_;
  std::vector<double> many_;
};

double ms(std::uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

[[noreturn]] void refuse(const Stream& stream, const Answer& answer) {
  const char* name = stream.name.c_str();
  const Series& series = *stream.series;
  switch (answer.how) {
    case How::forgotten:
      raise("Forgotten", text("query is %.3f ms older than the oldest sample of '%s'; ask sooner, or keep more than %zu samples",
                              ms(answer.gap_ns), name, series.options().capacity));
    case How::gap:
      if (stream.holds_objects())
        raise("Gap", text("no sample of '%s' lies within %.3f ms of the query, those around it are %.3f ms apart; raise tolerance_s or "
                          "use hold",
                          name, ms(series.options().tolerance_ns), ms(answer.gap_ns)));
      raise("Gap", text("the samples of '%s' around the query are %.3f ms apart and %.3f ms are allowed; raise max_gap_s or use hold", name,
                        ms(answer.gap_ns), ms(series.options().max_gap_ns)));
    default:
      if (answer.gap_ns > 0)
        raise("NotYet", text("query is %.3f ms newer than the newest sample of '%s'; wait or use hold", ms(answer.gap_ns), name));
      raise("NotYet", text("'%s' holds %zu samples, too few for this query; wait", name, series.size()));
  }
}

Ns reported(std::uint64_t ns) { return ns > INT64_MAX ? INT64_MAX : static_cast<Ns>(ns); }

nb::object value_of(const Stream& stream, const double* values) {
  if (stream.holds_objects()) return stream.pool[static_cast<std::size_t>(values[0])];
  return frozen_array(values, stream.series->options().width);
}

using Query = Answer (Series::*)(Ns, double*, Series::Scratch&) const;

nb::object ask(const Stream& stream, nb::handle t_ns, Query query) {
  const Ns t = instant(t_ns);
  Series::Scratch scratch;
  Values values(stream.series->options().width);
  const Answer answer = ((*stream.series).*query)(t, values.data(), scratch);
  if (!answer.answered()) refuse(stream, answer);
  return nb::cast(Sample{t, value_of(stream, values.data()), answer.how, reported(answer.gap_ns), answer.age_ns, answer.bound});
}

nb::object rate_at(const Stream& stream, nb::handle t_ns) {
  const Series& series = *stream.series;
  const Interpolation kind = series.options().kind;
  if (kind == Interpolation::hold || kind == Interpolation::object)
    throw BadInput(text("'%s' is of kind %s, which has no rate", stream.name.c_str(), name_of(kind)));
  const std::size_t width = series.rate_size() > 0 ? series.rate_size() : series.options().width;
  Series::Scratch scratch;
  Values values(width);
  const Answer answer = series.rate_at(instant(t_ns), values.data(), scratch);
  if (!answer.answered()) refuse(stream, answer);
  return array(values.data(), width);
}

nb::object at_many(const Stream& stream, nb::handle t_ns) {
  const Numbers<Ns> times(t_ns, "t_ns");
  if (times.ndim() != 1) throw BadInput(text("t_ns must have 1 dimension, not %d", times.ndim()));
  const Series& series = *stream.series;
  Samples samples(series.options().kind, times.size(), stream.width());
  std::copy_n(times.data(), times.size(), samples.t_ns.get());
  const auto answer_all = [&](auto keep_value) {
    Series::Scratch scratch;
    Values unanswered(series.options().width);
    for (std::size_t i = 0; i < samples.size; ++i) {
      double* out = samples.values ? samples.values.get() + i * samples.width : unanswered.data();
      const Answer answer = series.at(samples.t_ns[i], out, scratch);
      samples.how[i] = answer.how;
      samples.gap_ns[i] = reported(answer.gap_ns);
      if (samples.age_ns) samples.age_ns[i] = answer.age_ns;
      samples.bound[i] = Coarse(answer.bound.value);
      if (samples.rotation_bound) samples.rotation_bound[i] = Coarse(answer.bound.rotation);
      keep_value(answer, out);
    }
  };
  if (stream.holds_objects()) {
    answer_all([&](const Answer& answer, const double* out) {
      samples.objects.push_back(answer.answered() ? value_of(stream, out) : nb::none());
    });
  } else {
    const auto keep = [width = samples.width](const Answer& answer, double* out) {
      if (!answer.answered()) std::fill_n(out, width, std::numeric_limits<double>::quiet_NaN());
    };
    // Handing over the GIL costs more than a few queries.
    if (samples.size < 256) {
      answer_all(keep);
    } else {
      const nb::gil_scoped_release release;
      answer_all(keep);
    }
  }
  return nb::cast(std::move(samples));
}

void push_object(Stream& stream, Ns t_ns, nb::handle value) {
  Series& series = *stream.series;
  const bool full = series.size() == series.options().capacity;
  const double oldest = full ? series.oldest_first_column() : 0.0;
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
    throw BadInput(text("'%s' is of kind %s, which takes no rate; use hermite, slerp or pose", stream.name.c_str(), name_of(kind)));
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

void push(Stream& stream, nb::handle t_ns, nb::handle value, nb::handle rate) {
  const Ns t = instant(t_ns);
  const bool rated = takes_rate(stream, !rate.is_none());
  if (stream.holds_objects()) return push_object(stream, t, value);
  const Row values(stream, value, "value", stream.series->options().width);
  if (!rated) return refuse_push(stream, stream.series->push(t, values.data()));
  const Row rates(stream, rate, "rate", stream.series->rate_size());
  refuse_push(stream, stream.series->push(t, values.data(), rates.data()));
}

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

nb::dict counts(const Stream& stream) {
  const Counts counts = stream.series->counts();
  nb::dict result;
  result["stored"] = counts.stored;
  result["duplicate"] = counts.duplicate;
  result["nonfinite"] = counts.nonfinite;
  result["nonunit"] = counts.nonunit;
  result["misshapen"] = stream.misshapen;
  result["forgotten"] = counts.forgotten;
  result["out_of_order"] = counts.out_of_order;
  result["overwritten"] = counts.overwritten;
  return result;
}

std::string repr_of_stream(const Stream& stream) {
  const auto newest = stream.series->newest_ns();
  const std::string last = newest ? text("newest %" PRId64 " ns", *newest) : std::string("empty");
  return text("Stream('%s', %s, width %zu, clock '%s', %zu of %zu samples, %s)", stream.name.c_str(),
              name_of(stream.series->options().kind), stream.width(), stream.clock.c_str(), stream.series->size(),
              stream.series->options().capacity, last.c_str());
}

// An object stream may hold what holds the stream: let Python's collector see and break the ring.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self))
    for (const nb::object& object : nb::inst_ptr<Stream>(self)->pool) Py_VISIT(object.ptr());
  return 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) {
    // The tickets stay valid: what they stood for becomes None.
    for (nb::object& object : nb::inst_ptr<Stream>(self)->pool)
      if (object.is_valid()) object = nb::none();
  }
  return 0;
}

PyType_Slot kCollected[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

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

void bind_sample(nb::module_& m) {
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
the neighbouring samples: for motion that is smooth at the stream's rate, and without the samples' own noise.)")
      .def("__repr__", &repr_of_sample)
      .def("__hash__", &hash_of_sample)
      .def("__eq__", &equal_to<Sample>, nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__reduce__", [](nb::pointer_and_handle<Sample> self) { return nb::make_tuple(self.h.type(), fields_of(*self.p)); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  m.attr("Sample").attr("__match_args__") = nb::make_tuple("t_ns", "value", "how", "gap_ns", "age_ns", "error_bound");
}

void bind_samples(nb::module_& m) {
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

void bind_stream(nb::module_& m) {
  nb::class_<Stream>(m, "Stream", R"(A bounded, sorted history of one signal on one clock: what was it at time t?

Memory is fixed. One thread at a time pushes, any number query; no query sees half a sample. Samples that arrive out of order
are inserted. An instant without an answer is refused, never clamped.

Args:
    name: Of the signal; errors name it.
    clock: A Clock or its id; all instants are on it.
    kind: "hold" (the sample before), "linear", "cubic" (through four samples, any spacing), "hermite" (cubic with the measured
        rates), "slerp" (quat_wxyz), "pose" (position xyz and quat_wxyz), "object" (any Python value: exact, or the nearest within
        tolerance_s, never interpolated).
    width: Numbers in a sample; 4 for slerp, 7 for pose, 0 for object.
    capacity: Samples kept, >= 1.
    max_gap_s: Samples further apart than this are a gap; None allows any.
    tolerance_s: Of object streams, how far from an instant the nearest sample may lie.

Raises:
    BadInput: an unknown kind, or numbers that do not fit it.)",
                     nb::type_slots(kCollected), nb::is_final())
      .def(nb::init<nb::handle, nb::handle, const std::string&, nb::handle, nb::handle, nb::handle, double>(), nb::arg("name"),
           nb::arg("clock"), nb::arg("kind"), nb::arg("width"), nb::arg("capacity"), nb::arg("max_gap_s").none() = nb::none(),
           nb::arg("tolerance_s") = 0.0,
           nb::sig("def __init__(self, name: str, clock: onbeat.clock.Clock | str, "
                   "kind: typing.Literal['hold', 'linear', 'cubic', 'hermite', 'slerp', 'pose', 'object'], width: int, capacity: int, "
                   "max_gap_s: float | None = None, tolerance_s: float = 0.0) -> None"))
      .def_ro("name", &Stream::name, "The name of the signal.")
      .def_ro("clock", &Stream::clock, "The id of the clock of all instants.")
      .def_prop_ro("kind", [](const Stream& self) { return name_of(self.series->options().kind); },
                   nb::sig("def kind(self) -> typing.Literal['hold', 'linear', 'cubic', 'hermite', 'slerp', 'pose', 'object']"),
                   "What lies between the samples.")
      .def_prop_ro("width", &Stream::width, "Numbers in a sample; 0 for objects.")
      .def_prop_ro("capacity", [](const Stream& self) { return self.series->options().capacity; }, "Samples kept.")
      .def_prop_ro("max_gap_ns",
                   [](const Stream& self) -> std::optional<std::uint64_t> {
                     const std::uint64_t gap = self.series->options().max_gap_ns;
                     return gap == std::numeric_limits<std::uint64_t>::max() ? std::nullopt : std::optional(gap);
                   },
                   "Samples further apart than this are a gap; None: any.")
      .def_prop_ro("tolerance_ns", [](const Stream& self) { return self.series->options().tolerance_ns; },
                   "Of object streams, how far from an instant the nearest sample may lie.")
      .def_prop_ro("newest_ns", [](const Stream& self) { return self.series->newest_ns(); }, "Instant of the newest sample; None when empty.")
      .def_prop_ro("oldest_ns", [](const Stream& self) { return self.series->oldest_ns(); },
                   "Instant of the oldest sample kept; None when empty.")
      .def_prop_ro("lag_ns", [](const Stream& self) { return self.series->lag_ns(); },
                   R"(How long after an instant a query for it can be answered.

The longest of the last sixteen intervals, twice for cubic (its second sample behind the instant), tolerance_s for object; None while
there are fewer than two samples.)")
      .def_prop_ro("counts", &counts, nb::sig("def counts(self) -> dict[str, int]"),
                   R"(What became of the pushes, by reason.

stored, duplicate (a sample of that instant was there: the first stays), nonfinite, nonunit (quaternion), misshapen, and forgotten
(older than all that a full stream keeps) add up to all pushes; out_of_order and overwritten are parts of stored.)")
      .def("__len__", [](const Stream& self) { return self.series->size(); }, "Samples kept now.")
      .def("push", &push, nb::arg("t_ns"), nb::arg("value").none(), nb::arg("rate").none() = nb::none(),
           nb::sig("def push(self, t_ns: int, value: typing.Any, rate: numpy.typing.ArrayLike | None = None) -> None"),
           R"(Store one sample. A duplicate, or one older than all that a full stream keeps, is counted and not stored.

Args:
    t_ns: When it was true, on the stream's clock.
    value: Shape (width,), or any object for an object stream. Quaternions may have either sign and come back sign-continuous.
    rate: Per second, for hermite (width,), slerp (omega in the body's frame, rad/s, 3) and pose (v in the world's frame in m/s, then
        omega in the body's frame in rad/s, 6). Between two samples with rates slerp and pose are cubic with these rates.

Raises:
    BadInput: a value that is not finite or of another shape, a quaternion whose norm is off by more than 0.01, or a rate that the
        kind does not take.)")
      .def("push_many", &push_many, nb::arg("t_ns"), nb::arg("values"), nb::arg("rates").none() = nb::none(),
           nb::sig("def push_many(self, t_ns: numpy.typing.ArrayLike, values: collections.abc.Sequence[typing.Any] | "
                   "numpy.typing.NDArray[typing.Any], rates: numpy.typing.ArrayLike | None = None) -> None"),
           R"(Store many samples, int64 of shape (n,) and values of shape (n, width); what cannot be stored is counted by reason.

Raises:
    BadInput: the lengths differ, or a rate is missing or not taken.)")
      .def(
          "at", [](const Stream& self, nb::handle t_ns) { return ask(self, t_ns, &Series::at); }, nb::arg("t_ns"),
          nb::sig("def at(self, t_ns: int) -> Sample"),
          R"(Say what the signal was at an instant.

Raises:
    NotYet: newer than the newest sample: wait.
    Forgotten: older than the oldest sample kept: too late.
    Gap: the samples around it are further apart than max_gap_s, or no object lies within tolerance_s.)")
      .def("at_many", &at_many, nb::arg("t_ns"), nb::sig("def at_many(self, t_ns: numpy.typing.ArrayLike) -> Samples"),
           R"(Say what the signal was at many instants, int64 of shape (n,), fastest when sorted.

Instants without an answer are marked in `how` (NOT_YET, FORGOTTEN, GAP) and have NaN values. Each answer is of one moment; pushes may
come between two answers.)")
      .def("rate_at", &rate_at, nb::arg("t_ns"), nb::sig("def rate_at(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64]"),
           R"(Say how fast the signal changed at an instant, per second: a new array.

Shape (width,); of slerp (3,): omega in the body's frame; of pose (6,): v in the world's frame, then omega in the body's frame. At a
sample the measured rate, or that of the bracket that begins there. Refuses as `at` does, and hold and object with BadInput.)")
      .def("__repr__", &repr_of_stream);
  m.def(
      "hold", [](const Stream& stream, nb::handle t_ns) { return ask(stream, t_ns, &Series::hold); }, nb::arg("stream"), nb::arg("t_ns"),
      nb::sig("def hold(stream: Stream, t_ns: int) -> Sample"),
      R"(Give the newest sample that is not after an instant, however old: its `how` is HELD and its `age_ns` says how old.

Raises:
    NotYet: the stream is empty.
    Forgotten: the instant is older than the oldest sample kept.)");
}

}  // namespace

Stream::Stream(nb::handle given_name, nb::handle given_clock, const std::string& kind, nb::handle width, nb::handle capacity,
               nb::handle max_gap_s, double tolerance_s)
    : name(nb::cast<std::string>(given_name)), clock(clock_id(given_clock)) {
  Series::Options options;
  options.kind = parse_kind(kind);
  const bool object = options.kind == Interpolation::object;
  options.width = count_of(width, "width", object ? 0 : 1);
  if (object && options.width != 0) throw BadInput(text("an object stream has width 0, not %zu", options.width));
  if (object) options.width = 1;
  options.capacity = count_of(capacity, "capacity", 1);
  if (!max_gap_s.is_none()) options.max_gap_ns = duration_ns(nb::cast<double>(max_gap_s), "max_gap_s");
  options.tolerance_ns = duration_ns(tolerance_s, "tolerance_s");
  if (!object && options.tolerance_ns > 0) throw BadInput(text("tolerance_s is for object streams, not for %s", kind.c_str()));
  series = std::make_unique<Series>(options);
  if (!object) return;
  pool.resize(options.capacity + 1);
  for (std::size_t ticket = pool.size(); ticket-- > 0;) free_tickets.push_back(ticket);
}

Coarse::Coarse(double value) noexcept {
  float rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) < value) rounded = std::nextafter(rounded, std::numeric_limits<float>::infinity());
  const auto bits = std::bit_cast<std::uint32_t>(rounded);
  // Not a number stays one; a positive number goes up to the next that ends in sixteen zeros.
  bits_ = static_cast<std::uint16_t>(std::isnan(value) ? 0x7fc0u : (bits + 0xffffu) >> 16);
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

void bind_series(nb::module_& m) {
  nb::enum_<How>(m, "How", nb::is_arithmetic(), "Where a value comes from, or why there is none.")
      .value("EXACT", How::exact, "a sample of that very instant")
      .value("INTERPOLATED", How::interpolated, "between two samples")
      .value("HELD", How::held, "an older sample, or the nearest object; age_ns says how old")
      .value("PREDICTED", How::predicted, "beyond the newest sample")
      .value("NOT_YET", How::not_yet, "newer than the newest sample: wait")
      .value("FORGOTTEN", How::forgotten, "older than the oldest sample kept: too late")
      .value("GAP", How::gap, "the samples around it are too far apart");
  bind_sample(m);
  bind_samples(m);
  bind_stream(m);
}

}  // namespace onbeat::bind
