// One cycle of sending: on which grid, which target, what is written down. The same code runs in the native thread, in the soft
// loop and by hand on a manual clock; it reads no clock itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "onbeat/ages.hpp"
#include "onbeat/centring.hpp"
#include "onbeat/in_force.hpp"
#include "onbeat/latest.hpp"
#include "onbeat/ring.hpp"
#include "onbeat/send_limiter.hpp"
#include "onbeat/stream_follower.hpp"
#include "onbeat/time.hpp"
#include "onbeat/trajectory.hpp"

namespace onbeat {

// A period as an exact fraction: whole + part / parts nanoseconds, 0 <= part < parts < 2^62.
struct Period {
  Ns whole = 0;
  Ns part = 0;
  Ns parts = 1;
};

// Instants at a fixed rate, computed from the start and never accumulated: tick k = start + floor(k * period).
class Grid {
 public:
  explicit Grid(Period period, Ns start_ns = 0);  // throws BadInput

  [[nodiscard]] Grid at(Ns start_ns) const noexcept;  // the same period from another start
  [[nodiscard]] Ns tick(Ns k) const noexcept;
  [[nodiscard]] Ns index(Ns t_ns) const noexcept;  // the largest k with tick(k) <= t
  [[nodiscard]] Ns start_ns() const noexcept { return start_ns_; }
  [[nodiscard]] Ns ceil_period() const noexcept { return ceil_period_; }
  [[nodiscard]] Ns half_period() const noexcept { return half_period_; }                      // rounded down
  [[nodiscard]] Ns three_quarters_period() const noexcept { return three_quarters_period_; }  // rounded up

 private:
  Period period_;
  Ns start_ns_;
  Ns ceil_period_;
  Ns half_period_;
  Ns three_quarters_period_;
};

enum Flag : Ns {
  kLate = 1,          // sent more than half a period after the deadline; evaluated at the instant of sending
  kSkipped = 2,       // deadlines were missed between this send and the next
  kHeld = 4,          // not on the path: before its start, after its end, or held by on_late
  kExtrapolated = 8,  // beyond a plan's end, or without a fresh plan: from the command history, on or down to rest
  kLimited = 16,      // a limit moved the target
  kWouldBlock = 32,   // the sink could not take it; nothing was sent
  kNoFifo = 64,       // the thread runs without SCHED_FIFO
  kDeviceError = 128,  // the sink failed; the loop stops
  kStalePlan = 256,   // the plan had ended before its first cycle, or nobody has replaced it, or aimed, for too long
  kCorrected = 512,   // feedback was added to the target, before the limits
};

// What one cycle did: one cache line, eight int64, as Python sees it.
struct CycleRecord {
  Ns deadline_ns;
  Ns wake_ns;
  Ns sent_ns;  // read just before the target was evaluated and handed to the sink
  Ns done_ns;  // the sink returned
  Ns t_eff_ns;
  Ns plan;
  Ns skipped;
  Ns flags;
};
static_assert(sizeof(CycleRecord) == 64);

enum class OnLate : std::uint8_t { skip, hold, stop };
enum class SendResult : std::uint8_t { sent, would_block, failed };

struct CycleCounts {
  std::uint64_t cycles, missed, late, limited, would_block, dropped_records;
};

// What a loop does where there is no path, and where its grid lies.
struct CycleOptions {
  static constexpr Ns kNever = -1;
  Ns extrapolate_ns = kNever;  // beyond a plan's end: so long at the last speed, then down to rest; never: its end is a place to stay
  Ns stale_ns = kNever;        // a plan that was not replaced, or a stream whose newest target is older, is given up: down to rest
  Ns phase_ns = kNever;        // the grid is the clock's own, shifted by this; never: it begins where the loop is started
  bool feedback = false;       // remember which plan was in force when
  double k_ff = 1.0;           // the share of the lead by which a stream's targets are carried on
};

// What feedback adds to the targets of a plan; made by the writer, read by the cycle.
struct Correction {
  Ns t_ns;                     // of the sample that it follows from
  Ns good_ns;                  // up to this age it counts in full, and at twice of it no more
  std::vector<double> values;
};

class Cycle {
 public:
  // Throws BadInput. The first plan has id 0.
  Cycle(Period period, std::shared_ptr<const Trajectory> plan, SendLimits limits, Ns lead_ns, OnLate on_late, std::size_t record_capacity,
        CycleOptions options = {});

  // Writers: any thread, one at a time by a mutex that the cycle itself never takes. They throw BadInput.
  Ns replace(std::shared_ptr<const Trajectory> plan);  // returns the plan's id
  Ns aim(Aim aim);  // the newest target of a stream, which takes over from a plan; returns the stream's id, counted with the plans
  void set_lead(Ns lead_ns);
  void centre(Beat beat);  // move the grid to it, and stay there; no beat: stay where it is now
  void correct(Correction correction);
  // Where the plan that was in force at an instant wanted the device then, without any lead; empty when none was.
  [[nodiscard]] std::vector<double> reference(Ns t_ns);

