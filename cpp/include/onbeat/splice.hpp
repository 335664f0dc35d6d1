// Plan + waypoints + now -> a new plan, and what became of each waypoint. docs/motion.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "onbeat/limits.hpp"
#include "onbeat/time.hpp"
#include "onbeat/trajectory.hpp"

namespace onbeat {

// Where to be and when, before any lead: rows of `width` numbers.
struct Waypoints {
  std::vector<Ns> t_ns;
  std::vector<double> targets;
  std::size_t width = 0;

  [[nodiscard]] std::size_t size() const noexcept { return t_ns.size(); }
  [[nodiscard]] const double* row(std::size_t k) const noexcept { return targets.data() + k * width; }
};

// The k-th of n rows is due (first_step + k) steps after the anchor. Throws BadInput where that leaves int64.
std::vector<Ns> chunk_instants(Ns anchor_ns, Ns step_ns, Ns first_step, std::size_t n);

enum class Fate : std::int8_t { kept, stretched, late, dropped, rejected };

// One entry for each waypoint. by_ns is never negative; due_ns is when it had to be sent.
struct Fates {
  Waypoints waypoints;
  std::vector<Fate> codes;
  std::vector<Ns> by_ns;
  std::vector<Ns> due_ns;

  [[nodiscard]] std::size_t size() const noexcept { return codes.size(); }
};

struct SpliceOptions {
  Ns now_ns = 0;
  Ns lead_ns = 0;
  Ns first_usable_ns = std::numeric_limits<Ns>::min();  // waypoints before this instant are dropped, also when they are not late
  Ns clamp_ns = 0;  // 0: late waypoints are dropped; above: the newest of them is moved to this long after now
  bool scale = false;  // one factor for the whole chunk, instead of delaying what must be
};

struct Splice {
  std::shared_ptr<const Trajectory> plan;  // empty: the old one goes on as it is
  Fates fates;
  Fates tail;              // knots of the old plan, still to come, that lost their place
  bool outside = false;    // a target leaves the range; nothing was planned
  bool stretched = false;  // a move takes longer than was asked for
};

// Throws BadInput where the waypoints are not finite, not in strict order of time, of another width than the plan, or no poses
// where the plan is one; nothing has changed then.
Splice splice(const Trajectory& plan, Waypoints waypoints, const MoveLimits& limits, const SpliceOptions& options);

}  // namespace onbeat
