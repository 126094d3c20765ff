#include "sources/watch_table.hpp"

#include "base/error.hpp"

namespace underway::sources {

namespace {
/// Each is a coroutine and, of Consul, a connection.
constexpr std::size_t kMostQuestions = 2000;
}  // namespace

/// Its destruction ends it.
struct WatchTable::Watcher : std::enable_shared_from_this<Watcher> {
  WatchTable& watches;
  std::weak_ptr<bool> alive;
  std::set<Question> questions;
  std::function<void()> changed;
  bool posted = false;

  Watcher(WatchTable& owner, std::set<Question> of, std::function<void()> call)
      : watches(owner), alive(owner.alive_), questions(std::move(of)), changed(std::move(call)) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    if (!alive.expired()) watches.forget(this);
  }

  /// From the loop itself: who is called may end what is being told.
  void call_soon() {
    if (std::exchange(posted, true)) return;
    asio::post(watches.executor_, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->posted = false;
      self->changed();
    });
  }
};

WatchTable::WatchTable(async::Executor executor, std::string name, Follow follow)
    : executor_(std::move(executor)), name_(std::move(name)), follow_(std::move(follow)) {}
WatchTable::~WatchTable() = default;

gotemplate::ForeignReply WatchTable::find(const Question& question) const {
  std::shared_ptr<const gotemplate::ForeignReply> known;
  {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(question);
    if (it == entries_.end()) return {};
    known = it->second.known;
  }
  return *known;
}

std::shared_ptr<void> WatchTable::watch(std::set<Question> questions, std::function<void()> changed) {
  if (entries_.size() + questions.size() > kMostQuestions)
    throw Error(Code::exhausted, fmt::format("the templates of this node ask {} for too much", name_))
        .because(fmt::format("{} questions at once are followed", kMostQuestions))
        .advise("ask for a prefix with ls or tree in place of many keys");
  auto watcher = std::make_shared<Watcher>(*this, std::move(questions), std::move(changed));
  for (const auto& question : watcher->questions) {
    Entry* entry = nullptr;
    {
      const std::lock_guard lock(mutex_);
      entry = &entries_[question];
    }
    entry->watchers.insert(watcher.get());
    if (entry->work || stopped_) continue;
    entry->work = std::make_unique<async::TaskGroup>(executor_, "templates: " + name_);
    entry->work->spawn(gotemplate::to_string(question.query), follow_(question));
  }
  return watcher;
}

void WatchTable::forget(Watcher* watcher) {
  for (const auto& question : watcher->questions) {
    const auto it = entries_.find(question);
    if (it == entries_.end()) continue;
    it->second.watchers.erase(watcher);
    if (!it->second.watchers.empty()) continue;
    // The group goes after the entry: its coroutine sees that nobody asks any more.
    const auto work = std::move(it->second.work);
    const std::lock_guard lock(mutex_);
    entries_.erase(it);
  }
}

async::awaitable<void> WatchTable::stop() {
  stopped_ = true;
  std::vector<std::unique_ptr<async::TaskGroup>> groups;
  for (auto& [question, entry] : entries_)
    if (entry.work) groups.push_back(std::move(entry.work));
  for (const auto& group : groups) co_await group->stop();
}

void WatchTable::set(const Question& question, gotemplate::ForeignReply reply) {
  const auto it = entries_.find(question);
  if (it == entries_.end()) return;
  auto known = std::make_shared<const gotemplate::ForeignReply>(std::move(reply));
  {
    const std::lock_guard lock(mutex_);
    it->second.known = std::move(known);
  }
  for (auto* watcher : it->second.watchers) watcher->call_soon();
}

void WatchTable::tell(const Question& question, gotemplate::ForeignAnswer answer) {
  set(question, {std::move(answer), {}});
}

void WatchTable::tell_problem(const Question& question, std::string why) {
  const auto it = entries_.find(question);
  if (it == entries_.end() || it->second.known->answer || it->second.known->why == why) return;
  set(question, {{}, std::move(why)});
}

bool WatchTable::has(const Asker& asker) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& entry) { return entry.first.asker == asker && !entry.second.watchers.empty(); });
}

}  // namespace underway::sources
