#include "server/storage/snapshots.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "os/file.hpp"
#include "server/detail/links.hpp"
#include "server/storage/history.hpp"
#include "server/storage/snapshot_losses.hpp"
#include "server/storage/store_mark.hpp"
#include "snapshot/state_file.hpp"
#include "store/whole.hpp"
#include "tables/keys.hpp"
#include "tables/restore.hpp"

namespace underway::server {
namespace {

constexpr std::size_t kRowsAtOnce = 2048;

store::Whole& whole(store::Store& store) {
  if (auto* found = dynamic_cast<store::Whole*>(&store)) return *found;
  throw Error(Code::unsupported, "this store makes no snapshots");
}

/// Whether somebody would miss what is there.
bool is_fresh(const Tables& tables) {
  return tables.jobs().empty() && tables.rows<model::Variable>().empty() && tables.clusters().empty();
}

std::string cluster_id_of(const Tables& tables) {
  const auto id = tables.setting(kClusterSetting);
  return id && id->is_string() ? std::string(std::string_view(id->get_string())) : std::string();
}

void refuse_other_cluster(const Tables& tables, const snapshot::Metadata& metadata, bool force) {
  if (force || is_fresh(tables) || cluster_id_of(tables) == metadata.cluster_id) return;
  throw Error(Code::conflict, "this snapshot is of another cluster")
      .because(fmt::format("it is of {}, made {}; this server has jobs, variables or clusters of its own",
                           metadata.cluster_id.empty() ? "none that it names" : metadata.cluster_id,
                           format_time(from_unix_nanos(metadata.time))))
      .advise("what is here would be lost: add ?force=true to the request if that is meant");
}

/// Job ("namespace/id") of each allocation that is to run now, by its key in the store.
using Living = std::map<std::string, std::string>;

Living living(const Tables& tables) {
  Living out;
  for (const auto& row : tables.allocations()) {
    if (!row->terminal()) out.emplace(tables::allocation_key(row->id), row->ns + "/" + row->job_id);
  }
  return out;
}

SnapshotLosses losses_of(const Living& lost) {
  SnapshotLosses out;
  out.allocations = static_cast<std::int64_t>(lost.size());
  std::set<std::string> jobs;
  for (const auto& [_, job] : lost) jobs.insert(job);
  out.jobs.assign(jobs.begin(), jobs.end());
  return out;
}

/// Every row of the state, as load() will read it after the restoration. Returns the history that it tells of; of
/// `living` stays what the state does not have.
History check_state(const std::string& state_file, Living& living) {
  History history;
  const std::string history_key = tables::setting_key(kHistorySetting);
  snapshot::StateReader reader(state_file);
  std::vector<store::KeyValue> rows;
  bool more = true;
  while (more) {
    auto row = reader.next();
    more = row.has_value();
    if (row) rows.push_back(std::move(*row));
    if (more && rows.size() < kRowsAtOnce) continue;
    try {
      tables::check_rows(rows);
      for (const auto& put : rows) {
        if (put.key == history_key) history = parse_history(json::parse(put.value));
        living.erase(put.key);
      }
    } catch (const Error& error) {
      throw Error(Code::unsupported, "this version cannot read the snapshot").because(error.one_line());
    }
    rows.clear();
  }
  return history;
}

model::Revision replace_state(store::Store& store, const std::string& state_file, model::Revision above,
                              const History& history) {
  snapshot::StateReader reader(state_file);
  // Beside the state's own rows, or instead of them.
  std::map<std::string, std::string> ours;
  for (auto& mark : tables::deletion_marks()) ours.emplace(std::move(mark), "");
  const std::string history_key = tables::setting_key(kHistorySetting);
  ours[history_key] = boost::json::serialize(to_setting(history));
  return whole(store).replace(above, [&]() -> std::optional<store::KeyValue> {
    if (auto row = reader.next()) {
      const auto own = ours.extract(row->key);
      if (row->key == history_key) row->value = own.mapped();
      return row;
    }
    if (ours.empty()) return std::nullopt;
    const auto own = ours.extract(ours.begin());
    store::KeyValue row{own.key(), own.mapped(), 1, 1, 1};
    return row;
  });
}

/// The id of this state, by which a restoration knows it: made when a snapshot first needs it, and kept for ever.
struct NameCluster {};
Decision<std::string> decide(const Tables& tables, const NameCluster&, const Context& context) {
  Decision<std::string> decision;
  decision.result = cluster_id_of(tables);
  if (!decision.result.empty()) return decision;
  decision.result = context.ids.uuid();
  decision.changes.push_back(tables::PutSetting{kClusterSetting, boost::json::string(decision.result)});
  return decision;
}

}  // namespace

SnapshotPlace::SnapshotPlace(std::string directory) : directory_(std::move(directory)) {
  if (!directory_.empty()) os::remove_tree(directory_);
}

SnapshotPlace::~SnapshotPlace() {
  if (temporary_) ::rmdir(directory_.c_str());
}

std::string SnapshotPlace::new_path(const std::string& what) {
  if (directory_.empty()) {
    std::string pattern = "/tmp/underway-snapshots-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw errno_error(errno, "cannot make a directory in '/tmp'");
    directory_ = pattern;
    temporary_ = true;
  }
  os::make_directories(directory_, 0700);
  return fmt::format("{}/{}-{}", directory_, ++made_, what);
}

SnapshotFile::~SnapshotFile() { ::unlink(path_.c_str()); }

std::shared_ptr<SnapshotFile> Server::new_snapshot_file() {
  return std::make_shared<SnapshotFile>(snapshots_, "incoming");
}

async::awaitable<std::shared_ptr<const SavedSnapshot>> Server::save_snapshot() {
  snapshot::Metadata metadata;
  metadata.cluster_id = co_await apply(NameCluster{});
  metadata.program = std::string(version());
  metadata.region = options_.region;
  metadata.time = unix_nanos(clock_.now());
  metadata.keys = keyring_.wrapped();
  auto saved = std::make_shared<SavedSnapshot>();
  const auto state = std::make_shared<SnapshotFile>(snapshots_, "state");
  const auto scratch = std::make_shared<SnapshotFile>(snapshots_, "copy");
  saved->file = std::make_shared<SnapshotFile>(snapshots_, "archive");
  async::Pool pool(1);
  auto job = [&] {
    os::make_directories(scratch->path(), 0700);
    snapshot::StateWriter writer(state->path());
    try {
      metadata.index = whole(writer_.store()).copy(scratch->path(), [&](store::KeyValue&& kv) { writer.add(kv); });
    } catch (...) {
      ::rmdir(scratch->path().c_str());
      throw;
    }
    ::rmdir(scratch->path().c_str());
    metadata.size = writer.finish();
    metadata.id = fmt::format("snapshot-{}-{}", metadata.index, metadata.time / 1'000'000);
    saved->packed = snapshot::pack(metadata, state->path(), saved->file->path());
  };
  co_await async::on_pool(pool, job);
  saved->metadata = std::move(metadata);
  log::info("server: saved a snapshot of revision {}, {} bytes", saved->metadata.index, saved->packed.size);
  co_return saved;
}

async::awaitable<RestoredSnapshot> Server::restore_snapshot(std::string archive, bool force) {
  RestoredSnapshot restored;
  const auto state = std::make_shared<SnapshotFile>(snapshots_, "state");
  async::Pool pool(1);
  History history;
  Living lost = living(*co_await read());
  auto verify = [&] {
    restored.metadata = snapshot::unpack(archive, state->path());
    history = check_state(state->path(), lost);
  };
  co_await async::on_pool(pool, verify);
  refuse_other_cluster(*co_await read(), restored.metadata, force);
  const auto keys = keyring_.missing(restored.metadata.keys);
  // First: keys without a state that needs them do no harm.
  keyring_.adopt(keys);
  if (options_.about_to_become) options_.about_to_become(restored.metadata.cluster_id);
  std::function<void(store::Store&)> work = [&](store::Store& store) {
    // Read when nothing is decided any more: a node may have begun this server's epoch meanwhile.
    history = with_restored(history_of(tables_), std::move(history), restored.metadata.index);
    restored.revision = replace_state(store, state->path(), restored.metadata.index, history);
  };
  co_await writer_.replace(pool, std::move(work));
  follow_restoration();
  log::warn("server: the state was replaced by snapshot {} of {}", restored.metadata.id,
            format_time(from_unix_nanos(restored.metadata.time)));
  if (const auto losses = losses_of(lost); losses.allocations > 0)
    log::warn("server: that state does not have {} allocations which ran; their nodes end them: {}", losses.allocations,
              underway::join(losses.jobs, ", "));
  co_return restored;
}

async::awaitable<SnapshotLosses> losses_of_snapshot(Server& server, std::string archive, bool force) {
  const auto state = server.new_snapshot_file();
  async::Pool pool(1);
  snapshot::Metadata metadata;
  Living lost = living(*co_await server.read());
  auto verify = [&] {
    metadata = snapshot::unpack(archive, state->path());
    check_state(state->path(), lost);
  };
  co_await async::on_pool(pool, verify);
  refuse_other_cluster(*co_await server.read(), metadata, force);
  co_return losses_of(lost);
}

const describe::Structure& description(describe::Tag<SnapshotLosses>) {
  static const describe::Structure s =
      describe::Builder<SnapshotLosses>("SnapshotLosses", "What runs, and does not in the state of a snapshot.")
          .wire<&SnapshotLosses::jobs>("Jobs", "Those that lose allocations, with their namespace.")
          .wire<&SnapshotLosses::allocations>("Allocations", "How many end.")
          .done();
  return s;
}

/// What nodes were told is of another state: each links anew, and is told everything.
void Server::follow_restoration() {
  links_->silent_since.clear();
  const auto grace = async::deadline_in(options_.start_grace);
  for (const auto& node : tables_.nodes()) {
    if (node->status == model::NodeStatus::ready) links_->silent_since[node->id] = grace;
  }
  for (const auto& [id, session] : links_->sessions) session->connection->abort();
}

}  // namespace underway::server
