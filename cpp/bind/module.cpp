// The native module: each bind_<header>.cpp adds the names of one header.
#include <nanobind/nanobind.h>

NB_MODULE(_core, m) { m.doc() = "onbeat's native core; imported by its few wrappers only"; }
