// How Python and the send loop share a plan.
#pragma once

#include <memory>

#include "onbeat/trajectory.hpp"

namespace onbeat::bind {

// The Python object Trajectory. The loop copies `path` and so owns the plan without Python: letting go of it takes no GIL.
struct Plan {
  std::shared_ptr<const Trajectory> path;
};

}  // namespace onbeat::bind
