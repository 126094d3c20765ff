#include "tables/detail/codec.hpp"
#include "tables/detail/state.hpp"
#include "tables/keys.hpp"

namespace underway::tables {

namespace {

constexpr std::size_t kPage = 4096;  // rows whose text is in memory at a time
constexpr int kAttempts = 5;         // when somebody writes meanwhile
/// Versions before the allocations that refer to them; then the plain tables.
constexpr std::string_view kTables[] = {"t/", "x/", "v/", "j/", "n/", "e/", "a/"};

void check_key(const store::KeyValue& kv, const std::string& expected) {
  if (kv.key != expected)
    detail::refuse_value(kv, Error(Code::internal, fmt::format("its row belongs to key '{}'", expected)));
}

/// Calls `visit` with pages of the keys below `prefix`; false when they are not of `revision`.
template <class Visit>
bool read_pages(store::Store& store, std::string_view prefix, Revision revision, Visit visit) {
  store::KeyRange range = store::KeyRange::prefix(std::string(prefix));
  while (true) {
    const auto page = store.range(range, kPage);
    if (page.revision != revision) return false;
    visit(page.key_values);
    if (page.key_values.size() < kPage) return true;
    range.begin = page.key_values.back().key + '\0';
  }
}

}  // namespace

void Tables::load(store::Store& store) {
  try {
    impl_->load(store);
  } catch (...) {
    impl_->clear();
    throw;
  }
}

void Tables::Impl::load(store::Store& store) {
  for (int attempt = 1;; ++attempt) {
    clear();
    const Revision now = store.revision();
    bool whole = true;
    for (const auto table : kTables) {
      if (whole) whole = read_pages(store, table, now, [&](const auto& page) { load_page(table, page); });
    }
    detail::for_each_plain([&]<class T>() {
      const auto load_rows = [&](const auto& page) { load_plain<T>(page); };
      if (whole) whole = read_pages(store, PlainTable<T>::prefix, now, load_rows);
    });
    settle();
    // The catalogue is not stored: it is as old as what it is made of.
    const auto of = [](auto& revisions, Topic topic) -> Revision& {
      return revisions[static_cast<std::size_t>(topic)];
    };
    of(changed, Topic::services) = of(deleted, Topic::services) =
        std::max(of(changed, Topic::allocations), of(deleted, Topic::allocations));
    revision = now;
    if (whole) break;
    if (attempt == kAttempts)
      throw Error(Code::conflict, "cannot load the tables").because("the store is being written by somebody else");
  }
  for (auto* follower : followers) replay(*follower);
  for (auto* observer : observers) observer->loaded();
  waiters.touch_all();
}

void Tables::Impl::clear() {
  jobs.clear();
  job_entries.clear();
  nodes.clear();
  node_entries.clear();
  nodes_by_host.clear();
  evaluations.clear();
  pending.clear();
  blocked.clear();
  allocations.clear();
  plain_maps = {};
  tokens_by_hash.clear();
  settings.clear();
  services.clear();
  stamp = ordered_in = 0;
  unsettled_jobs.clear();
  unsettled_nodes.clear();
  operations.clear();
  revision = 0;
  changed = {};
  deleted = {};
}

void Tables::Impl::replay(Follower& follower) const {
  follower.reset();
  nodes.each({}, [&](const Row<model::Node>& node) { follower.node_changed(nullptr, node); });
  allocations.each({}, [&](const Row<model::Allocation>& a) { follower.allocation_changed(nullptr, a); });
}

void Tables::Impl::load_topic(const store::KeyValue& kv) {
  for (std::size_t i = 0; i < kTopicCount; ++i) {
    if (kv.key == topic_key(kTopicNames[i])) changed[i] = deleted[i] = kv.mod_revision;
  }
}

void Tables::Impl::load_page(std::string_view table, const std::vector<store::KeyValue>& page) {
  const auto note = [this](Topic topic, Revision modified) {
    auto& newest = changed[static_cast<std::size_t>(topic)];
    newest = std::max(newest, modified);
  };
  for (const auto& kv : page) {
    switch (table.front()) {
      case 't':
        load_topic(kv);
        break;
      case 'x':
        settings[kv.key.substr(2)] = {detail::parse_value(kv), kv.mod_revision};
        note(Topic::settings, kv.mod_revision);
        break;
      case 'v': {
        auto record = std::make_shared<const JobVersion>(detail::decode_version(kv));
        const model::Job& job = record->job;
        check_key(kv, job_version_key(job.ns, job.id, job.version));
        index_version(job_entry(job.ns, job.id), job.version, record);
        break;
      }
      case 'j': {
        auto decoded = detail::decode_row<model::Job>(kv);
        decoded.index_groups();
        auto job = std::make_shared<const model::Job>(std::move(decoded));
        check_key(kv, job_key(job->ns, job->id));
        note(Topic::jobs, job->modify_index);
        job_entry(job->ns, job->id).current = job;
        jobs[{job->ns, job->id}] = std::move(job);
        break;
      }
      case 'n': {
        auto node = std::make_shared<const model::Node>(detail::decode_row<model::Node>(kv));
        check_key(kv, node_key(node->id));
        note(Topic::nodes, node->modify_index);
        index_node(nullptr, node);
        break;
      }
      case 'e': {
        auto evaluation = std::make_shared<const model::Evaluation>(detail::decode_row<model::Evaluation>(kv));
        check_key(kv, evaluation_key(evaluation->id));
        note(Topic::evaluations, evaluation->modify_index);
        index_evaluation(nullptr, evaluation);
        break;
      }
      case 'a': {
        auto allocation = detail::decode_row<model::Allocation>(kv);
        check_key(kv, allocation_key(allocation.id));
        note(Topic::allocations, allocation.modify_index);
        allocation.job = version_of(allocation);
        detail::trim(allocation);
        index_allocation(nullptr, std::make_shared<const model::Allocation>(std::move(allocation)));
        break;
      }
      default:
        break;
    }
  }
}

template <class T>
void Tables::Impl::load_plain(const std::vector<store::KeyValue>& page) {
  auto& newest = changed[static_cast<std::size_t>(PlainTable<T>::topic)];
  for (const auto& kv : page) {
    auto row = std::make_shared<const T>(detail::decode_row<T>(kv));
    std::string key = PlainTable<T>::key(*row);
    check_key(kv, std::string(PlainTable<T>::prefix) + key);
    newest = std::max(newest, row->modify_index);
    index_plain(Row<T>(), row);
    plain<T>()[std::move(key)] = std::move(row);
  }
}

}  // namespace underway::tables
