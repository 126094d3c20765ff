#include "gotemplate/foreign_data.hpp"

#include <fmt/format.h>

namespace underway::gotemplate {

std::string to_string(const ForeignQuery& query) {
  const std::string place = query.datacenter.empty() ? query.name : query.name + "@" + query.datacenter;
  switch (query.kind) {
    case ForeignKind::service: {
      std::string out = place;
      if (!query.near.empty()) out += "~" + query.near;
      return fmt::format("health.service({}|{})", out, query.passing ? "passing" : "any");
    }
    case ForeignKind::services:
      return query.datacenter.empty() ? "catalog.services" : fmt::format("catalog.services({})", place);
    case ForeignKind::key:
      return fmt::format("kv.get({})", place);
    case ForeignKind::keys:
      return fmt::format("kv.list({})", place);
    case ForeignKind::secrets:
      return fmt::format("vault.list({})", query.name);
    case ForeignKind::secret:
      break;
  }
  return fmt::format("vault.{}({})", query.parameters.empty() ? "read" : "write", query.name);
}

}  // namespace underway::gotemplate
