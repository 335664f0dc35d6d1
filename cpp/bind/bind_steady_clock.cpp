#include <time.h>

#include "convert.hpp"
#include "module.hpp"
#include "onbeat/steady_clock.hpp"

namespace onbeat::bind {

namespace {

void check_set(const SteadyClock& self) {
  if (!self.set()) raise("NotSynced", "the clock has not been synchronised yet; wait for the first exchange with its server");
}

constexpr Ns kFarthest = Ns{1} << 61;  // as of ClockModel: so that sums and differences fit

Ns near(nb::handle value, const char* name) {
  const Ns t = instant(value, name);
  if (t < -kFarthest || t > kFarthest) throw BadInput(text("%s of %lld ns is beyond 73 years from zero; check its unit", name, static_cast<long long>(t)));
  return t;
}

Ns monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Ns>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Ns now_ns(SteadyClock& self) {
  check_set(self);
  return self.read(monotonic_ns());
}

// Both ends of one look. No reader of this process comes in between (the GIL is kept), so the reading is of that very instant.
nb::tuple look(SteadyClock& self) {
  check_set(self);
  const Ns now = monotonic_ns();
  return nb::make_tuple(now, self.read(now));
}

}  // namespace

void bind_steady_clock(nb::module_& m) {
  nb::class_<SteadyClock>(m, "SteadyClock", "What onbeat.clock.SyncedClock reads: never back, and never faster or slower than 500 ppm.",
                          nb::is_final())
      .def(nb::init<>())
      .def(
          "update", [](SteadyClock& self, nb::handle now, nb::handle offset, double skew,
                       bool new_epoch) { self.update(near(now, "now_ns"), near(offset, "offset_ns"), skew, new_epoch); },
          nb::arg("now_ns"), nb::arg("offset_ns"), nb::arg("skew"), nb::arg("new_epoch"),
          nb::sig("def update(self, now_ns: int, offset_ns: int, skew: float, new_epoch: bool) -> None"),
          "Follow the reference, which reads now + offset.")
      .def("now_ns", &now_ns, "Read it at this machine's monotonic clock; NotSynced before the first update.")
      .def("look", &look, nb::sig("def look(self) -> tuple[int, int]"), "The monotonic clock and the reading at that instant.")
      .def(
          "read_ns", [](SteadyClock& self, nb::handle now) { return check_set(self), self.read(near(now, "now_ns")); },
          nb::arg("now_ns"), nb::sig("def read_ns(self, now_ns: int) -> int"), "Read it at an instant of ours that is given.")
      .def_prop_ro("set", &SteadyClock::set, "Whether it was updated once.");
}

}  // namespace onbeat::bind
