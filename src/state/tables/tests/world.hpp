#pragma once
/// @file
/// Tables over a memory store, driven by changes as a writer would, and a text of everything they can be asked.

#include "store/memory_store.hpp"
#include "tables/tables.hpp"

#include "base/json/json.hpp"
#include "base/random.hpp"

namespace underway::tables {

inline model::Job job(std::string id, std::int64_t version = 0) {
  model::Job j;
  j.id = std::move(id);
  j.version = version;
  j.groups.resize(1);
  j.groups[0].name = "g";
  return j;
}

inline model::Allocation allocation(std::string id, std::string job_id, std::string node_id,
                                    std::string eval_id = "e") {
  model::Allocation a;
  a.id = std::move(id);
  a.job_id = std::move(job_id);
  a.node_id = std::move(node_id);
  a.eval_id = std::move(eval_id);
  a.name = a.job_id + ".g[0]";
  return a;
}

inline model::Node node(std::string id) {
  model::Node n;
  n.id = std::move(id);
  return n;
}

inline model::Evaluation evaluation(std::string id, std::string job_id, std::int64_t priority = 50) {
  model::Evaluation e;
  e.id = std::move(id);
  e.job_id = std::move(job_id);
  e.priority = priority;
  return e;
}

class World {
 public:
  /// Applies each list in turn as of one revision and commits them together.
  void commit(std::vector<std::vector<Change>> lists) {
    const Revision revision = store.revision() + 1;
    store::Transaction transaction;
    for (auto& list : lists) {
      auto made = tables.apply(std::move(list), revision);
      std::move(made.begin(), made.end(), std::back_inserter(transaction.then));
    }
    const bool empty = transaction.then.empty();
    store.commit(std::move(transaction), [&](store::Store::CommitResult result) {
      EXPECT_EQ(std::get<store::Outcome>(result).revision, empty ? revision - 1 : revision);
    });
    EXPECT_TRUE(store.step());
    tables.publish();
    EXPECT_EQ(tables.revision(), store.revision());
  }
  template <class... C>
  void put(C... changes) {
    std::vector<Change> list;
    (list.emplace_back(std::move(changes)), ...);
    commit({std::move(list)});
  }

  store::MemoryStore store{store::MemoryStore::Mode::stepped};
  Tables tables;
};

template <class T>
std::vector<std::string> ids(const std::vector<Row<T>>& rows) {
  std::vector<std::string> out;
  for (const auto& row : rows) out.push_back(row->id);
  return out;
}

}  // namespace underway::tables
