// What set-up code throws; the bindings raise it as onbeat.errors.BadInput. Nothing in a loop throws.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace onbeat {

struct BadInput : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// printf into a string: the messages carry numbers with units, and std::format is not in every compiler that builds this.
[[gnu::format(printf, 1, 2)]] inline std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

}  // namespace onbeat
