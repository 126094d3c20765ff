#include "node/server/server_data.hpp"

#include "base/json/json.hpp"
#include "base/log.hpp"

namespace underway::node {

/// Its destruction ends it.
struct ServerData::Watcher {
  ServerData& data;
  std::weak_ptr<bool> alive;
  std::set<protocol::DataNeed> needs;
  std::function<void()> changed;

  Watcher(ServerData& owner, std::set<protocol::DataNeed> of, std::function<void()> call)
      : data(owner), alive(owner.alive_), needs(std::move(of)), changed(std::move(call)) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    if (!alive.expired()) data.forget(this);
  }
};

std::shared_ptr<const ServerData::Answers> ServerData::answers() const {
  const std::lock_guard lock(mutex_);
  return answers_;
}

void ServerData::set_answers(Answers answers) {
  auto next = std::make_shared<const Answers>(std::move(answers));
  const std::lock_guard lock(mutex_);
  answers_ = std::move(next);
}

std::set<protocol::DataNeed> ServerData::needs() const {
  std::set<protocol::DataNeed> all;
  for (const auto* watcher : watchers_) all.insert(watcher->needs.begin(), watcher->needs.end());
  return all;
}

std::shared_ptr<void> ServerData::watch(std::set<protocol::DataNeed> needed, std::function<void()> changed) {
  const auto before = needs();
  auto watcher = std::make_shared<Watcher>(*this, std::move(needed), std::move(changed));
  watchers_.insert(watcher.get());
  needs_changed(before);
  return watcher;
}

void ServerData::forget(const Watcher* watcher) {
  const auto before = needs();
  watchers_.erase(watcher);
  needs_changed(before);
}

/// Secrets that no task needs any more do not stay in memory. What is given up and asked for again within one turn of
/// the loop, as a task that renders again does, is kept.
void ServerData::needs_changed(const std::set<protocol::DataNeed>& before) {
  if (needs() == before) return;
  untold_ = true;
  news_();
}

awaitable<protocol::IdentityReply> ServerData::sign(protocol::IdentityRequest request) {
  const auto server = connection();
  const auto body = json::to_value(request);
  co_return json::decode<protocol::IdentityReply>(co_await server->call("identity.sign", body), "identity");
}

awaitable<std::shared_ptr<link::Stream>> ServerData::open(std::string method, boost::json::value header) {
  const auto server = connection();
  co_return co_await server->open(std::move(method), std::move(header));
}

std::shared_ptr<link::Connection> ServerData::connection() const {
  auto standing = connection_.lock();
  if (!standing) throw Error(Code::unavailable, "this node is not linked to a server");
  return standing;
}

void ServerData::linked(const std::shared_ptr<link::Connection>& connection) {
  connection_ = connection;
  untold_ = !watchers_.empty() || !answers_->empty();
}

awaitable<void> ServerData::tell(link::Connection& connection) {
  untold_ = false;
  const auto wanted = needs();
  Answers kept = *answers_;
  if (std::erase_if(kept, [&](const auto& entry) { return !wanted.contains(entry.first); }) > 0)
    set_answers(std::move(kept));
  const protocol::WatchRequest request{{wanted.begin(), wanted.end()}};
  const auto body = json::to_value(request, json::Encoding::compact);
  try {
    co_await connection.call("template.watch", body);
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
    log::warn("node: the server does not tell variables to templates: {}", error.one_line());
  }
}

void ServerData::learn(protocol::DataMessage message) {
  const auto wanted = needs();
  Answers next = *answers_;
  std::set<protocol::DataNeed> touched;
  for (auto& value : message.values) {
    if (!wanted.contains(value.need)) continue;  // given up meanwhile
    const auto known = next.find(value.need);
    // After a new link all of it comes again.
    if (known != next.end() && describe::equal(known->second, value)) continue;
    touched.insert(value.need);
    next.insert_or_assign(value.need, std::move(value));
  }
  if (touched.empty()) return;
  set_answers(std::move(next));
  std::vector<std::function<void()>> calls;
  for (const auto* watcher : watchers_) {
    const bool its = std::ranges::any_of(touched, [&](const auto& need) { return watcher->needs.contains(need); });
    if (its) calls.push_back(watcher->changed);
  }
  for (const auto& call : calls) call();
}

}  // namespace underway::node
