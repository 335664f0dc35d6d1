// The native module: each bind_<header>.cpp adds the names of one header.
#include "module.hpp"

#include "convert.hpp"

NB_MODULE(_core, m) {
  m.doc() = "onbeat's native core; imported by its few wrappers only";
  // What lives until the interpreter ends is no leak, and nobody should read about it after a run.
  nanobind::set_leak_warnings(false);
  onbeat::bind::prepare(m);
  onbeat::bind::bind_clock_model(m);
  onbeat::bind::bind_steady_clock(m);
  onbeat::bind::bind_sample(m);
  onbeat::bind::bind_series(m);
  onbeat::bind::bind_trajectory(m);
  onbeat::bind::bind_limits(m);
  onbeat::bind::bind_splice(m);
  onbeat::bind::bind_shaper(m);
  onbeat::bind::bind_sink(m);
  onbeat::bind::bind_loop(m);
}
