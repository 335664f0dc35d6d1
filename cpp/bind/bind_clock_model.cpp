#include "convert.hpp"
#include "module.hpp"
#include "onbeat/clock_model.hpp"

namespace onbeat::bind {

namespace {

constexpr Ns kFarthest = Ns{1} << 61;  // so that differences fit, and their differences
constexpr Ns kWidest = 1'000'000'000'000'000;

const char* name_of(ClockChange kind) {
  switch (kind) {
    case ClockChange::step:
      return "step";
    case ClockChange::rate:
      return "rate";
    case ClockChange::delay_outbound:
    case ClockChange::delay_return:
      return "delay";
    default:
      return nullptr;
  }
}

nb::object add(ClockModel& self, nb::handle t1, nb::handle t2, nb::handle t3, nb::handle t4, nb::handle server_bound, nb::handle strayed) {
  const Ns sent = instant(t1, "t1_ns"), received = instant(t2, "t2_ns"), replied = instant(t3, "t3_ns"), back = instant(t4, "t4_ns");
  for (const Ns t : {sent, received, replied, back})
    if (t < -kFarthest || t > kFarthest) throw BadInput(text("a stamp of %lld ns is beyond 73 years from zero; check its unit", static_cast<long long>(t)));
  const Ns bound = instant(server_bound, "server_bound_ns"), more = instant(strayed, "strayed_ns");
  for (const Ns width : {bound, more})
    if (width < 0 || width > kWidest) throw BadInput(text("a width of %lld ns does not lie between 0 and 11 days", static_cast<long long>(width)));
  const ClockNews news = self.add(sent, received, replied, back, bound, more);
  if (news.kind == ClockChange::none) return nb::none();
  const nb::object leg = news.kind == ClockChange::delay_outbound ? nb::object(nb::str("outbound"))
                         : news.kind == ClockChange::delay_return ? nb::object(nb::str("return"))
                                                                  : nb::object(nb::none());
  return nb::make_tuple(name_of(news.kind), news.t_ns, news.low_ns, news.high_ns, leg);
}

}  // namespace

void bind_clock_model(nb::module_& m) {
  nb::class_<ClockLine>(m, "ClockLine", "An offset to a reference as an affine function of our time; offset = reference - ours.", nb::is_final())
      .def_ro("anchor_ns", &ClockLine::anchor_ns)
      .def_ro("offset_ns", &ClockLine::offset_ns)
      .def_ro("skew", &ClockLine::skew, "What the offset gains per unit of time.")
      .def_ro("low_ns", &ClockLine::low_ns, "The offset at the anchor lies in [low, high].")
      .def_ro("high_ns", &ClockLine::high_ns)
      .def_ro("model_low_ns", &ClockLine::model_low_ns, "The same while the rate changes no faster than `acceleration`.")
      .def_ro("model_high_ns", &ClockLine::model_high_ns)
      .def_ro("skew_low", &ClockLine::skew_low)
      .def_ro("skew_high", &ClockLine::skew_high)
      .def_ro("acceleration", &ClockLine::acceleration, "1/s.");
  nb::class_<ClockModel>(m, "ClockModel", "What onbeat.clock.ClockEstimator computes with.", nb::is_final())
      .def(nb::init<double>(), nb::arg("drift_bound"))
      .def("add", &add, nb::arg("t1_ns"), nb::arg("t2_ns"), nb::arg("t3_ns"), nb::arg("t4_ns"), nb::arg("server_bound_ns") = 0, nb::arg("strayed_ns") = 0,
           nb::sig("def add(self, t1_ns: int, t2_ns: int, t3_ns: int, t4_ns: int, server_bound_ns: int = 0, strayed_ns: int = 0) -> "
                   "tuple[str, int, int, int, str | None] | None"),
           "Take an exchange; give what it proved: kind, when, between which sizes, on which leg.")
      .def("restart", &ClockModel::restart, "Forget everything and begin a new epoch.")
      .def("line", &ClockModel::line, "The offset as it is known now.")
      .def_prop_ro("known", &ClockModel::known, "Whether there was an exchange in this epoch.")
      .def_prop_ro("exchanges", &ClockModel::exchanges, "How many were taken, over all epochs.")
      .def_prop_ro("epoch", &ClockModel::epoch, "Counts steps and restarts.");
}

}  // namespace onbeat::bind
