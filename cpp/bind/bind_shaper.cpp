#include "convert.hpp"
#include "module.hpp"
#include "onbeat/online_shaper.hpp"

namespace onbeat::bind {

namespace {

// One number for every joint, or one for each.
double of(const Numbers<double>& values, std::size_t joint, std::size_t width, const char* name) {
  if (values.size() != 1 && values.size() != width)
    throw BadInput(text("%s has %zu numbers and the width is %zu; give one number, or one for each joint", name, values.size(), width));
  return values.data()[values.size() == 1 ? 0 : joint];
}

void construct(OnlineShaper* self, nb::handle max_speed, nb::handle max_acceleration, nb::handle max_jerk, nb::handle lower,
               nb::handle upper, std::size_t width, double dt_s) {
  const Numbers<double> speed(max_speed, "max_speed"), acceleration(max_acceleration, "max_acceleration"), jerk(max_jerk, "max_jerk"),
      low(lower, "lower"), high(upper, "upper");
  std::vector<ShaperLimits> limits;
  for (std::size_t k = 0; k < width; ++k)
    limits.push_back({of(speed, k, width, "max_speed"), of(acceleration, k, width, "max_acceleration"), of(jerk, k, width, "max_jerk"),
                      of(low, k, width, "lower"), of(high, k, width, "upper")});
  new (self) OnlineShaper(limits, dt_s);
}

void check_row(const Numbers<double>& row, std::size_t width, const char* name) {
  if (row.ndim() != 1 || row.size() != width) throw BadInput(text("%s must have the shape (%zu,)", name, width));
}

void begin(OnlineShaper& self, nb::handle position, nb::handle velocity, nb::handle acceleration) {
  const Numbers<double> p(position, "position"), v(velocity, "velocity"), a(acceleration, "acceleration");
  check_row(p, self.width(), "start");
  check_row(v, self.width(), "the velocity of start");
  check_row(a, self.width(), "the acceleration of start");
  std::vector<JointState> states;
  for (std::size_t k = 0; k < self.width(); ++k) states.push_back({p.data()[k], v.data()[k], a.data()[k]});
  self.begin(states);
}

[[noreturn]] void refuse(const Numbers<double>& row, const char* name) {
  for (std::size_t k = 0; k < row.size(); ++k)
    if (!std::isfinite(row.data()[k])) throw BadInput(text("%s has %g for joint %zu; every number must be finite", name, row.data()[k], k));
  throw BadInput(text("%s must be finite", name));
}

nb::object state(const OnlineShaper& self) {
  std::vector<double> values(3 * self.width());
  for (std::size_t k = 0; k < self.width(); ++k) {
    const JointState& s = self.state(k);
    values[k] = s.position;
    values[self.width() + k] = s.velocity;
    values[2 * self.width() + k] = s.acceleration;
  }
  const double* row = values.data();
  return nb::make_tuple(array(row, self.width()), array(row + self.width(), self.width()), array(row + 2 * self.width(), self.width()));
}

nb::object step(OnlineShaper& self, nb::handle target, nb::handle velocity) {
  const Numbers<double> goal(target, "target");
  check_row(goal, self.width(), "target");
  if (velocity.is_none()) {
    if (!self.step(goal.data(), nullptr)) refuse(goal, "target");
  } else {
    const Numbers<double> rate(velocity, "target_velocity");
    check_row(rate, self.width(), "target_velocity");
    if (!self.step(goal.data(), rate.data())) {
      for (std::size_t k = 0; k < self.width(); ++k)
        if (!std::isfinite(goal.data()[k])) refuse(goal, "target");
      refuse(rate, "target_velocity");
    }
  }
  return state(self);
}

std::vector<StopRamp::Piece> used(const StopRamp& ramp) {
  std::vector<StopRamp::Piece> pieces;
  for (const StopRamp::Piece& piece : ramp.pieces())
    if (piece.duration_s > 0) pieces.push_back(piece);
  return pieces;
}

nb::object stop_pieces(double velocity, double acceleration, double max_acceleration, double max_jerk) {
  nb::list out;
  for (const StopRamp::Piece& piece : used(StopRamp({0.0, velocity, acceleration}, max_acceleration, max_jerk)))
    out.append(nb::make_tuple(piece.duration_s, piece.jerk));
  return out;
}

}  // namespace

void bind_shaper(nb::module_& m) {
  nb::class_<OnlineShaper>(m, "ShaperCore", "What onbeat.motion.OnlineShaper steps with.", nb::is_final())
      .def("__init__", &construct, nb::arg("max_speed"), nb::arg("max_acceleration"), nb::arg("max_jerk"), nb::arg("lower"),
           nb::arg("upper"), nb::arg("width"), nb::arg("dt_s"),
           nb::sig("def __init__(self, max_speed: numpy.typing.ArrayLike, max_acceleration: numpy.typing.ArrayLike, "
                   "max_jerk: numpy.typing.ArrayLike, lower: numpy.typing.ArrayLike, upper: numpy.typing.ArrayLike, "
                   "width: int, dt_s: float) -> None"))
      .def_prop_ro("begun", &OnlineShaper::begun, "Whether it knows where it is.")
      .def("begin", &begin, nb::arg("position"), nb::arg("velocity"), nb::arg("acceleration"),
           nb::sig("def begin(self, position: numpy.typing.ArrayLike, velocity: numpy.typing.ArrayLike, "
                   "acceleration: numpy.typing.ArrayLike) -> None"),
           "Say where the motion begins; forgets the targets before.")
      .def("step", &step, nb::arg("target"), nb::arg("velocity").none(),
           nb::sig("def step(self, target: numpy.typing.ArrayLike, velocity: numpy.typing.ArrayLike | None) "
                   "-> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
           "Move one period on and give position, velocity and acceleration.")
      .def("state", &state,
           nb::sig("def state(self) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], "
                   "numpy.typing.NDArray[numpy.float64]]"),
           "Give position, velocity and acceleration as they were last given.");
  m.def("stop_pieces", &stop_pieces, nb::arg("velocity"), nb::arg("acceleration"), nb::arg("max_acceleration"), nb::arg("max_jerk"),
        nb::sig("def stop_pieces(velocity: float, acceleration: float, max_acceleration: float, max_jerk: float) -> list[tuple[float, float]]"),
        "Give the pieces of the fastest way to rest: duration in s, jerk.");
}

}  // namespace onbeat::bind
