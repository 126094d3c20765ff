#include "store/detail/sequencer.hpp"

#include <pthread.h>
#include <signal.h>

#include <future>

namespace underway::store::detail {

namespace {

Error closing() { return Error(Code::unavailable, "cannot write: the store is being closed"); }

bool compare_numbers(std::int64_t left, Compare::Operator op, std::int64_t right) {
  switch (op) {
    case Compare::Operator::equal:
      return left == right;
    case Compare::Operator::greater:
      return left > right;
    case Compare::Operator::less:
      return left < right;
    case Compare::Operator::not_equal:
      return left != right;
  }
  return false;
}

std::size_t bytes_of(const std::vector<Operation>& operations) {
  std::size_t bytes = 0;
  for (const auto& operation : operations) {
    if (const auto* put = std::get_if<Put>(&operation)) bytes += put->key.size() + put->value.size();
  }
  return bytes;
}

bool overlap(const KeyRange& watch, const KeyRange& range) {
  if (range.end.empty()) return watch.contains(range.begin);
  if (watch.end.empty()) return range.contains(watch.begin);
  return range.contains(watch.begin) || watch.contains(range.begin);
}

}  // namespace

/// Shared by the writer and the handle. The recursive mutex is held during the callback: the handle's destructor waits
/// for a callback on another thread, and may run within the callback itself.
struct Sequencer::Registration {
  KeyRange range;
  Store::WatchCallback notify;
  Revision after = 0;
  std::recursive_mutex running;
  std::atomic<bool> active{true};
};

class Sequencer::Handle final : public Store::Watch {
 public:
  explicit Handle(std::shared_ptr<Registration> registration) : registration_(std::move(registration)) {}
  ~Handle() override {
    registration_->active = false;
    const std::lock_guard wait(registration_->running);
  }

 private:
  std::shared_ptr<Registration> registration_;
};

Sequencer::Sequencer(Backend& backend, Revision revision, Mode mode, GroupLimits limits)
    : backend_(backend), mode_(mode), limits_(limits), revision_(revision) {
  if (mode_ == Mode::stepped) return;
  sigset_t all, before;  // signals belong to the thread that waits for them, never to this one
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "store");
}

Sequencer::~Sequencer() {
  std::deque<Request> refused;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (held_) refused.swap(queue_);
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (mode_ == Mode::stepped) {
    while (step()) {
    }
  }
  for (auto& request : refused) request.done(closing());
}

bool Sequencer::on_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

void Sequencer::commit(Transaction transaction, Store::CommitCallback done) {
  {
    const std::lock_guard lock(mutex_);
    if (!stop_) {
      queue_.push_back({std::move(transaction), std::move(done)});
      done = nullptr;
    }
  }
  if (done) return done(closing());
  wake_.notify_one();
}

void Sequencer::call(const std::function<void()>& job) {
  if (mode_ == Mode::stepped || on_own_thread()) return job();
  // The error travels as a value: each thread has an exception of its own.
  std::promise<std::optional<Error>> promise;
  auto done = promise.get_future();
  {
    const std::lock_guard lock(mutex_);
    jobs_.emplace_back([&] {
      std::optional<Error> failure;
      try {
        job();
      } catch (const Error& error) {
        failure = error;
      }
      promise.set_value(std::move(failure));
    });
  }
  wake_.notify_one();
  if (auto failure = done.get()) throw std::move(*failure);
}

RangeResult Sequencer::range(const KeyRange& range, std::size_t limit) {
  RangeResult result;
  call([&] {
    result.key_values = backend_.range(range, limit);
    result.revision = revision();
  });
  return result;
}

std::unique_ptr<Store::Watch> Sequencer::watch(KeyRange range, Store::WatchCallback notify) {
  auto registration = std::make_shared<Registration>();
  registration->range = std::move(range);
  registration->notify = std::move(notify);
  call([&] {
    registration->after = revision();
    watches_.push_back(registration);
  });
  return std::make_unique<Handle>(std::move(registration));
}

void Sequencer::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void Sequencer::release() {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
  }
  wake_.notify_one();
}

std::size_t Sequencer::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

bool Sequencer::step() {
  std::vector<Request> group;
  {
    const std::lock_guard lock(mutex_);
    if (!held_) group = take_group();
  }
  if (group.empty()) return false;
  commit_group(std::move(group));
  while (backend_.maintain()) {
  }
  return true;
}

void Sequencer::run() {
  bool more_to_maintain = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto ready = [&] { return stop_ || more_to_maintain || !jobs_.empty() || (!held_ && !queue_.empty()); };
    wake_.wait(lock, ready);
    run_jobs(lock);
    std::vector<Request> group;
    if (!held_) group = take_group();
    if (stop_ && group.empty() && jobs_.empty() && !more_to_maintain) return;
    lock.unlock();
    if (!group.empty()) commit_group(std::move(group));
    more_to_maintain = backend_.maintain();
    lock.lock();
  }
}

void Sequencer::run_jobs(std::unique_lock<std::mutex>& lock) {
  const auto jobs = std::exchange(jobs_, {});
  if (jobs.empty()) return;
  lock.unlock();
  for (const auto& job : jobs) job();
  lock.lock();
}

