#include "node/task/task_identities.hpp"

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "crypto/digest.hpp"
#include "node/artifact/destination.hpp"
#include "node/streams/file_access.hpp"
#include "node/task/task_event.hpp"

namespace underway::node {
namespace {

constexpr Duration kRetry = std::chrono::seconds(2);
constexpr Duration kShortestWait = std::chrono::seconds(1);

std::vector<model::Identity> identities_of(const model::Task& task) {
  std::vector<model::Identity> out;
  const auto add = [&](const model::Identity& identity) {
    if (identity.env || identity.file) out.push_back(identity);
  };
  if (task.identity) add(*task.identity);
  for (const auto& identity : task.identities) add(identity);
  return out;
}

std::string name_of(const model::Identity& identity) { return identity.is_default() ? "default" : identity.name; }

/// When a token of ours says that it ends; nothing when it cannot be read. It is not verified: we were given it.
std::optional<TimePoint> end_of(const std::string& token) {
  try {
    const auto first = token.find('.'), second = token.find('.', first + 1);
    if (second == std::string::npos) return std::nullopt;
    const auto claims = json::parse(crypto::base64url_decode(token.substr(first + 1, second - first - 1)));
    return TimePoint{std::chrono::seconds{claims.at("exp").to_number<std::int64_t>()}};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string TaskIdentities::path_of(const model::Identity& identity) const {
  const model::Task& task = subject_.task();
  return resolve_destination(environment_.interpolation().apply(identity.file_path()), task.name,
                             environment_.directory().root(), environment_.paths_of(task));
}

awaitable<void> TaskIdentities::fetch() {
  environment_.added.tokens.clear();
  const auto has_token = [this](const std::string& name, Duration for_longer_than) {
    const auto it = tokens_.find(name);
    return it != tokens_.end() && !it->second.token.empty() &&
           it->second.expires - context_.runtime.now() > for_longer_than;
  };
  bool told = false;
  for (const auto& identity : identities_of(subject_.task())) {
    const std::string name = name_of(identity);
    while (!subject_.killed()) {
      if (has_token(name, identity.lifetime() / 2)) break;
      const std::string problem = co_await renew(identity);
      if (problem.empty() || has_token(name, Duration{0})) break;
      if (!told)
        subject_.tell(event::make(protocol::event::kWaiting, fmt::format("Waiting for its identity: {}", problem)));
      told = true;
      co_await subject_.pause(kRetry);
    }
    if (subject_.killed()) co_return;
    if (identity.env) environment_.added.tokens[identity.variable()] = tokens_.at(name).token;
    if (identity.file) co_await write(identity);
  }
}

/// Empty, or why there is no new token now. Throws what will not be different another time.
awaitable<std::string> TaskIdentities::renew(model::Identity identity) {
  if (context_.server == nullptr) throw Error(Code::unsupported, "there is no server that signs identities");
  try {
    const protocol::IdentityRequest request{subject_.allocation()->id, subject_.task().name, name_of(identity)};
    const auto reply = co_await context_.server->sign(request);
    tokens_[request.identity] = {reply.token, from_unix_nanos(reply.issued), from_unix_nanos(reply.expires)};
    co_return std::string();
  } catch (const Error& error) {
    const bool passes = error.code() == Code::unavailable || error.code() == Code::timeout;
    if (!passes) throw;
    co_return error.one_line();
  }
}

awaitable<void> TaskIdentities::write(model::Identity identity) {
  const std::string path = path_of(identity), token = tokens_.at(name_of(identity)).token;
  const os::Owner owner = environment_.owner();
  const auto put = [&] { Beneath(environment_.directory().root()).write(path, token, 0600, owner); };
  co_await blocking(context_.runtime, put);
}

/// After a restart of the agent: when what the task has in its files ends.
awaitable<void> TaskIdentities::recall() {
  environment_.rebuild();
  co_await environment_.find_user();
  for (const auto& identity : identities_of(subject_.task())) {
    if (!identity.file || tokens_.contains(name_of(identity))) continue;
    const std::string path = path_of(identity);
    std::optional<std::string> text;
    const auto read = [&] { text = Beneath(environment_.directory().root()).find(path); };
    co_await blocking(context_.runtime, read);
    if (!text) continue;
    if (const auto end = end_of(*text)) tokens_[name_of(identity)] = {*text, *end - identity.lifetime(), *end};
  }
}

/// When half of its time is over. One that only the environment of a process from before our restart holds is taken as
/// begun now.
TimePoint TaskIdentities::renewal_of(const model::Identity& identity) {
  auto& token = tokens_[name_of(identity)];
  if (token.expires == TimePoint{}) token.expires = context_.runtime.now() + identity.lifetime();
  return token.expires - identity.lifetime() / 2;
}

awaitable<void> TaskIdentities::keep() {
  const std::shared_ptr<RunningTask> process = subject_.process();
  const auto identities = identities_of(subject_.task());
  if (identities.empty()) co_return;
  co_await recall();
  while (subject_.process() == process && !subject_.killed()) {
    const auto* next = &identities.front();
    for (const auto& identity : identities)
      if (renewal_of(identity) < renewal_of(*next)) next = &identity;
    const Duration wait = renewal_of(*next) - context_.runtime.now();
    if (wait > Duration{0}) {
      co_await subject_.pause(std::max(wait, kShortestWait));
      continue;
    }
    if (const std::string problem = co_await renew(*next); !problem.empty()) {
      log::debug("node: task '{}' of {} keeps its token: {}", subject_.task().name, subject_.allocation()->id, problem);
      co_await subject_.pause(kRetry);
      continue;
    }
    if (subject_.process() != process || subject_.killed()) co_return;
    if (next->file) co_await write(*next);
    if (subject_.process() != process || subject_.killed() || subject_.restarting()) co_return;
    if (next->change_mode == model::IdentityChange::restart) subject_.restart("Identity renewed");
    if (next->change_mode == model::IdentityChange::signal) subject_.signal(next->change_signal, "Identity renewed");
  }
}

}  // namespace underway::node
