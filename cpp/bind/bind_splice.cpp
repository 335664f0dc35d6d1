// Rows in, a plan and columns of outcomes out: no object is made for a waypoint.
#include "onbeat/splice.hpp"

#include <algorithm>
#include <utility>

#include "bind_trajectory.hpp"
#include "convert.hpp"
#include "module.hpp"

namespace onbeat::bind {

namespace {

using Self = nb::pointer_and_handle<Fates>;

Waypoints of_chunk(nb::handle anchor_ns, nb::handle step_ns, nb::handle first_step, nb::handle targets) {
  const Numbers<double> rows(targets, "targets");
  if (rows.ndim() != 2) throw BadInput(text("targets must have the shape (n, width), not %d dimension(s)", rows.ndim()));
  return {chunk_instants(instant(anchor_ns, "anchor_ns"), instant(step_ns, "step_ns"), instant(first_step, "first_step"), rows.shape(0)),
          rows.copy(), rows.shape(1)};
}

Waypoints of_waypoints(nb::handle waypoints) {
  Waypoints result;
  const std::size_t n = nb::len(waypoints);
  result.t_ns.reserve(n);
  for (std::size_t k = 0; k < n; ++k) {
    const nb::object waypoint = waypoints[k];
    result.t_ns.push_back(instant(waypoint.attr("t_ns"), "t_ns"));
    const Numbers<double> target(waypoint.attr("target"), "target");
    if (k == 0) {
      result.width = target.size();
      result.targets.reserve(n * result.width);
    } else if (target.size() != result.width) {
      throw BadInput(text("the waypoints have different widths: waypoint 0 has %zu and waypoint %zu has %zu", result.width, k, target.size()));
    }
    result.targets.insert(result.targets.end(), target.data(), target.data() + target.size());
  }
  return result;
}

nb::tuple spliced(const Plan& plan, const Waypoints& rows, const MoveLimits* limits, nb::handle now_ns, nb::handle lead_ns,
                  nb::handle first_usable_ns, nb::handle clamp_ns, bool scale) {
  SpliceOptions options{instant(now_ns, "now_ns"), instant(lead_ns, "lead_ns")};
  if (!first_usable_ns.is_none()) options.first_usable_ns = instant(first_usable_ns, "first_usable_ns");
  options.clamp_ns = instant(clamp_ns, "period_ns");
  options.scale = scale;
  Splice result = splice(*plan.path, rows, limits == nullptr ? MoveLimits() : *limits, options);
  return nb::make_tuple(result.plan ? nb::cast(Plan{std::move(result.plan)}) : nb::none(), std::move(result.fates),
                        result.tail.size() > 0 ? nb::cast(std::move(result.tail)) : nb::none(), result.outside, result.stretched);
}

template <class T>
nb::object column(Self self, const T* data) {
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {self.p->size()}, self.h));
}

nb::object targets_of(Self self) {
  const Waypoints& rows = self.p->waypoints;
  return nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<2>>(rows.targets.data(), {rows.size(), rows.width}, self.h));
}

nb::object codes_of(Self self) {
  static_assert(sizeof(Fate) == sizeof(std::int8_t));
  return column(self, reinterpret_cast<const std::int8_t*>(self.p->codes.data()));
}

std::size_t count(const Fates& self, int code) {
  return static_cast<std::size_t>(std::count(self.codes.begin(), self.codes.end(), static_cast<Fate>(code)));
}

nb::tuple at(const Fates& self, nb::ssize_t index) {
  const auto n = static_cast<nb::ssize_t>(self.size());
  if (index < -n || index >= n) throw nb::index_error("there is no such outcome");
  const auto k = static_cast<std::size_t>(index < 0 ? index + n : index);
  return nb::make_tuple(self.waypoints.t_ns[k], frozen_array(self.waypoints.row(k), self.waypoints.width),
                        static_cast<int>(self.codes[k]), self.by_ns[k], self.due_ns[k]);
}

Fates rejected(const Fates& self) {
  Fates result = self;
  std::fill(result.codes.begin(), result.codes.end(), Fate::rejected);
  return result;
}