  // The sending side: one thread. Nothing here allocates, locks, throws or frees.
  // The first deadline is this instant, or with a phase the first of the grid from it on. Forgets the last target and how long a send
  // takes.
  void restart(Ns start_ns) noexcept;
  // Where the device stands: what the first target after the next restart is limited against. While nothing is sent; throws BadInput.
  void place(const std::vector<double>& at);
  void seek(Ns deadline_ns) noexcept;  // the next cycle is for this deadline; off the grid it begins a new one
  [[nodiscard]] Ns deadline_ns() const noexcept { return grid_.tick(k_); }
  [[nodiscard]] bool begin(Ns wake_ns, Ns sent_ns) noexcept;  // false: late, and on_late asks to stop
  [[nodiscard]] const double* target() const noexcept { return target_.data(); }
  [[nodiscard]] Ns t_eff_ns() const noexcept { return record_.t_eff_ns; }
  [[nodiscard]] Ns lateness_ns() const noexcept { return record_.sent_ns - record_.deadline_ns; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return cycles_.load(std::memory_order_relaxed); }
  Ns end(Ns done_ns, SendResult result) noexcept;  // writes the record; returns the next deadline
  void set_fifo(bool granted) noexcept { thread_flags_ = granted ? Ns{0} : Ns{kNoFifo}; }

  // Anyone.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] CycleCounts counts() const noexcept;
  [[nodiscard]] const Grid& grid() const noexcept { return grid_; }

  [[nodiscard]] const Ages& feedback_ages() const noexcept { return ages_; }  // at each send that was corrected

  // The one reader of records.
  std::vector<CycleRecord> drain();
  int lock_records() noexcept { return records_.lock(); }
  [[nodiscard]] std::size_t record_bytes() const noexcept { return records_.bytes(); }

 private:
  // All that the writers say, in one cell: so it takes effect in the order in which it was said.
  struct PlanCell {
    std::shared_ptr<const Trajectory> path;
    Ns id = 0;
    Ns lead_ns = 0;
    std::shared_ptr<const Aim> aim{};  // null: the path is followed
    Beat beat{};
    std::shared_ptr<const Correction> correction{};  // null: none
  };

  struct TakeOver {
    Ns id, since_ns;
  };

  [[nodiscard]] static const Trajectory& present(const std::shared_ptr<const Trajectory>& plan);
  void take_over_plans();
  void add_correction(const PlanCell& plan) noexcept;
  void check(const Trajectory& plan, Ns lead_ns) const;
  void see(const PlanCell& plan) noexcept;
  void evaluate(const PlanCell& plan) noexcept;
  void follow_stream(const PlanCell& plan, bool stale) noexcept;
  void look_back(const Trajectory& path) noexcept;
  void stop_moving() noexcept;
  void stop_following() noexcept;
  void extrapolate(Ns past_end_ns) noexcept;
  [[nodiscard]] Ns undisturbed(Ns duration_ns) noexcept;
  [[nodiscard]] Ns largest_move() const noexcept { return grid_.ceil_period() / Beat::kSteps; }

  const std::size_t width_;
  const OnLate on_late_;
  const CycleOptions options_;

  // Writers' side.
  std::mutex writers_;
  PlanCell newest_;
  Latest<PlanCell> plans_;
  InForce in_force_;
  Ring taken_over_;  // from the sending side: which plan, from which evaluated instant on

  // Sending side.
  Grid grid_;
  Ns k_ = 0;
  Ns plan_id_ = -1;
  Ns seen_ns_ = 0;       // the reference at which this plan was first followed
  bool ended_ = false;   // it had ended before that
  bool frozen_ = false;  // on_late="hold" is in force until the next plan
  Ns reference_ns_ = 0;
  Ns last_reference_ns_ = 0;
  Ns last_t_eff_ns_ = 0;
  double dt_s_ = 0.0;    // since the last target that was sent, at most one period as the grid has them
  SendLimiter limiter_;
  StreamFollower follower_;
  bool in_step_ = false;  // the last target that was sent is where the follower stands
  std::vector<double> target_, before_, earlier_;
  std::vector<double> at_;
  bool placed_ = false;
  Ns thread_flags_ = 0;
  CycleRecord record_{};
  // The shortest send of this and of the previous stretch of cycles; a send of a whole period or more is a stall and not counted.
  int stretch_left_ = 0;
  Ns shortest_ = 0;
  Ns shortest_before_ = 0;

  // Written by the sending side only, so plain load + store; read by anyone.
  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> limited_{0};
  std::atomic<std::uint64_t> would_block_{0};
  Ages ages_;
  std::mutex readers_;
  Ring records_;
};

}  // namespace onbeat
