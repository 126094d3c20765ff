#pragma once
/// @file
/// A task's connection to the API, through its node:
///   node to server: stream "task.api"   TaskApiRequest   the bytes of one HTTP connection, both ways

#include <string>
#include <string_view>

#include "base/json/describe.hpp"

namespace underway::protocol {

inline constexpr std::string_view kTaskApiStream = "task.api";

/// Whose connection it is.
struct TaskApiRequest {
  std::string alloc, task;
};
const describe::Structure& description(describe::Tag<TaskApiRequest>);

}  // namespace underway::protocol
