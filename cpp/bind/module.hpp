// One function for each bind_<header>.cpp; module.cpp calls them.
#pragma once

#include <nanobind/nanobind.h>

namespace onbeat::bind {

void bind_clock_model(nanobind::module_& m);
void bind_steady_clock(nanobind::module_& m);
void bind_sample(nanobind::module_& m);
void bind_series(nanobind::module_& m);
void bind_trajectory(nanobind::module_& m);
void bind_limits(nanobind::module_& m);
void bind_splice(nanobind::module_& m);
void bind_shaper(nanobind::module_& m);
void bind_sink(nanobind::module_& m);
void bind_loop(nanobind::module_& m);

}  // namespace onbeat::bind
