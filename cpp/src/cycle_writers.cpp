// What any thread may say to a cycle: it is checked here, and published in one cell.
#include <cmath>
#include <utility>

#include "onbeat/cycle.hpp"
#include "onbeat/errors.hpp"

namespace onbeat {

namespace {

constexpr Ns kLongestLead = 3'600'000'000'000;

void check_lead(Ns lead_ns) {
  if (lead_ns < 0) throw BadInput(text("the loop's lead must be >= 0, not %.3f ms", static_cast<double>(lead_ns) * 1e-6));
  if (lead_ns > kLongestLead) throw BadInput(text("the loop's lead must be an hour at most, not %.3f s; check its unit", static_cast<double>(lead_ns) * 1e-9));
}

}  // namespace

const Trajectory& Cycle::present(const std::shared_ptr<const Trajectory>& plan) {
  if (plan == nullptr) throw BadInput("a loop needs a plan");
  return *plan;
}

void Cycle::check(const Trajectory& plan, Ns lead_ns) const {
  if (plan.width() != width_) throw BadInput(text("the plan has width %zu and the loop has width %zu", plan.width(), width_));
  if (plan.kind() == Trajectory::Kind::pose && limiter_.smooth())
    throw BadInput("max_acceleration and max_jerk bound joints; of a pose give max_speed and max_angular_speed");
  if (plan.kind() == Trajectory::Kind::pose && options_.feedback) throw BadInput("feedback is for joints; a pose's rotation has no difference");
  check_lead(lead_ns);
  if (lead_ns != 0 && plan.lead_ns() != 0)
    throw BadInput(text("the plan's knots are shifted by a lead of %.3f ms and the loop leads by %.3f ms; a lead is applied once: set one of them to 0",
                        static_cast<double>(plan.lead_ns()) * 1e-6, static_cast<double>(lead_ns) * 1e-6));
}

Ns Cycle::replace(std::shared_ptr<const Trajectory> plan) {
  const std::lock_guard lock(writers_);
  check(present(plan), newest_.lead_ns);
  newest_.path = std::move(plan);
  newest_.aim = nullptr;
  ++newest_.id;
  if (options_.feedback) {
    take_over_plans();
    in_force_.published(newest_.id, newest_.path);
  }
  plans_.publish(newest_);
  return newest_.id;
}

Ns Cycle::aim(Aim aim) {
  if (!follower_.able())
    throw BadInput("a stream's future is unknown, so its targets are shaped: give the loop limits with max_speed, max_acceleration and max_jerk, all finite");
  if (aim.position.size() != width_ || (!aim.velocity.empty() && aim.velocity.size() != width_))
    throw BadInput(text("the target has %zu numbers%s and the loop has width %zu", aim.position.size(),
                        aim.velocity.empty() ? "" : text(", its velocity %zu,", aim.velocity.size()).c_str(), width_));
  for (std::size_t i = 0; i < width_; ++i) {
    if (!std::isfinite(aim.position[i])) throw BadInput(text("column %zu of the target is %g; every number must be finite", i, aim.position[i]));
    if (!aim.velocity.empty() && !std::isfinite(aim.velocity[i]))
      throw BadInput(text("column %zu of the target's velocity is %g; every number must be finite", i, aim.velocity[i]));
  }
  const std::lock_guard lock(writers_);
  if (newest_.path->kind() == Trajectory::Kind::pose) throw BadInput("targets of a stream are joints; poses are not shaped, so schedule them");
  if (newest_.aim != nullptr) {
    if (aim.t_ns == newest_.aim->t_ns) {
      if (aim.position == newest_.aim->position && aim.velocity == newest_.aim->velocity) return newest_.id;
      throw BadInput(text("another target has the stamp %lld ns already; two targets cannot be true at one instant", static_cast<long long>(aim.t_ns)));
    }
    if (aim.t_ns < newest_.aim->t_ns)
      throw BadInput(text("the target is %.3f ms older than the newest one of its stream; give targets in the order of time",
                          milliseconds(aim.t_ns, newest_.aim->t_ns)));
  } else {
    ++newest_.id;
    if (options_.feedback) {
      take_over_plans();
      in_force_.published(newest_.id, nullptr);
    }
  }
  newest_.aim = std::make_shared<const Aim>(std::move(aim));
  plans_.publish(newest_);
  return newest_.id;
}

void Cycle::set_lead(Ns lead_ns) {
  const std::lock_guard lock(writers_);
  if (newest_.aim == nullptr)
    check(*newest_.path, lead_ns);
  else
    check_lead(lead_ns);
  newest_.lead_ns = lead_ns;
  plans_.publish(newest_);
}

void Cycle::centre(Beat beat) {
  if (!(beat.period_ns >= 0 && std::isfinite(beat.period_ns)))
    throw BadInput(text("the beat's period must be finite and >= 0, not %g ns", beat.period_ns));
  if (beat.on() && options_.phase_ns >= 0)
    throw BadInput("phase_s fixes where the deadlines lie, and centring moves them; leave one of the two out");
  const std::lock_guard lock(writers_);
  newest_.beat = beat;
  plans_.publish(newest_);
}

void Cycle::correct(Correction correction) {
  if (!options_.feedback) throw BadInput("feedback is off; make the loop with it");
  if (correction.values.size() != width_ || correction.good_ns <= 0)
    throw BadInput(text("a correction has %zu numbers and is good for %lld ns; the loop has width %zu", correction.values.size(),
                        static_cast<long long>(correction.good_ns), width_));
  for (const double value : correction.values)
    if (!std::isfinite(value)) throw BadInput(text("a correction must be finite, not %g", value));
  auto made = std::make_shared<const Correction>(std::move(correction));
  const std::lock_guard lock(writers_);
  newest_.correction = std::move(made);
  plans_.publish(newest_);
}

std::vector<double> Cycle::reference(Ns t_ns) {
  const std::lock_guard lock(writers_);
  take_over_plans();
  const std::shared_ptr<const Trajectory> path = in_force_.at(t_ns);
  if (path == nullptr) return {};
  std::vector<double> out(width_);
  path->at(t_ns - path->lead_ns(), out.data());
  return out;
}

void Cycle::take_over_plans() {
  TakeOver each;
  while (taken_over_.drain(reinterpret_cast<std::byte*>(&each), 1) == 1) in_force_.took_over(each.id, each.since_ns);
}

}  // namespace onbeat
