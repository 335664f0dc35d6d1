#include "bind_trajectory.hpp"

#include <nanobind/stl/string.h>

#include <functional>

#include "convert.hpp"
#include "module.hpp"

namespace onbeat::bind {

namespace {

using Self = nb::pointer_and_handle<Plan>;

Trajectory::Kind parse_kind(const std::string& kind) {
  if (kind == "linear") return Trajectory::Kind::linear;
  if (kind == "pose") return Trajectory::Kind::pose;
  throw BadInput(text("kind must be 'linear' or 'pose', not '%s'", kind.c_str()));
}

const char* name_of(Trajectory::Kind kind) { return kind == Trajectory::Kind::pose ? "pose" : "linear"; }

void construct(Plan* self, nb::handle times_ns, nb::handle targets, const std::string& kind, nb::handle lead_ns, nb::handle due_ns) {
  const Numbers<Ns> times(times_ns, "times_ns");
  const Numbers<double> values(targets, "targets");
  if (times.ndim() != 1) throw BadInput(text("times_ns must have 1 dimension, not %d", times.ndim()));
  if (values.ndim() != 2) throw BadInput(text("targets must have the shape (n, width), not %d dimension(s)", values.ndim()));
  if (values.shape(0) != times.size())
    throw BadInput(text("there are %zu instants and %zu targets; give one target for each instant", times.size(), values.shape(0)));
  std::vector<Ns> due;
  if (!due_ns.is_none()) due = Numbers<Ns>(due_ns, "due_ns").copy();
  new (self) Plan{std::make_shared<const Trajectory>(times.copy(), values.copy(), values.shape(1), parse_kind(kind),
                                                     instant(lead_ns, "lead_ns"), std::move(due))};
}

using Evaluate = void (Trajectory::*)(Ns, double*) const noexcept;

nb::object evaluate(const Trajectory& path, nb::handle t_ns, Evaluate what, std::size_t width) {
  double few[32];
  std::vector<double> many;
  double* out = few;
  if (width > 32) {
    many.resize(width);
    out = many.data();
  }
  (path.*what)(instant(t_ns), out);
  return array(out, width);
}

nb::object at_many(const Plan& self, nb::handle t_ns) {
  const Numbers<Ns> times(t_ns, "t_ns");
  if (times.ndim() != 1) throw BadInput(text("t_ns must have 1 dimension, not %d", times.ndim()));
  const Trajectory& path = *self.path;
  auto* out = new double[times.size() * path.width()];
  const nb::capsule owner(out, [](void* memory) noexcept { delete[] static_cast<double*>(memory); });
  {
    const nb::gil_scoped_release release;
    for (std::size_t i = 0; i < times.size(); ++i) path.at(times.data()[i], out + i * path.width());
  }
  return nb::cast(nb::ndarray<nb::numpy, double>(out, {times.size(), path.width()}, owner));
}

std::string repr(const Plan& self) {
  const Trajectory& path = *self.path;
  return text("Trajectory(%s, width %zu, %zu knots from %lld ns over %.3f ms, lead %.3f ms)", name_of(path.kind()), path.width(),
              path.size(), static_cast<long long>(path.start_ns()), milliseconds(path.start_ns(), path.end_ns()),
              milliseconds(0, path.lead_ns()));
}

Py_hash_t hash(const Plan& self) {
  std::size_t result = self.path->size();
  const auto mix = [&result](std::size_t value) { result ^= value + 0x9e3779b97f4a7c15u + (result << 6) + (result >> 2); };
  for (const Ns t_ns : self.path->times_ns()) mix(std::hash<Ns>{}(t_ns));
  for (const double value : self.path->targets()) mix(std::hash<double>{}(value));
  return static_cast<Py_hash_t>(result >> 1);
}

}  // namespace

void bind_trajectory(nb::module_& m) {
  nb::class_<Plan>(m, "Trajectory", R"(A path through knots: where to be, when. Immutable; equality is by value.

Before the first knot the path stays at the first and after the last at the last, with zero velocity: the end of a plan is a
place to stay.

Args:
    times_ns: Instants of the knots on the robot's clock, int64, strictly increasing. Shape (n,), n >= 1.
    targets: Finite. Shape (n, width). Kind "pose" has width 7: position xyz in metres and quat_wxyz.
    kind: "linear", or "pose": position linear, rotation along the short arc at constant rate (slerp), its sign continuous.
    lead_ns: How much earlier than their waypoints are due the knots lie, >= 0. The knots are shifted already; this is for bookkeeping.
    due_ns: When each knot had to be reached, int64 of shape (n,), at or before its instant: earlier where `schedule` stretched a
        move. Not given: no knot is late. Bookkeeping too.

Raises:
    BadInput: knots that are not strictly increasing, targets that are not finite or of another shape, quaternions whose norm
        is off by more than 0.01.)",
                  nb::is_final())
      .def("__init__", &construct, nb::arg("times_ns"), nb::arg("targets"), nb::arg("kind") = "linear", nb::arg("lead_ns") = 0,
           nb::arg("due_ns").none() = nb::none(),
           nb::sig("def __init__(self, times_ns: numpy.typing.ArrayLike, targets: numpy.typing.ArrayLike, "
                   "kind: typing.Literal['linear', 'pose'] = 'linear', lead_ns: int = 0, "
                   "due_ns: numpy.typing.ArrayLike | None = None) -> None"))
      .def_prop_ro("width", [](const Plan& self) { return self.path->width(); }, "Numbers in a target.")
      .def_prop_ro(
          "times_ns",
          [](Self self) {
            const auto& times = self.p->path->times_ns();
            return nb::ndarray<nb::numpy, const Ns, nb::ndim<1>>(times.data(), {times.size()}, self.h);
          },
          nb::sig("def times_ns(self) -> numpy.typing.NDArray[numpy.int64]"), "Instants of the knots, shape (n,), read-only.")
      .def_prop_ro(
          "targets",
          [](Self self) {
            const Trajectory& path = *self.p->path;
            return nb::ndarray<nb::numpy, const double, nb::ndim<2>>(path.targets().data(), {path.size(), path.width()}, self.h);
          },
          nb::sig("def targets(self) -> numpy.typing.NDArray[numpy.float64]"), "The knots as given, shape (n, width), read-only.")
      .def_prop_ro(
          "due_ns",
          [](Self self) {
            const auto& due = self.p->path->due_ns();
            return nb::ndarray<nb::numpy, const Ns, nb::ndim<1>>(due.data(), {due.size()}, self.h);
          },
          nb::sig("def due_ns(self) -> numpy.typing.NDArray[numpy.int64]"),
          "When each knot had to be reached, shape (n,), read-only; before its instant where a move was stretched.")
      .def_prop_ro("start_ns", [](const Plan& self) { return self.path->start_ns(); }, "Instant of the first knot.")
      .def_prop_ro("end_ns", [](const Plan& self) { return self.path->end_ns(); }, "Instant of the last knot.")
      .def_prop_ro("lead_ns", [](const Plan& self) { return self.path->lead_ns(); },
                   "How much earlier than their waypoints are due the knots lie.")
      .def_prop_ro("kind", [](const Plan& self) { return name_of(self.path->kind()); },
                   nb::sig("def kind(self) -> typing.Literal['linear', 'pose']"), "What lies between the knots.")
      .def("__len__", [](const Plan& self) { return self.path->size(); }, "Number of knots.")
      .def(
          "at_ns",
          [](const Plan& self, nb::handle t_ns) { return evaluate(*self.path, t_ns, &Trajectory::at, self.path->width()); },
          nb::arg("t_ns"), nb::sig("def at_ns(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64]"),
          "Evaluate the path at an instant: a new array of shape (width,).")
      .def(
          "velocity_at_ns",
          [](const Plan& self, nb::handle t_ns) {
            return evaluate(*self.path, t_ns, &Trajectory::velocity_at, self.path->velocity_width());
          },
          nb::arg("t_ns"), nb::sig("def velocity_at_ns(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64]"),
          R"(Evaluate the velocity from an instant on, per second: a new array of shape (width,).

Of a pose, shape (6,): v in the world's frame in m/s and omega in the body's frame in rad/s. At a knot it is the velocity of the
segment that begins there, so zero at the last.)")
      .def("at_many", &at_many, nb::arg("t_ns"),
           nb::sig("def at_many(self, t_ns: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]"),
           "Evaluate the path at many instants, int64 of shape (n,), in any order: a new array of shape (n, width).")
      .def("__repr__", &repr)
      .def("__hash__", &hash)
      .def(
          "__eq__",
          [](const Plan& self, nb::handle other) {
            const Plan* plan = nullptr;
            return nb::try_cast<const Plan*>(other, plan) && plan != nullptr && *self.path == *plan->path;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__reduce__",
          [](Self self) {
            return nb::make_tuple(self.h.type(), nb::make_tuple(self.h.attr("times_ns"), self.h.attr("targets"), self.h.attr("kind"),
                                                                self.h.attr("lead_ns"), self.h.attr("due_ns")));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
}

}  // namespace onbeat::bind
