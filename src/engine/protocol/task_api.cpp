#include "protocol/task_api.hpp"

namespace underway::protocol {

const describe::Structure& description(describe::Tag<TaskApiRequest>) {
  static const auto structure =
      describe::Builder<TaskApiRequest>("Task API request", "A connection of a task to the API.")
          .wire<&TaskApiRequest::alloc>("Alloc", "The allocation.")
          .wire<&TaskApiRequest::task>("Task", "The task.")
          .done();
  return structure;
}

}  // namespace underway::protocol
