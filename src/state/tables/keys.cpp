#include "tables/keys.hpp"

#include <fmt/format.h>

namespace underway::tables {

std::string job_key(std::string_view ns, std::string_view id) { return fmt::format("j/{}/{}", ns, id); }
std::string job_version_key(std::string_view ns, std::string_view id, std::int64_t version) {
  return fmt::format("v/{}/{}/{}", ns, id, version);
}
std::string node_key(std::string_view id) { return fmt::format("n/{}", id); }
std::string evaluation_key(std::string_view id) { return fmt::format("e/{}", id); }
std::string allocation_key(std::string_view id) { return fmt::format("a/{}", id); }
std::string setting_key(std::string_view key) { return fmt::format("x/{}", key); }
std::string topic_key(std::string_view topic) { return fmt::format("t/{}", topic); }

}  // namespace underway::tables
