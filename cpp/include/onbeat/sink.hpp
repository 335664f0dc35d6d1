// Where a target goes: into memory, onto a socket, or onto a serial line. A sink never blocks the loop.
#pragma once

#include <netinet/in.h>
#include <termios.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "onbeat/cycle.hpp"
#include "onbeat/ring.hpp"
#include "onbeat/time.hpp"

namespace onbeat {

// Set-up throws BadInput, or SinkError when the other side cannot be reached. `send` is called by one thread at a time.
class Sink {
 public:
  explicit Sink(std::size_t width);
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  // Offer one target. No allocation, no lock, never blocks. `would_block`: nothing was sent and the next may go.
  virtual SendResult send(std::uint64_t sequence, Ns sent_ns, Ns t_eff_ns, const double* values) noexcept = 0;
  // errno of the send that failed, 0 before.
  [[nodiscard]] int error() const noexcept { return error_.load(std::memory_order_relaxed); }

  // One loop at a time: false when another has it.
  bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
  void release() noexcept { claimed_.store(false, std::memory_order_release); }

 protected:
  SendResult failed(int error) noexcept;

 private:
  const std::size_t width_;
  std::atomic<int> error_{0};
  std::atomic<bool> claimed_{false};
};

struct SinkError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Little-endian: u64 sequence, i64 time, width float64. What UDP and TCP carry; a memory frame has sent_ns in between.
class MemorySink final : public Sink {
 public:
  MemorySink(std::size_t width, std::size_t capacity);
  SendResult send(std::uint64_t sequence, Ns sent_ns, Ns t_eff_ns, const double* values) noexcept override;

  // Reader: frames of frame_bytes() each, oldest first: u64 sequence, i64 sent_ns, i64 t_eff_ns, width float64.
  std::vector<std::byte> drain();
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return frames_.slot_bytes(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return frames_.capacity(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return frames_.overflow(); }
  [[nodiscard]] std::size_t size() const noexcept { return frames_.readable(); }

 private:
  std::mutex readers_;
  Ring frames_;
};

// A socket with one frame's worth of memory.
class SocketSink : public Sink {
 public:
  ~SocketSink() override;
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  void close() noexcept;

 protected:
  SocketSink(std::size_t width, std::string peer);
  void pack(std::uint64_t sequence, Ns t_eff_ns, const double* values) noexcept;

  std::vector<std::byte> frame_;
  int socket_ = -1;
  std::string peer_;
};

// One datagram a target. Nobody listening is not an error: UDP cannot know.
class UdpSink final : public SocketSink {
 public:
  UdpSink(const std::string& host, int port, std::size_t width);
  SendResult send(std::uint64_t sequence, Ns sent_ns, Ns t_eff_ns, const double* values) noexcept override;

 private:
  sockaddr_storage address_{};
  socklen_t address_bytes_ = 0;
};

// A byte stream of whole frames: the rest of a frame that went out in part always goes first.
class TcpSink final : public SocketSink {
 public:
  TcpSink(const std::string& host, int port, std::size_t width, double timeout_s);
  SendResult send(std::uint64_t sequence, Ns sent_ns, Ns t_eff_ns, const double* values) noexcept override;

 private:
  SendResult push() noexcept;
  std::size_t pending_from_ = 0;  // frame_[pending_from_..] is still to be written
};

// A serial line, raw and non-blocking: framed, because a line loses bytes and a reader may join in the middle. As for TCP, the rest
// of a frame that went out in part goes first. The line is set back as it was found when the sink goes.
class SerialSink final : public Sink {
 public:
  static constexpr std::size_t kHeaderBytes = 4;   // 0xA5 0x5A, u16 length of what follows up to the check
  static constexpr std::size_t kCheckBytes = 2;    // CRC-16/CCITT-FALSE of length and payload
  SerialSink(const std::string& path, int baud, std::size_t width);
  ~SerialSink() override;
  SendResult send(std::uint64_t sequence, Ns sent_ns, Ns t_eff_ns, const double* values) noexcept override;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return frame_.size(); }
  void close() noexcept;

 private:
  SendResult push() noexcept;

  std::string path_;
  std::vector<std::byte> frame_;
  std::size_t pending_from_ = 0;  // frame_[pending_from_..] is still to be written
  int line_ = -1;
  termios before_{};
};

// CRC-16/CCITT-FALSE: polynomial 0x1021, from 0xFFFF, nothing reflected.
std::uint16_t crc16(const std::byte* data, std::size_t n) noexcept;

}  // namespace onbeat
