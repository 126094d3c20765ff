// A tracker is a stranger: its answers are read or refused, and what is read of them is a number and an address that
// can be shown.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "tracker/issues.hpp"

namespace {

using namespace underway;

void check(const tracker::Found& found) {
  const model::TicketLink link{model::TicketRelation::about, model::TicketTarget::url, found.url};
  if (found.number < 1 || (!found.url.empty() && !model::link_problem(link).empty())) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(tracker::parse_issue(text));
  } catch (const Error&) {  // refused
  }
  for (const auto parse : {tracker::parse_issues, tracker::parse_comments}) {
    try {
      const auto found = parse(text);
      if (found.size() > tracker::kMostFound) __builtin_trap();
      for (const auto& it : found) check(it);
    } catch (const Error&) {  // refused
    }
  }
  return 0;
}
