#include "protocol/origin.hpp"

namespace underway::protocol {

bool is_in_history(const Origin& origin, const std::map<std::string, model::Revision>& epochs) {
  if (origin.epoch.empty()) return true;
  const auto epoch = epochs.find(origin.epoch);
  return epoch != epochs.end() && origin.revision <= epoch->second;
}

}  // namespace underway::protocol
