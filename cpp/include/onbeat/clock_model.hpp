// The offset of a server's clock to ours from exchanges of four stamps: a hard interval, a tight line, and what changed.
//
// Sign: offset = server - client; add it to a client's stamp. docs/clock.md has the method and its measured figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "onbeat/time.hpp"

namespace onbeat {

enum class ClockChange : std::int8_t { none, step, rate, delay_outbound, delay_return };

// What an exchange proved, and between which sizes it lies: ns of a step or a delay, ns per second (ppb) of a rate.
struct ClockNews {
  ClockChange kind = ClockChange::none;
  Ns t_ns = 0;
  Ns low_ns = 0;
  Ns high_ns = 0;
};

// The offset as an affine function of our time, about an anchor.
struct ClockLine {
  Ns anchor_ns = 0;
  Ns offset_ns = 0;
  double skew = 0.0;  // offset gained per unit of time
  Ns low_ns = 0;      // hard: the offset at the anchor lies in [low, high], and leaves it by the drift bound at most
  Ns high_ns = 0;
  Ns model_low_ns = 0;  // tight: while the rate changes no faster than `acceleration`
  Ns model_high_ns = 0;
  double skew_low = 0.0;
  double skew_high = 0.0;
  double acceleration = 0.0;  // 1/s
};

// The model. `drift_bound` is how far apart the two rates can be (2e-4: two crystals of 100 ppm).
//
// Delays are never negative, so each exchange bounds the offset from above (when the request arrived) and from below (when the
// reply arrived). Carried to now and widened by the drift bound these give the hard interval; when they contradict each other, a
// clock was stepped: that is a proof, not a threshold. The tight line is the one with the most room to both envelopes.
class ClockModel {
 public:
  explicit ClockModel(double drift_bound);

  // Take one exchange: t1 and t4 are ours, t2 and t3 the server's. Exchanges come in the order of t4. The server itself is within
  // `server_bound` of the reference, and the hard interval is the reference's: a server's own time line may move inside its bound
  // faster than a crystal. `strayed` is by how much the drift bound was exceeded since the exchange before (a clock was slewed).
  ClockNews add(Ns t1, Ns t2, Ns t3, Ns t4, Ns server_bound = 0, Ns strayed = 0);

  [[nodiscard]] bool known() const noexcept { return known_; }
  [[nodiscard]] std::uint64_t exchanges() const noexcept { return exchanges_; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] double drift_bound() const noexcept { return drift_bound_; }
  [[nodiscard]] ClockLine line() const noexcept;
  // Forget everything and begin a new epoch, as when the server said that its clock was set.
  void restart() noexcept;

 private:
  static constexpr std::size_t kRaw = 16;      // the newest exchanges, one by one: a rate that flips shows within a few of them
  static constexpr std::size_t kBuckets = 64;  // before them, the best of each second that had any
  static constexpr std::size_t kFloors = 128;
  static constexpr std::size_t kMost = kRaw + kBuckets;

  // A bound of the offset: `value` seconds at `t` seconds, both from the first exchange on.
  struct Limit {
    double t = 0.0;
    double value = 0.0;
  };
  struct Raw {
    Limit upper, lower;
  };
  struct Bucket {
    std::int64_t second = 0;
    Limit upper, lower;
  };
  struct Legs {  // how long the legs took at least in a second, by the line as it stood
    std::int64_t second = 0;
    std::size_t count = 0;
    double outbound = 0.0;
    double back = 0.0;
  };
  struct Solution {
    bool ok = false;
    double x = 0.0;       // offset now
    double skew = 0.0;    // its slope
    double margin = 0.0;  // room to both envelopes
  };
  struct Value {
    double high = 0.0, low = 0.0, slope = 0.0;  // of the upper envelope, the lower one, and the derivative of their difference
  };

  double since_start(Ns t) const noexcept;
  double relative(Ns from, Ns to) const noexcept;
  bool harden(Ns t1, Ns upper_ns, Ns t4, Ns lower_ns, Ns strayed, ClockNews& news);
  void watch_legs(const Limit& upper, const Limit& lower, ClockNews& news);
  void remember(const Raw& raw);
  void collect(double now, double window);
  Value envelopes(double skew, double acceleration) const noexcept;
  Solution widest(double acceleration) const noexcept;
  double edge(double inside, double outside, double acceleration) const noexcept;
  void fit(double now, ClockNews& news);
  void publish(double acceleration);
  void watch_rate(double now, ClockNews& news);
  double floor_margin(double now) const noexcept;
  void remember_floor(double now, double margin);
  void follow_jitter() noexcept;
  double line_at(double t) const noexcept { return x_ + skew_ * (t - x_t_); }

  double drift_bound_;
  bool known_ = false;
  bool lined_ = false;
  std::uint64_t exchanges_ = 0;
  std::uint32_t epoch_ = 0;
  Ns start_ns_ = 0;        // our time zero
  Ns start_offset_ns_ = 0;  // the offset's zero
  Ns hard_ns_ = 0, low_ns_ = 0, high_ns_ = 0;
  double x_ = 0.0, skew_ = 0.0, x_t_ = 0.0;
  ClockLine line_;
  double since_ = 0.0;  // the line rests on what came after
  double jitter_ = 0.0;
  double rise_outbound_ = 0.0, rise_back_ = 0.0;  // by how much a leg became longer, as an older line proved
  bool turned_ = false;  // a rate seems to have changed at since_; it lay between these
  double turned_t_ = 0.0, skew_before_low_ = 0.0, skew_before_high_ = 0.0;
  std::vector<Raw> raw_;
  std::vector<Bucket> buckets_;
  std::vector<Legs> legs_;
  std::vector<Limit> floors_;
  std::array<Limit, kMost> upper_{};  // scratch: ages and bounds
  std::array<Limit, kMost> lower_{};
  std::size_t uppers_ = 0, lowers_ = 0;
};

}  // namespace onbeat