std::vector<Sequencer::Request> Sequencer::take_group() {
  std::vector<Request> group;
  std::size_t operations = 0, bytes = 0;
  while (!queue_.empty() && operations < limits_.operations && bytes < limits_.bytes) {
    const Transaction& next = queue_.front().transaction;
    operations += 1 + next.then.size() + next.otherwise.size();
    bytes += bytes_of(next.then) + bytes_of(next.otherwise);
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

void Sequencer::commit_group(std::vector<Request> group) {
  std::erase_if(watches_, [](const auto& watch) { return !watch->active; });
  std::vector<Effect> effects;
  effects.reserve(group.size());
  Revision revision = revision_;
  try {
    backend_.begin();
    for (auto& request : group) effects.push_back(execute(request.transaction, revision));
    if (revision != revision_)
      backend_.commit(revision);
    else
      backend_.rollback();
  } catch (const Error& error) {
    backend_.rollback();
    for (auto& request : group) request.done(error);
    return;
  }
  revision_.store(revision, std::memory_order_release);
  groups_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < group.size(); ++i) {
    notify(effects[i]);
    if (effects[i].refused)
      group[i].done(std::move(*effects[i].refused));
    else
      group[i].done(effects[i].outcome);
  }
}

Revision Sequencer::replace(Revision above, const std::function<std::optional<KeyValue>()>& next) {
  Revision made = 0;
  call([&] {
    made = std::max<Revision>(revision_, above) + 1;
    replace_now(made, next);
  });
  return made;
}

void Sequencer::replace_now(Revision revision, const std::function<std::optional<KeyValue>()>& next) {
  std::erase_if(watches_, [](const auto& watch) { return !watch->active; });
  Effect effect;
  effect.outcome = {true, revision};
  try {
    backend_.begin();
    apply({Delete{KeyRange::prefix("")}}, revision, effect.events);
    while (auto kv = next()) {
      kv->mod_revision = revision;
      if (auto refused = refusal({{}, {Put{kv->key, {}}}, {}})) throw std::move(*refused);
      backend_.restore(*kv);
      if (watched(KeyRange::one(kv->key))) effect.events.push_back({Event::Kind::put, std::move(*kv)});
    }
    backend_.commit(revision);
  } catch (const Error&) {
    backend_.rollback();
    throw;
  }
  revision_.store(revision, std::memory_order_release);
  groups_.fetch_add(1, std::memory_order_relaxed);
  notify(effect);
}

Sequencer::Effect Sequencer::execute(Transaction& transaction, Revision& revision) {
  Effect effect;
  effect.refused = refusal(transaction);
  if (effect.refused) return effect;
  effect.outcome.succeeded = std::all_of(transaction.compares.begin(), transaction.compares.end(),
                                         [this](const Compare& compare) { return holds(compare); });
  const auto& operations = effect.outcome.succeeded ? transaction.then : transaction.otherwise;
  if (apply(operations, revision + 1, effect.events)) ++revision;
  effect.outcome.revision = revision;
  return effect;
}

bool Sequencer::apply(const std::vector<Operation>& operations, Revision revision, std::vector<Event>& events) {
  bool changed = false;
  for (const auto& operation : operations) {
    if (const auto* put = std::get_if<Put>(&operation)) {
      const bool seen = watched(KeyRange{put->key, {}});
      if (seen) events.push_back({Event::Kind::put, {}});
      backend_.put(*put, revision, seen ? &events.back().key_value : nullptr);
      changed = true;
      continue;
    }
    const auto& range = std::get<Delete>(operation).range;
    std::vector<std::string> keys;
    changed |= backend_.erase(range, watched(range) ? &keys : nullptr) > 0;
    for (auto& key : keys) {
      Event event{Event::Kind::deleted, {}};
      event.key_value.key = std::move(key);
      event.key_value.mod_revision = revision;
      events.push_back(std::move(event));
    }
  }
  return changed;
}

std::optional<Error> Sequencer::refusal(const Transaction& transaction) const {
  for (const auto* operations : {&transaction.then, &transaction.otherwise}) {
    for (const auto& operation : *operations) {
      const auto* put = std::get_if<Put>(&operation);
      if (put == nullptr) continue;
      if (put->key.empty()) return Error(Code::invalid, "cannot put a value under an empty key");
      if (put->value.size() > limits_.value_bytes)
        return Error(Code::too_large, fmt::format("cannot put the value of key '{}'", put->key))
            .because(fmt::format("it has {} bytes, at most {} are stored", put->value.size(), limits_.value_bytes));
    }
  }
  return {};
}

bool Sequencer::holds(const Compare& compare) {
  const bool by_value = compare.target == Compare::Target::value;
  const auto found = backend_.find(compare.key, by_value);
  if (by_value) return found && compare_numbers(found->value.compare(compare.text), compare.op, 0);
  const KeyValue state = found.value_or(KeyValue{});
  switch (compare.target) {
    case Compare::Target::create_revision:
      return compare_numbers(state.create_revision, compare.op, compare.number);
    case Compare::Target::mod_revision:
      return compare_numbers(state.mod_revision, compare.op, compare.number);
    case Compare::Target::version:
      return compare_numbers(state.version, compare.op, compare.number);
    case Compare::Target::value:
      break;
  }
  return false;
}

bool Sequencer::watched(const KeyRange& range) const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [&](const auto& watch) { return watch->active && overlap(watch->range, range); });
}

void Sequencer::notify(const Effect& effect) {
  if (effect.events.empty()) return;
  for (std::size_t i = 0; i < watches_.size(); ++i) {  // by index: a callback may begin another watch
    const auto watch = watches_[i];
    if (effect.outcome.revision <= watch->after) continue;
    std::vector<Event> events;
    std::copy_if(effect.events.begin(), effect.events.end(), std::back_inserter(events),
                 [&](const Event& event) { return watch->range.contains(event.key_value.key); });
    if (events.empty()) continue;
    const std::lock_guard running(watch->running);
    if (watch->active) watch->notify(effect.outcome.revision, events);
  }
}

}  // namespace underway::store::detail
