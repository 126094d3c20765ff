#include "server/storage/store_mark.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "tables/keys.hpp"

namespace underway::server {
namespace {

std::vector<std::string> marked_ids(const std::string& mark_file) {
  std::vector<std::string> ids;
  for (const auto& line : split(os::find_file(mark_file).value_or(""), '\n'))
    if (!trim(line).empty()) ids.emplace_back(trim(line));
  return ids;
}

/// What says that a store once was there.
std::vector<std::string> traces(const StorePlace& place) {
  std::vector<std::string> found;
  if (os::exists(place.mark_file)) found.push_back("'" + place.mark_file + "'");
  for (const auto& sign : place.signs)
    if (os::exists(sign)) found.push_back("'" + sign + "'");
  return found;
}

Error lost(const StorePlace& place, std::string_view how, const std::vector<std::string>& found) {
  return Error(Code::conflict, fmt::format("the server's state is gone: '{}' {}", place.state_file, how))
      .because(fmt::format("there was one, of which {} is left; what the nodes run goes on", join(found, ", ")))
      .advise(fmt::format("put a backup of '{}' in its place; or start once with -new-cluster and then restore a "
                          "snapshot: `underway operator snapshot restore FILE`; -new-cluster alone begins anew",
                          place.state_file));
}

std::string find_cluster_id(store::Store& store) {
  const auto found = store.range(store::KeyRange::one(tables::setting_key(kClusterSetting))).key_values;
  return found.empty() ? std::string() : std::string(json::parse(found.front().value).as_string());
}

void put_cluster_id(store::Store& store, const std::string& id) {
  store::Transaction transaction;
  transaction.then.emplace_back(
      store::Put{tables::setting_key(kClusterSetting), boost::json::serialize(boost::json::string(id))});
  store.commit_and_wait(std::move(transaction));
}

void write_mark(const std::string& mark_file, const std::vector<std::string>& ids) {
  os::write_file(mark_file, join(ids, "\n") + "\n", 0600);
}

}  // namespace

void refuse_lost_store(const StorePlace& place, bool new_cluster) {
  struct stat status{};
  const bool there = ::stat(place.state_file.c_str(), &status) == 0;
  if (new_cluster || (there && status.st_size > 0)) return;
  if (const auto found = traces(place); !found.empty()) throw lost(place, there ? "is empty" : "is missing", found);
}

void settle_store(store::Store& store, const StorePlace& place, bool new_cluster, IdSource& ids) {
  const auto marked = marked_ids(place.mark_file);
  std::string id = find_cluster_id(store);
  const bool fresh = store.revision() == 0;
  if (new_cluster && !fresh) {
    throw Error(Code::conflict, "-new-cluster is for a server whose state is gone")
        .because(fmt::format("'{}' has one, of revision {}", place.state_file, store.revision()))
        .advise("start without it; to begin anew nevertheless, move that file and its -wal away first");
  }
  if (!id.empty() && !marked.empty() && std::ranges::find(marked, id) == marked.end()) {
    throw Error(Code::conflict, fmt::format("'{}' is another cluster's", place.state_file))
        .because(
            fmt::format("it is the state of {}; '{}' says that of {} belongs here", id, place.mark_file, marked.back()))
        .advise(fmt::format("put the right one in its place; if this one is meant, remove '{}'", place.mark_file));
  }
  if (fresh && !new_cluster)
    if (const auto found = traces(place); !found.empty()) throw lost(place, "has nothing in it", found);
  // In this order a kill leaves what the next start can go on from: of a first start a store without its mark, which
  // gets one; of a new cluster a mark for a store that is still to be made, by the same flag.
  if (fresh && new_cluster) {
    id = ids.uuid();
    extend_mark(place.mark_file, id);
    put_cluster_id(store, id);
    log::warn("server: a new cluster begins; what nodes run of a former one goes on, see `underway node orphans`");
    return;
  }
  if (id.empty()) {  // a first start, or a state of a version that gave none
    id = marked.empty() ? ids.uuid() : marked.back();
    put_cluster_id(store, id);
  }
  if (marked.empty()) write_mark(place.mark_file, {id});
}

void extend_mark(const std::string& mark_file, const std::string& cluster_id) {
  auto ids = marked_ids(mark_file);
  if (cluster_id.empty() || std::ranges::find(ids, cluster_id) != ids.end()) return;
  ids.push_back(cluster_id);
  write_mark(mark_file, ids);
}

}  // namespace underway::server
