#pragma once
/// @file
/// What is asked of a server now, by whom, and what is known of it.

#include "async/group.hpp"
#include "gotemplate/foreign_data.hpp"
#include "sources/settings.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <set>

namespace underway::sources {

/// Two that are equal have one answer: `asker` is empty where everybody is told the same.
struct Question {
  Asker asker{};
  gotemplate::ForeignQuery query{};
  auto operator<=>(const Question&) const = default;
};

/// Starts a coroutine for each question that somebody watches, and ends it when nobody does any more: what was known of
/// it, which may be a secret, is forgotten then.
/// Thread: one loop, but for find().
class WatchTable {
 public:
  using Follow = std::function<async::awaitable<void>(Question)>;

  WatchTable(async::Executor executor, std::string name, Follow follow);
  WatchTable(const WatchTable&) = delete;
  WatchTable& operator=(const WatchTable&) = delete;
  ~WatchTable();

  /// Thread: any.
  gotemplate::ForeignReply find(const Question& question) const;
  /// Until the token is destroyed; `changed` is called on the loop, never from inside a call of this class.
  /// Throws exhausted when this node asks too much already.
  std::shared_ptr<void> watch(std::set<Question> questions, std::function<void()> changed);
  /// Ends all of them. Tokens may be destroyed later.
  async::awaitable<void> stop();

  // --- for the coroutines
  void tell(const Question& question, gotemplate::ForeignAnswer answer);
  /// What is known stays; while nothing is, `why` is told.
  void tell_problem(const Question& question, std::string why);
  /// Whether somebody watches a question of that asker.
  bool has(const Asker& asker) const;
  const async::Executor& executor() const { return executor_; }

 private:
  struct Watcher;
  struct Entry {
    std::shared_ptr<const gotemplate::ForeignReply> known = std::make_shared<const gotemplate::ForeignReply>();
    std::set<Watcher*> watchers{};
    std::unique_ptr<async::TaskGroup> work{};
  };
  void set(const Question& question, gotemplate::ForeignReply reply);
  void forget(Watcher* watcher);

  async::Executor executor_;
  std::string name_;
  Follow follow_;
  mutable std::mutex mutex_;  ///< of entries_' keys and `known`: renderings read them on other threads
  std::map<Question, Entry> entries_;
  bool stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< tokens may outlive us
};

}  // namespace underway::sources
