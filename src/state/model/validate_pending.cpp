#include "model/detail/place.hpp"

namespace underway::model::detail {

/// What is read and written, and refused because nothing acts on it yet: a job that silently lacked it could do harm.
void check_pending(const Place& place, const Job& job) {
  const auto refuse = [](const Place& where, bool asked, std::string_view what) {
    where.require(!asked, "{} is not yet supported", what);
  };
  for (const auto& group : job.groups) {
    const Place inside = place.inside("group", group.name);
    for (const auto& network : group.networks) refuse(inside, network.dns.has_value(), "network: dns");
  }
}

}  // namespace underway::model::detail
