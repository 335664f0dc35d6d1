#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bind_trajectory.hpp"
#include "convert.hpp"
#include "module.hpp"
#include "onbeat/cycle.hpp"
#include "onbeat/realtime.hpp"
#include "onbeat/send_loop.hpp"

namespace onbeat::bind {

namespace {

OnLate parse_on_late(const std::string& name) {
  if (name == "skip") return OnLate::skip;
  if (name == "hold") return OnLate::hold;
  if (name == "stop") return OnLate::stop;
  throw BadInput(text("on_late must be 'skip', 'hold' or 'stop', not '%s'", name.c_str()));
}

std::vector<double> bound(nb::handle value, const char* name) {
  if (value.is_none()) return {};
  return Numbers<double>(value, name).copy();
}

Ns option(nb::handle value, const char* name) {
  if (value.is_none()) return CycleOptions::kNever;
  const Ns ns = instant(value, name);
  if (ns < 0) throw BadInput(text("%s must be >= 0, not %.9g s", name, static_cast<double>(ns) * 1e-9));
  return ns;
}

std::shared_ptr<Cycle> make_cycle(nb::handle whole, nb::handle part, nb::handle parts, const Plan& plan, nb::handle max_speed,
                                  nb::handle lower, nb::handle upper, double max_angular_speed, nb::handle lead_ns, const std::string& on_late,
                                  long long record_capacity, nb::handle max_acceleration, nb::handle max_jerk, nb::handle extrapolate_ns,
                                  nb::handle stale_ns, nb::handle phase_ns, bool feedback, double k_ff) {
  if (record_capacity < 1 || record_capacity > 1LL << 24)
    throw BadInput(text("record_capacity must lie in 1..16777216, not %lld", record_capacity));
  return std::make_shared<Cycle>(Period{instant(whole, "period"), instant(part, "period"), instant(parts, "period")}, plan.path,
                                 SendLimits{bound(max_speed, "max_speed"), bound(lower, "lower"), bound(upper, "upper"), max_angular_speed,
                                            bound(max_acceleration, "max_acceleration"), bound(max_jerk, "max_jerk")},
                                 instant(lead_ns, "lead_ns"), parse_on_late(on_late), static_cast<std::size_t>(record_capacity),
                                 CycleOptions{option(extrapolate_ns, "extrapolate_s"), option(stale_ns, "stale_s"), option(phase_ns, "phase_s"), feedback, k_ff});
}

// The records as rows of eight int64, in the order of CycleRecord.
nb::ndarray<nb::numpy, Ns, nb::ndim<2>> records(Cycle& self) {
  auto* drained = new std::vector<CycleRecord>(self.drain());
  const nb::capsule owner(drained, [](void* memory) noexcept { delete static_cast<std::vector<CycleRecord>*>(memory); });
  return nb::ndarray<nb::numpy, Ns, nb::ndim<2>>(drained->data(), {drained->size(), 8}, owner);
}

nb::tuple counts(const Cycle& self) {
  const CycleCounts n = self.counts();
  return nb::make_tuple(n.cycles, n.missed, n.late, n.limited, n.would_block, n.dropped_records);
}

nb::tuple realtime(const SendLoop& self) {
  RealtimeReport report;
  {
    const nb::gil_scoped_release release;
    report = self.realtime();
  }
  return nb::make_tuple(report.fifo, report.affinity, report.stack_lock, report.record_lock, report.locked_bytes);
}

nb::tuple stopped(const SendLoop& self) {
  Stop stop;
  {
    const nb::gil_scoped_release release;
    stop = self.stopped();
  }
  const char* reason = stop.reason == StopReason::late ? "late" : stop.reason == StopReason::sink_failed ? "sink" : "";
  return nb::make_tuple(reason, stop.error, stop.lateness_ns, stop.deadline_ns);
}

using Release = nb::call_guard<nb::gil_scoped_release>;

}  // namespace

void bind_loop(nb::module_& m) {
  m.def(
      "sleep_until_ns",
      [](nb::handle t_ns) {
        const Ns until = instant(t_ns);
        const nb::gil_scoped_release release;
        sleep_until_ns(until);
        return monotonic_ns();  // read before this thread asks for the GIL again
      },
      nb::arg("t_ns"), nb::sig("def sleep_until_ns(t_ns: int) -> int"),
      "Sleep until an instant of the monotonic clock without the GIL; returns when it woke.");
  m.def("monotonic_ns", &monotonic_ns, "Read the monotonic clock.");
  m.def(
      "enter_realtime",
      [](int priority, int cpu) {
        const RealtimeReport report = enter_realtime("onbeat-loop", RealtimeRequest{priority, cpu});
        return nb::make_tuple(report.fifo, report.affinity, report.stack_lock, report.locked_bytes);
      },
      nb::arg("priority"), nb::arg("cpu"), nb::sig("def enter_realtime(priority: int, cpu: int) -> tuple[int, int, int, int]"),
      "Ask for SCHED_FIFO, a CPU (-1: any) and a locked stack for this thread: 0, -1 or an errno each, and the bytes locked.");

  nb::class_<Cycle>(m, "Cycle", "One cycle of sending: grid, plan, limits, record. The same code for every kind of loop.")
      .def(nb::new_(&make_cycle), nb::arg("period_whole_ns"), nb::arg("period_part"), nb::arg("period_parts"), nb::arg("plan"),
           nb::arg("max_speed").none(), nb::arg("lower").none(), nb::arg("upper").none(), nb::arg("max_angular_speed"), nb::arg("lead_ns"), nb::arg("on_late"),
           nb::arg("record_capacity"), nb::arg("max_acceleration") = nb::none(), nb::arg("max_jerk") = nb::none(),
           nb::arg("extrapolate_ns") = nb::none(), nb::arg("stale_ns") = nb::none(), nb::arg("phase_ns") = nb::none(), nb::arg("feedback") = false, nb::arg("k_ff") = 1.0)
      .def_prop_ro("width", &Cycle::width)
      .def_prop_ro("deadline_ns", &Cycle::deadline_ns)
      .def("replace", [](Cycle& self, const Plan& plan) { return self.replace(plan.path); }, nb::arg("plan"))
      .def("aim",
           [](Cycle& self, nb::handle t_ns, nb::handle position, nb::handle velocity) {
             Aim aim{instant(t_ns), Numbers<double>(position, "target").copy(), {}};
             if (!velocity.is_none()) aim.velocity = Numbers<double>(velocity, "velocity").copy();
             return self.aim(std::move(aim));
           },
           nb::arg("t_ns"), nb::arg("position"), nb::arg("velocity").none() = nb::none(),
           nb::sig("def aim(self, t_ns: int, position: object, velocity: object | None = None) -> int"))
      .def("set_lead", &Cycle::set_lead, nb::arg("lead_ns"))
      .def(
          "correct",
          [](Cycle& self, nb::handle t_ns, nb::handle values, nb::handle good_ns) {
            self.correct({instant(t_ns), instant(good_ns), Numbers<double>(values, "correction").copy()});
          },
          nb::arg("t_ns"), nb::arg("values"), nb::arg("good_ns"), nb::sig("def correct(self, t_ns: int, values: object, good_ns: int) -> None"))
      .def(
          "reference",
          [](Cycle& self, nb::handle t_ns) -> nb::object {
            const std::vector<double> values = self.reference(instant(t_ns));
            return values.empty() ? nb::none() : array(values.data(), values.size());
          },
          nb::arg("t_ns"), nb::sig("def reference(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64] | None"))
      .def(
          "feedback_ages",
          [](const Cycle& self) {
            const Ages& ages = self.feedback_ages();
            return nb::make_tuple(ages.count(), ages.quantile(0.5), ages.quantile(0.99));
          },
          nb::sig("def feedback_ages(self) -> tuple[int, int, int]"))
      .def(
          "centre", [](Cycle& self, nb::handle at_ns, double period_ns) { self.centre(Beat{instant(at_ns), period_ns}); },
          nb::arg("at_ns"), nb::arg("period_ns"), nb::sig("def centre(self, at_ns: int, period_ns: float) -> None"))
      .def("place", [](Cycle& self, nb::handle at) { self.place(Numbers<double>(at, "where the device stands").copy()); }, nb::arg("at"))
      .def("restart", &Cycle::restart, nb::arg("start_ns"))
      .def("seek", &Cycle::seek, nb::arg("deadline_ns"))
      .def("set_fifo", &Cycle::set_fifo, nb::arg("granted"))
      .def("begin", &Cycle::begin, nb::arg("wake_ns"), nb::arg("sent_ns"))
      .def("target", [](const Cycle& self) { return array(self.target(), self.width()); },
           nb::sig("def target(self) -> numpy.typing.NDArray[numpy.float64]"))
      .def_prop_ro("t_eff_ns", &Cycle::t_eff_ns)
      .def_prop_ro("lateness_ns", &Cycle::lateness_ns)
      .def(
          "end", [](Cycle& self, Ns done_ns, bool failed) { return self.end(done_ns, failed ? SendResult::failed : SendResult::sent); },
          nb::arg("done_ns"), nb::arg("failed"))
      .def("records", &records, nb::sig("def records(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def("counts", &counts, nb::sig("def counts(self) -> tuple[int, int, int, int, int, int]"));

  nb::class_<SendLoop>(m, "SendLoop", "The native thread that sleeps and sends.")
      .def(nb::new_([](std::shared_ptr<Cycle> cycle, std::shared_ptr<Sink> sink, int priority, int cpu, Ns spin_ns) {
             return std::make_shared<SendLoop>(std::move(cycle), std::move(sink), RealtimeRequest{priority, cpu}, spin_ns);
           }),
           nb::arg("cycle"), nb::arg("sink"), nb::arg("priority"), nb::arg("cpu"), nb::arg("spin_ns"))
      .def("start", &SendLoop::start, Release())
      .def("place",
           [](SendLoop& self, nb::handle at) {
             const std::vector<double> values = Numbers<double>(at, "where the device stands").copy();
             const nb::gil_scoped_release release;
             self.place(values);
           },
           nb::arg("at"))
      .def("stop", &SendLoop::stop, Release())
      .def("cycle", &SendLoop::cycle, nb::arg("deadline_ns"), nb::arg("wake_ns"), Release())
      .def_prop_ro("running", &SendLoop::running)
      .def_prop_ro("forked", &SendLoop::forked)
      .def("realtime", &realtime, nb::sig("def realtime(self) -> tuple[int, int, int, int, int]"))
      .def("stopped", &stopped, nb::sig("def stopped(self) -> tuple[str, int, int, int]"));
}

}  // namespace onbeat::bind
