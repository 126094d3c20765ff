#pragma once
/// @file
/// What QEMU says on its control socket, line by line. Pure.
/// Source: QEMU, docs/interop/qmp-spec.txt (7.2), §2.

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace underway::vm {

/// The first line: who is there.
struct QmpGreeting {
  std::string version;  ///< "7.2.22"
};
/// Something has happened, asked for or not.
struct QmpEvent {
  std::string name;  ///< "STOP", "RESUME", "RESET", "SHUTDOWN", "MIGRATION", …
  boost::json::object data;
};
struct QmpReturn {
  std::int64_t id = -1;  ///< -1: none
  boost::json::value value;
};
struct QmpFailure {
  std::int64_t id = -1;
  std::string error_class;  ///< "GenericError", "CommandNotFound", "DeviceNotFound", …
  std::string text;
};
using QmpMessage = std::variant<QmpGreeting, QmpEvent, QmpReturn, QmpFailure>;

/// Throws Error(internal) when `line` is no message. A guest agent's answers have the same form.
QmpMessage parse_qmp(std::string_view line);

}  // namespace underway::vm