void construct(Fates* self, nb::handle times_ns, nb::handle targets, nb::handle codes, nb::handle by_ns, nb::handle due_ns) {
  const Numbers<Ns> times(times_ns, "times_ns"), kinds(codes, "codes"), by(by_ns, "by_ns"), due(due_ns, "due_ns");
  const Numbers<double> rows(targets, "targets");
  if (rows.ndim() != 2 || rows.shape(0) != times.size() || kinds.size() != times.size() || by.size() != times.size() ||
      due.size() != times.size())
    throw BadInput("outcomes need one row in each column");
  std::vector<Fate> fates;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (kinds.data()[k] < 0 || kinds.data()[k] > static_cast<Ns>(Fate::rejected))
      throw BadInput(text("outcome %zu has the code %lld; there are 0 to 4", k, static_cast<long long>(kinds.data()[k])));
    fates.push_back(static_cast<Fate>(kinds.data()[k]));
  }
  new (self) Fates{{times.copy(), rows.copy(), rows.shape(1)}, std::move(fates), by.copy(), due.copy()};
}

}  // namespace

void bind_splice(nb::module_& m) {
  nb::class_<Waypoints>(m, "Rows", "Waypoints as columns, for splice.", nb::is_final())
      .def_static("of_chunk", &of_chunk, nb::arg("anchor_ns"), nb::arg("step_ns"), nb::arg("first_step"), nb::arg("targets"),
                  nb::sig("def of_chunk(anchor_ns: int, step_ns: int, first_step: int, targets: numpy.typing.ArrayLike) -> Rows"))
      .def_static("of_waypoints", &of_waypoints, nb::arg("waypoints"),
                  nb::sig("def of_waypoints(waypoints: typing.Sequence[typing.Any]) -> Rows"));

  nb::class_<Fates>(m, "Fates", "What became of waypoints, as columns.", nb::is_final())
      .def("__init__", &construct, nb::arg("times_ns"), nb::arg("targets"), nb::arg("codes"), nb::arg("by_ns"), nb::arg("due_ns"),
           nb::sig("def __init__(self, times_ns: numpy.typing.ArrayLike, targets: numpy.typing.ArrayLike, codes: numpy.typing.ArrayLike, "
                   "by_ns: numpy.typing.ArrayLike, due_ns: numpy.typing.ArrayLike) -> None"))
      .def_prop_ro(
          "times_ns", [](Self self) { return column(self, self.p->waypoints.t_ns.data()); },
          nb::sig("def times_ns(self) -> numpy.typing.NDArray[numpy.int64]"), "Instants of the waypoints, shape (n,).")
      .def_prop_ro("targets", &targets_of, nb::sig("def targets(self) -> numpy.typing.NDArray[numpy.float64]"),
                   "Targets as given, shape (n, width).")
      .def_prop_ro("codes", &codes_of, nb::sig("def codes(self) -> numpy.typing.NDArray[numpy.int8]"), "Kinds by number, shape (n,).")
      .def_prop_ro(
          "by_ns", [](Self self) { return column(self, self.p->by_ns.data()); },
          nb::sig("def by_ns(self) -> numpy.typing.NDArray[numpy.int64]"), "How much, >= 0, shape (n,).")
      .def_prop_ro(
          "due_ns", [](Self self) { return column(self, self.p->due_ns.data()); },
          nb::sig("def due_ns(self) -> numpy.typing.NDArray[numpy.int64]"), "Instants of sending, shape (n,).")
      .def("__len__", &Fates::size)
      .def("count", &count, nb::arg("code"), "Count the waypoints of one kind.")
      .def("rejected", &rejected, "Give the same with every waypoint rejected.")
      .def("__getitem__", &at, nb::arg("index"),
           nb::sig("def __getitem__(self, index: int) -> tuple[int, numpy.typing.NDArray[numpy.float64], int, int, int]"),
           "Give the instant, the target, the kind's number, by_ns and due_ns of one.")
      .def(
          "__reduce__",
          [](Self self) {
            const nb::object codes = codes_of(self).attr("astype")("int64");
            return nb::make_tuple(self.h.type(), nb::make_tuple(column(self, self.p->waypoints.t_ns.data()), targets_of(self), codes,
                                                                column(self, self.p->by_ns.data()), column(self, self.p->due_ns.data())));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));

  m.def("splice", &spliced, nb::arg("plan"), nb::arg("rows"), nb::arg("limits").none(), nb::arg("now_ns"), nb::arg("lead_ns"),
        nb::arg("first_usable_ns").none(), nb::arg("clamp_ns"), nb::arg("scale"),
        nb::sig("def splice(plan: Trajectory, rows: Rows, limits: MoveLimits | None, now_ns: int, lead_ns: int, first_usable_ns: int | None, "
                "clamp_ns: int, scale: bool) -> tuple[Trajectory | None, Fates, Fates | None, bool, bool]"),
        R"(Splice rows into a plan.

Returns:
    The new plan or None where the old one goes on, the outcomes, those of the old plan's knots that lost their place or None,
    whether a target leaves the range (nothing was planned), and whether a move takes longer than was asked for.)");
}

}  // namespace onbeat::bind
