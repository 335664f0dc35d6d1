#include "onbeat/sink.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "onbeat/errors.hpp"
#include "onbeat/realtime.hpp"

namespace onbeat {

static_assert(std::endian::native == std::endian::little, "frames are written as they lie in memory");

namespace {

constexpr std::size_t kMostWidth = 4096;  // a frame of 32 KiB, well inside one datagram
constexpr std::size_t kHeaderBytes = 16;
// Small: what waits here when the reader stalls is old by the time it is read, and all of it is read before what is new.
constexpr int kSendBufferBytes = 16 * 1024;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string name(const std::string& host, int port) { return host + ":" + std::to_string(port); }

Addresses resolve(const std::string& host, int port, int type) {
  if (port < 1 || port > 65535) throw BadInput(text("port must lie in 1..65535, not %d", port));
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw SinkError(text("host '%s' cannot be resolved: %s", host.c_str(), gai_strerror(error)));
  return {found, &freeaddrinfo};
}

bool blocked(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM || error == EINTR; }

// Connect within the time; 0 or an errno.
int connect_within(int socket, const addrinfo& address, Ns until_ns) {
  if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{socket, POLLOUT, 0};
  int count = 0;
  do {
    const Ns left_ns = until_ns - monotonic_ns();
    if (left_ns <= 0) return ETIMEDOUT;
    count = poll(&ready, 1, static_cast<int>((left_ns + 999'999) / 1'000'000));
  } while (count < 0 && errno == EINTR);
  if (count == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t bytes = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
  return error;
}

}  // namespace

Sink::Sink(std::size_t width) : width_(width) {
  if (width < 1 || width > kMostWidth) throw BadInput(text("width must lie in 1..%zu, not %zu", kMostWidth, width));
}

SendResult Sink::failed(int error) noexcept {
  error_.store(error, std::memory_order_relaxed);
  return SendResult::failed;
}

MemorySink::MemorySink(std::size_t width, std::size_t capacity) : Sink(width), frames_(capacity, 8 * (3 + width)) {}

SendResult MemorySink::send(std::uint64_t sequence, Ns sent_ns, Ns t_eff_ns, const double* values) noexcept {
  std::byte* slot = frames_.claim();
  if (slot == nullptr) return SendResult::would_block;
  std::memcpy(slot, &sequence, 8);
  std::memcpy(slot + 8, &sent_ns, 8);
  std::memcpy(slot + 16, &t_eff_ns, 8);
  std::memcpy(slot + 24, values, 8 * width());
  frames_.publish();
  return SendResult::sent;
}

std::vector<std::byte> MemorySink::drain() {
  const std::lock_guard lock(readers_);
  const std::size_t count = frames_.readable();
  std::vector<std::byte> out(count * frames_.slot_bytes());
  frames_.drain(out.data(), count);
  return out;
}

SocketSink::SocketSink(std::size_t width, std::string peer) : Sink(width), frame_(kHeaderBytes + 8 * width), peer_(std::move(peer)) {}

SocketSink::~SocketSink() { close(); }

void SocketSink::close() noexcept {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void SocketSink::pack(std::uint64_t sequence, Ns t_eff_ns, const double* values) noexcept {
  std::memcpy(frame_.data(), &sequence, 8);
  std::memcpy(frame_.data() + 8, &t_eff_ns, 8);
  std::memcpy(frame_.data() + kHeaderBytes, values, 8 * width());
}

UdpSink::UdpSink(const std::string& host, int port, std::size_t width) : SocketSink(width, "udp " + name(host, port)) {
  const Addresses found = resolve(host, port, SOCK_DGRAM);
  socket_ = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) throw SinkError(text("no UDP socket: %s", std::strerror(errno)));
  // Not connected: a connected socket would report "nobody listens" as a failed send, once, one cycle late.
  std::memcpy(&address_, found->ai_addr, found->ai_addrlen);
  address_bytes_ = found->ai_addrlen;
}

SendResult UdpSink::send(std::uint64_t sequence, Ns, Ns t_eff_ns, const double* values) noexcept {
  pack(sequence, t_eff_ns, values);
  const auto* address = reinterpret_cast<const sockaddr*>(&address_);
  if (sendto(socket_, frame_.data(), frame_.size(), MSG_DONTWAIT | MSG_NOSIGNAL, address, address_bytes_) >= 0) return SendResult::sent;
  return blocked(errno) ? SendResult::would_block : failed(errno);
}

TcpSink::TcpSink(const std::string& host, int port, std::size_t width, double timeout_s) : SocketSink(width, "tcp " + name(host, port)) {
  if (!(timeout_s > 0 && timeout_s <= 3600)) throw BadInput(text("timeout_s must lie in (0, 3600], not %g", timeout_s));
  const Addresses found = resolve(host, port, SOCK_STREAM);
  const Ns until_ns = monotonic_ns() + static_cast<Ns>(timeout_s * 1e9);
  int error = 0;
  for (const addrinfo* address = found.get(); address != nullptr; address = address->ai_next) {
    socket_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    error = socket_ < 0 ? errno : connect_within(socket_, *address, until_ns);
    if (error == 0) break;
    close();
  }
  if (error != 0) throw SinkError(text("no connection to %s within %g s: %s", peer_.c_str(), timeout_s, std::strerror(error)));
  const int on = 1;
  // With Nagle, a small frame waits for the answer to the one before it: 43 ms with a delayed acknowledgement.
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  pending_from_ = frame_.size();
}

SendResult TcpSink::push() noexcept {
  const ssize_t written = ::send(socket_, frame_.data() + pending_from_, frame_.size() - pending_from_, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (written < 0) return blocked(errno) ? SendResult::would_block : failed(errno);
  pending_from_ += static_cast<std::size_t>(written);
  return SendResult::sent;
}

SendResult TcpSink::send(std::uint64_t sequence, Ns, Ns t_eff_ns, const double* values) noexcept {
  if (pending_from_ < frame_.size()) {
    const SendResult rest = push();
    if (rest != SendResult::sent) return rest;
    if (pending_from_ < frame_.size()) return SendResult::would_block;
  }
  pack(sequence, t_eff_ns, values);
  pending_from_ = 0;
  const SendResult result = push();
  if (pending_from_ == 0) pending_from_ = frame_.size();  // nothing of it went out: forget it
  return result;
}

}  // namespace onbeat
