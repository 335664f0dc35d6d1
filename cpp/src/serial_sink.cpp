#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "onbeat/errors.hpp"
#include "onbeat/sink.hpp"

namespace onbeat {

namespace {

constexpr std::size_t kMostWidth = 512;  // a frame of 4 KiB, what one write to a line takes

struct Speed {
  int baud;
  speed_t code;
};
constexpr Speed kSpeeds[] = {{9600, B9600},       {19200, B19200},     {38400, B38400},     {57600, B57600},     {115200, B115200},
                             {230400, B230400},   {460800, B460800},   {500000, B500000},   {576000, B576000},   {921600, B921600},
                             {1000000, B1000000}, {1152000, B1152000}, {1500000, B1500000}, {2000000, B2000000}, {2500000, B2500000},
                             {3000000, B3000000}, {3500000, B3500000}, {4000000, B4000000}};

speed_t code_of(int baud) {
  for (const Speed& speed : kSpeeds)
    if (speed.baud == baud) return speed.code;
  throw BadInput(text("baud %d is none of the standard rates: 9600 to 230400, 460800, 500000, 576000, 921600, 1000000 to 4000000", baud));
}

// What a 16-bit shift register does to each byte, once.
struct CrcTable {
  std::uint16_t of[256];
  constexpr CrcTable() : of() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned crc = byte << 8;
      for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021U : 0U);
      of[byte] = static_cast<std::uint16_t>(crc);
    }
  }
};
constexpr CrcTable kCrc;

}  // namespace

std::uint16_t crc16(const std::byte* data, std::size_t n) noexcept {
  unsigned crc = 0xFFFF;
  for (std::size_t i = 0; i < n; ++i) crc = ((crc << 8) & 0xFFFF) ^ kCrc.of[(crc >> 8) ^ static_cast<unsigned>(data[i])];
  return static_cast<std::uint16_t>(crc);
}

SerialSink::SerialSink(const std::string& path, int baud, std::size_t width)
    : Sink(width), path_(path), frame_(kHeaderBytes + 16 + 8 * width + kCheckBytes), pending_from_(frame_.size()) {
  if (width > kMostWidth) throw BadInput(text("a serial line takes targets of width 1..%zu, not %zu", kMostWidth, width));
  const speed_t speed = code_of(baud);
  line_ = open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (line_ < 0) throw SinkError(text("the serial line %s cannot be opened: %s", path.c_str(), std::strerror(errno)));
  termios raw{};
  int error = tcgetattr(line_, &before_) == 0 ? 0 : errno;
  if (error == 0) {
    raw = before_;
    cfmakeraw(&raw);
    raw.c_cflag |= CLOCAL | CREAD;  // no modem lines
    raw.c_cflag &= ~static_cast<tcflag_t>(CRTSCTS);
    cfsetispeed(&raw, speed);
    cfsetospeed(&raw, speed);
    // Two programs on one line tear each other's frames; root gets past this.
    if (ioctl(line_, TIOCEXCL) != 0 || tcsetattr(line_, TCSANOW, &raw) != 0) error = errno;
  }
  termios now{};
  // tcsetattr succeeds when any part of it did.
  const bool kept = error == 0 && tcgetattr(line_, &now) == 0 && cfgetospeed(&now) == speed && (now.c_lflag & ICANON) == 0;
  if (error != 0 || !kept) {
    ::close(line_);
    line_ = -1;
    if (error != 0) throw SinkError(text("%s is no serial line that can be set up: %s", path.c_str(), std::strerror(error)));
    throw SinkError(text("the serial line %s does not take %d baud", path.c_str(), baud));
  }
  const auto length = static_cast<std::uint16_t>(16 + 8 * width);
  frame_[0] = std::byte{0xA5};
  frame_[1] = std::byte{0x5A};
  std::memcpy(frame_.data() + 2, &length, 2);
}

SerialSink::~SerialSink() { close(); }

void SerialSink::close() noexcept {
  if (line_ < 0) return;
  tcsetattr(line_, TCSANOW, &before_);
  ioctl(line_, TIOCNXCL);
  ::close(line_);
  line_ = -1;
}

SendResult SerialSink::push() noexcept {
  const ssize_t written = write(line_, frame_.data() + pending_from_, frame_.size() - pending_from_);
  if (written < 0) return errno == EAGAIN || errno == EINTR ? SendResult::would_block : failed(errno);
  pending_from_ += static_cast<std::size_t>(written);
  return SendResult::sent;
}

SendResult SerialSink::send(std::uint64_t sequence, Ns, Ns t_eff_ns, const double* values) noexcept {
  if (pending_from_ < frame_.size()) {
    const SendResult rest = push();
    if (rest != SendResult::sent) return rest;
    if (pending_from_ < frame_.size()) return SendResult::would_block;
  }
  std::memcpy(frame_.data() + kHeaderBytes, &sequence, 8);
  std::memcpy(frame_.data() + kHeaderBytes + 8, &t_eff_ns, 8);
  std::memcpy(frame_.data() + kHeaderBytes + 16, values, 8 * width());
  const std::size_t checked = frame_.size() - 2 - kCheckBytes;
  const std::uint16_t crc = crc16(frame_.data() + 2, checked);
  std::memcpy(frame_.data() + 2 + checked, &crc, 2);
  pending_from_ = 0;
  const SendResult result = push();
  if (pending_from_ == 0) pending_from_ = frame_.size();  // nothing of it went out: forget it
  return result;
}

}  // namespace onbeat
