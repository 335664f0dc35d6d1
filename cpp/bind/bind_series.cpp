#include "bind_series.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cinttypes>
#include <cmath>
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

[[noreturn]] void refuse(const Stream& stream, const Answer& answer) {
  const char* name = stream.name.c_str();
  const Series& series = *stream.series;
  switch (answer.how) {
    case How::forgotten:
      raise("Forgotten", text("query is %.3f ms older than the oldest sample of '%s'; ask sooner, or keep more than %zu samples",
                              milliseconds(answer.gap_ns), name, series.options().capacity));
    case How::gap:
      if (stream.holds_objects())
        raise("Gap", text("no sample of '%s' lies within %.3f ms of the query, those around it are %.3f ms apart; raise tolerance_s or "
                          "use hold",
                          name, milliseconds(series.options().tolerance_ns), milliseconds(answer.gap_ns)));
      raise("Gap", text("the samples of '%s' around the query are %.3f ms apart and %.3f ms are allowed; raise max_gap_s or use hold", name,
                        milliseconds(answer.gap_ns), milliseconds(series.options().max_gap_ns)));
    default:
      if (answer.gap_ns > 0)
        raise("NotYet", text("query is %.3f ms newer than the newest sample of '%s'; wait or use hold", milliseconds(answer.gap_ns), name));
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
  // Rounded as in at_many, so that both give the same sample.
  const ErrorBound bound{Coarse(answer.bound.value).value(), Coarse(answer.bound.rotation).value()};
  return nb::cast(Sample{t, value_of(stream, values.data()), answer.how, reported(answer.gap_ns), answer.age_ns, bound});
}

nb::object rate_at(const Stream& stream, nb::handle t_ns) {
  const Series& series = *stream.series;
  const Interpolation kind = series.options().kind;
  if (kind == Interpolation::hold || kind == Interpolation::object)
    throw BadInput(text("'%s' is of kind %s, which has no rate", stream.name.c_str(), kind_name(kind)));
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
              kind_name(stream.series->options().kind), stream.width(), stream.clock.c_str(), stream.series->size(),
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

}  // namespace

const char* kind_name(Interpolation kind) { return kKinds[static_cast<std::size_t>(kind)].first; }

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

void bind_series(nb::module_& m) {
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
      .def_prop_ro("kind", [](const Stream& self) { return kind_name(self.series->options().kind); },
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

}  // namespace onbeat::bind
