#include "tables/restore.hpp"

#include "store/memory_store.hpp"
#include "tables/detail/state.hpp"
#include "tables/keys.hpp"

namespace underway::tables {

/// By loading them: what load() takes is what it will take after the restoration.
void check_rows(const std::vector<store::KeyValue>& rows) {
  store::MemoryStore store(store::MemoryStore::Mode::stepped);
  std::size_t at = 0;
  store.replace(0, [&]() -> std::optional<store::KeyValue> {
    return at < rows.size() ? std::optional(rows[at++]) : std::nullopt;
  });
  Tables tables;
  tables.load(store);
}

std::vector<std::string> deletion_marks() {
  std::vector<std::string> keys;
  for (const auto topic : kTopicNames) keys.push_back(topic_key(topic));
  return keys;
}

}  // namespace underway::tables
