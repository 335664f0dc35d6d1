#include "onbeat/in_force.hpp"

#include <memory>
#include <vector>

#include "check.hpp"

using namespace onbeat;

namespace {

std::shared_ptr<const Trajectory> plan(double value, Ns lead_ns = 0) {
  return std::make_shared<const Trajectory>(std::vector<Ns>{0}, std::vector<double>{value}, 1, Trajectory::Kind::linear, lead_ns);
}

double value(const InForce& in_force, Ns t_ns) {
  const auto path = in_force.at(t_ns);
  return path == nullptr ? -1.0 : path->targets()[0];
}

void each_plan_holds_from_when_it_was_followed() {
  InForce in_force;
  for (Ns id = 0; id < 4; ++id) in_force.published(id, id == 2 ? nullptr : plan(static_cast<double>(id)));
  CHECK(value(in_force, 50) == -1.0);
  in_force.took_over(0, 100);
  in_force.took_over(2, 200);  // 1 was never followed
  in_force.took_over(3, 300);
  CHECK(value(in_force, 99) == -1.0 && value(in_force, 100) == 0.0 && value(in_force, 199) == 0.0);
  CHECK(value(in_force, 200) == -1.0 && value(in_force, 300) == 3.0);
  in_force.took_over(3, 900);  // the loop was started again
  CHECK(value(in_force, 950) == 3.0);
}

void a_plans_own_lead_is_when_its_command_takes_effect() {
  InForce in_force;
  in_force.published(0, plan(0.0));
  in_force.published(1, plan(1.0, 30));
  in_force.took_over(0, 100);
  in_force.took_over(1, 200);
  CHECK(value(in_force, 229) == 0.0 && value(in_force, 230) == 1.0);
}

void what_is_more_than_a_second_old_is_forgotten() {
  InForce in_force;
  for (Ns id = 0; id < 10'000; ++id) {
    in_force.published(id, plan(static_cast<double>(id)));
    in_force.took_over(id, id * 100'000'000);
  }
  CHECK(value(in_force, 9'999 * 100'000'000LL) == 9'999.0 && value(in_force, 9'990 * 100'000'000LL) == 9'990.0);
  CHECK(value(in_force, 9'980 * 100'000'000LL) == -1.0);
}

}  // namespace

int main() {
  each_plan_holds_from_when_it_was_followed();
  a_plans_own_lead_is_when_its_command_takes_effect();
  what_is_more_than_a_second_old_is_forgotten();
}
