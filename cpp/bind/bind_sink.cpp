#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "convert.hpp"
#include "module.hpp"
#include "onbeat/sink.hpp"

namespace onbeat::bind {

namespace {

// Counts that came from Python: refused here when negative, so that the core sees sizes only.
std::size_t size_of(long long value, const char* name) {
  if (value < 1) throw BadInput(text("%s must be >= 1, not %lld", name, value));
  return static_cast<std::size_t>(value);
}

nb::object frames(MemorySink& self) {
  auto* drained = new std::vector<std::byte>(self.drain());
  const nb::capsule owner(drained, [](void* memory) noexcept { delete static_cast<std::vector<std::byte>*>(memory); });
  auto* bytes = reinterpret_cast<std::uint8_t*>(drained->data());
  const nb::object flat = nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(bytes, {drained->size()}, owner));
  nb::list fields;
  fields.append(nb::make_tuple("sequence", "<u8"));
  fields.append(nb::make_tuple("sent_ns", "<i8"));
  fields.append(nb::make_tuple("t_eff_ns", "<i8"));
  fields.append(nb::make_tuple("values", "<f8", nb::make_tuple(self.width())));
  return flat.attr("view")(nb::module_::import_("numpy").attr("dtype")(fields));
}

constexpr std::size_t kMostMemory = std::size_t{1} << 31;  // of a MemorySink, which is paged in at once

// A closed descriptor may become another file of this process, so a loop must not have it.
template <class Closed>
void close(Closed& self) {
  if (!self.claim()) throw BadInput("a loop sends to this sink; stop it first");
  self.close();
  self.release();
}

}  // namespace

void bind_sink(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const SinkError& error) {
      PyErr_SetString(nb::module_::import_("onbeat.errors").attr("DeviceError").ptr(), error.what());
    }
  });

  nb::class_<Sink>(m, "Sink", "Where a native loop sends its targets; it never blocks the loop, and serves one loop at a time.")
      .def_prop_ro("width", &Sink::width, "Numbers in a target.");

  nb::class_<MemorySink, Sink>(m, "MemorySink", R"(Targets into memory: a simulated device reads what was sent, with the instant of sending.

Args:
    width: Numbers in a target, 1..4096.
    capacity: Frames that wait to be drained, >= 1. A full sink refuses the newest frame: the cycle is flagged WOULD_BLOCK.

Raises:
    BadInput: a width or capacity out of range.)")
      .def(nb::new_([](long long width, long long capacity) {
             const std::size_t columns = size_of(width, "width"), frames = size_of(capacity, "capacity");
             if (columns <= 4096 && frames > kMostMemory / (8 * (3 + columns)))
               throw BadInput(text("%zu frames of width %zu are more than 2 GiB; drain oftener and give a smaller capacity", frames, columns));
             return std::make_shared<MemorySink>(columns, frames);
           }),
           nb::arg("width"), nb::arg("capacity") = 65536)
      .def("drain", &frames, nb::sig("def drain(self) -> numpy.typing.NDArray[numpy.void]"),
           R"(Take out the frames that wait, oldest first.

Returns:
    A structured array of shape (n,): sequence (u8), sent_ns and t_eff_ns (i8, on the monotonic clock, or on the manual clock of
    `SendLoop.cycle`), values (f8, shape (width,)).)")
      .def("__len__", &MemorySink::size, "Frames that wait.")
      .def_prop_ro("capacity", &MemorySink::capacity, "Frames that can wait.")
      .def_prop_ro("dropped", &MemorySink::dropped, "Frames refused because the sink was full.")
      .def("__repr__", [](const MemorySink& self) { return text("MemorySink(width %zu, %zu waiting)", self.width(), self.size()); });

  nb::class_<SocketSink, Sink>(m, "SocketSink", "A sink on a socket.")
      .def("close", &close<SocketSink>, "Close the socket; may be called twice. Raises BadInput while a loop sends to it.")
      .def_prop_ro("peer", &SocketSink::peer, "Where it sends.")
      .def("__repr__", [](const SocketSink& self) { return text("<sink to %s, width %zu>", self.peer().c_str(), self.width()); });

  nb::class_<UdpSink, SocketSink>(m, "UdpSink", R"(Targets as datagrams: little-endian u64 sequence, i64 t_eff_ns, width float64.

The sequence counts sends, so a receiver sees each loss as a gap. Nobody listening is not an error.

Args:
    host: Name or address, resolved once, here.
    port: 1..65535.
    width: Numbers in a target, 1..4096.

Raises:
    BadInput: a port or width out of range.
    DeviceError: the host cannot be resolved.)")
      .def(nb::new_([](const std::string& host, int port, long long width) {
             return std::make_shared<UdpSink>(host, port, size_of(width, "width"));
           }),
           nb::arg("host"), nb::arg("port"), nb::arg("width"));

  nb::class_<TcpSink, SocketSink>(m, "TcpSink", R"(Targets on a TCP connection, without Nagle's delay: frames as of UdpSink, one after the other.

It connects here. A reader that stops reading costs frames (WOULD_BLOCK), never time: a frame that went out in part is finished
before any other, and one that cannot begin is dropped. A connection that breaks is a device error and stops the loop.

Args:
    host: Name or address.
    port: 1..65535.
    width: Numbers in a target, 1..4096.
    timeout_s: How long to wait for the connection.

Raises:
    BadInput: a port, width or timeout out of range.
    DeviceError: the host cannot be resolved, or does not answer in time.)")
      .def(nb::new_([](const std::string& host, int port, long long width, double timeout_s) {
             const std::size_t columns = size_of(width, "width");
             const nb::gil_scoped_release release;  // the other side may live in this process
             return std::make_shared<TcpSink>(host, port, columns, timeout_s);
           }),
           nb::arg("host"), nb::arg("port"), nb::arg("width"), nb::arg("timeout_s") = 1.0);

  nb::class_<SerialSink, Sink>(m, "SerialSink", R"(Targets on a serial line: raw, 8N1, no flow control, non-blocking.

A frame is 0xA5 0x5A, u16 length, the frame of UdpSink, u16 CRC-16/CCITT-FALSE of length and frame; all little-endian. A line that is
too slow or a reader that stops costs frames (WOULD_BLOCK), never time, and never tears one. A line that goes away stops the loop.

Args:
    path: The device, such as /dev/ttyUSB0.
    baud: One of the standard rates; a frame takes (22 + 8 width) * 10 / baud seconds.
    width: Numbers in a target, 1..512.

Raises:
    BadInput: a rate or width out of range.
    DeviceError: the line cannot be opened, is no serial line, or does not take the rate.)")
      .def(nb::new_([](const std::string& path, int baud, long long width) {
             return std::make_shared<SerialSink>(path, baud, size_of(width, "width"));
           }),
           nb::arg("path"), nb::arg("baud"), nb::arg("width"))
      .def("close", &close<SerialSink>, "Set the line back as it was found and close it; may be called twice. Raises BadInput while a loop sends to it.")
      .def_prop_ro("path", &SerialSink::path, "The device.")
      .def_prop_ro("frame_bytes", &SerialSink::frame_bytes, "Bytes of a frame on the line.")
      .def("__repr__", [](const SerialSink& self) { return text("SerialSink(%s, width %zu)", self.path().c_str(), self.width()); });
}

}  // namespace onbeat::bind
