// One function for each bind_<header>.cpp; module.cpp calls them.
#pragma once

#include <nanobind/nanobind.h>

namespace onbeat::bind {

void bind_trajectory(nanobind::module_& m);

}  // namespace onbeat::bind
