// Which plan was in force at an instant: for feedback, which compares a sample with the plan of its own time.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "onbeat/time.hpp"
#include "onbeat/trajectory.hpp"

namespace onbeat {

// The writers' side keeps it, under their mutex: what was published, and since which evaluated instant each was followed, as the
// sending side says. A second of plans, and at most 4096.
class InForce {
 public:
  // Null stands for a stream, which has no future or past to look into.
  void published(Ns id, std::shared_ptr<const Trajectory> path) {
    waiting_.push_back({id, 0, std::move(path)});
    if (waiting_.size() > kMost) waiting_.pop_front();  // nobody takes them: the loop does not run
  }

  void took_over(Ns id, Ns since_ns) {
    // Ids grow; those that were passed over were never followed. The one that was stays: a loop that starts again follows it again.
    while (!waiting_.empty() && waiting_.front().id < id) waiting_.pop_front();
    if (waiting_.empty() || waiting_.front().id != id) return;
    followed_.push_back({id, since_ns, waiting_.front().path});
    while (followed_.size() > kMost || (followed_.size() > 1 && difference_ns(followed_[1].since_ns, since_ns) > kKept_ns)) followed_.pop_front();
  }

  // The plan whose command takes effect at t_ns: a command leads by the plan's own lead. Null: none did, or a stream's.
  [[nodiscard]] std::shared_ptr<const Trajectory> at(Ns t_ns) const {
    for (auto each = followed_.rbegin(); each != followed_.rend(); ++each)
      if (difference_ns(each->since_ns, t_ns) >= (each->path == nullptr ? 0 : each->path->lead_ns())) return each->path;
    return nullptr;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  static constexpr Ns kKept_ns = 1'000'000'000;

  struct Entry {
    Ns id, since_ns;
    std::shared_ptr<const Trajectory> path;
  };
  std::deque<Entry> waiting_, followed_;
};

}  // namespace onbeat
