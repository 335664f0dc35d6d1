#include "convert.hpp"
#include "module.hpp"
#include "onbeat/limits.hpp"

namespace onbeat::bind {

namespace {

std::vector<double> limit(nb::handle value, const char* name) {
  if (value.is_none()) return {};
  if (PyFloat_Check(value.ptr())) return {PyFloat_AsDouble(value.ptr())};
  return Numbers<double>(value, name).copy();
}

void construct(MoveLimits* self, nb::handle max_speed, nb::handle lower, nb::handle upper, nb::handle max_angular_speed) {
  const double angular = max_angular_speed.is_none() ? std::numeric_limits<double>::infinity() : nb::cast<double>(max_angular_speed);
  new (self) MoveLimits(limit(max_speed, "max_speed"), limit(lower, "lower"), limit(upper, "upper"), angular);
}

nb::object column(const std::vector<double>& values) {
  return values.empty() ? nb::none() : frozen_array(values.data(), values.size());
}

Trajectory::Kind kind_of(bool pose) { return pose ? Trajectory::Kind::pose : Trajectory::Kind::linear; }

// Rows of one width: shape (n, width).
std::size_t width_of(const Numbers<double>& rows, const char* name) {
  if (rows.ndim() != 2) throw BadInput(text("%s must have the shape (n, width), not %d dimension(s)", name, rows.ndim()));
  return rows.shape(1);
}

template <class T>
auto made_here(T* out, std::size_t n) {
  const nb::capsule owner(out, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(out, {n}, owner);
}

auto shortest_ns(const MoveLimits& self, nb::handle starts, nb::handle ends, bool pose) {
  const Numbers<double> from(starts, "starts"), to(ends, "ends");
  const std::size_t width = width_of(from, "starts");
  if (width_of(to, "ends") != width || to.size() != from.size())
    throw BadInput(text("starts have the shape (%zu, %zu) and ends (%zu, %zu); give one end for each start", from.shape(0), width,
                        to.shape(0), to.shape(1)));
  if (pose && width != Trajectory::kPoseWidth) throw BadInput(text("a pose has 7 numbers (position xyz and quat_wxyz), not %zu", width));
  self.check(width, kind_of(pose));
  auto* out = new Ns[from.shape(0)];
  for (std::size_t k = 0; k < from.shape(0); ++k)
    out[k] = self.shortest_ns(from.data() + k * width, to.data() + k * width, width, kind_of(pose));
  return made_here(out, from.shape(0));
}

auto out_of_range(const MoveLimits& self, nb::handle targets, bool pose) {
  const Numbers<double> rows(targets, "targets");
  const std::size_t width = width_of(rows, "targets");
  self.check(width, kind_of(pose));
  auto* out = new bool[rows.shape(0)];
  for (std::size_t k = 0; k < rows.shape(0); ++k) out[k] = self.outside(rows.data() + k * width, width, kind_of(pose));
  return made_here(out, rows.shape(0));
}

}  // namespace

void bind_limits(nb::module_& m) {
  nb::class_<MoveLimits>(m, "MoveLimits", "What onbeat.motion.Limits has prepared: how long moves must take, and what is out of range.",
                         nb::is_final())
      .def("__init__", &construct, nb::arg("max_speed").none(), nb::arg("lower").none(), nb::arg("upper").none(),
           nb::arg("max_angular_speed").none(),
           nb::sig("def __init__(self, max_speed: numpy.typing.ArrayLike | None, lower: numpy.typing.ArrayLike | None, "
                   "upper: numpy.typing.ArrayLike | None, max_angular_speed: float | None) -> None"))
      .def("shortest_ns", &shortest_ns, nb::arg("starts"), nb::arg("ends"), nb::arg("pose"),
           nb::sig("def shortest_ns(self, starts: numpy.typing.ArrayLike, ends: numpy.typing.ArrayLike, pose: bool) "
                   "-> numpy.typing.NDArray[numpy.int64]"),
           "Give the shortest time of each move, rounded up to a nanosecond.")
      .def("out_of_range", &out_of_range, nb::arg("targets"), nb::arg("pose"),
           nb::sig("def out_of_range(self, targets: numpy.typing.ArrayLike, pose: bool) -> numpy.typing.NDArray[numpy.bool_]"),
           "Say which rows leave the range.")
      .def(
          "__reduce__",
          [](nb::pointer_and_handle<MoveLimits> self) {
            return nb::make_tuple(self.h.type(), nb::make_tuple(column(self.p->max_speed()), column(self.p->lower()),
                                                                column(self.p->upper()), self.p->max_angular_speed()));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
}

}  // namespace onbeat::bind
