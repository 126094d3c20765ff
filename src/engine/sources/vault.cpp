#include "sources/vault.hpp"

#include "async/retry.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "sources/lease.hpp"
#include "sources/paths.hpp"

namespace underway::sources {

using gotemplate::ForeignAnswer;
using gotemplate::ForeignKind;
using gotemplate::ForeignQuery;
using gotemplate::Secret;

namespace {

/// What is not there may come soon.
constexpr Duration kAbsent = std::chrono::seconds(15);

/// "secret/data/db?version=2": the path, and the version.
std::pair<std::string, std::string> split_version(const std::string& name) {
  const std::size_t mark = name.find('?');
  if (mark == std::string::npos) return {name, {}};
  constexpr std::string_view kVersion = "version=";
  const std::string rest = name.substr(mark + 1);
  if (!rest.starts_with(kVersion) || rest.find_first_not_of("0123456789", kVersion.size()) != std::string::npos)
    throw Error(Code::invalid, fmt::format("'{}' asks a secret for something else than a version", name));
  return {name.substr(0, mark), rest};
}

}  // namespace

Vault::Vault(async::Executor executor, std::unique_ptr<Environment> environment, VaultSettings settings)
    : environment_(std::move(environment)),
      settings_(std::move(settings)),
      watches_(std::move(executor), "Vault", [this](Question question) { return follow(std::move(question)); }) {}

/// Tasks that do not log in are told the same: they are one asker.
Question Vault::question(const Asker& asker, const ForeignQuery& query) const {
  const auto [path, version] = split_version(query.name);
  url_path(path);
  if (asker.logs_in) return {asker, query};
  if (settings_.access.token_file.empty())
    throw Error(Code::denied, fmt::format("task '{}' may not read '{}' of Vault", asker.task, path))
        .because("it has no `vault` block, and this node has no token of its own")
        .advise("write `vault {}` into the task: it logs in with its identity");
  if (!is_allowed(path, settings_.allow, asker))
    throw Error(Code::denied, fmt::format("task '{}' may not read '{}' of Vault", asker.task, path))
        .because("it has no `vault` block, and `template.compat.vault.allow` of this node does not name the path")
        .advise("write `vault {}` into the task: it logs in with its identity");
  return {{}, query};
}

gotemplate::ForeignReply Vault::find(const Asker& asker, const ForeignQuery& query) const {
  return watches_.find(question(asker, query));
}

std::shared_ptr<void> Vault::watch(const Asker& asker, const std::set<ForeignQuery>& queries,
                                   std::function<void()> changed) {
  std::set<Question> questions;
  for (const auto& query : queries) questions.insert(question(asker, query));
  return watches_.watch(std::move(questions), std::move(changed));
}

awaitable<void> Vault::stop() {
  // Their own hold: those who follow let go of them when they end.
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [asker, weak] : sessions_)
    if (const auto session = weak.lock()) all.push_back(session->shared_from_this());
  co_await watches_.stop();
  for (const auto& session : all) co_await session->stop();
}

std::shared_ptr<Session> Vault::session_of(const Asker& asker) {
  std::erase_if(sessions_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = sessions_[asker];
  auto session = known.lock();
  if (session) return session;
  session = Session::open(watches_.executor(), *environment_, settings_, asker);
  known = session;
  return session;
}

/// As consul-template: paths of KV version 2 are written with or without "data".
awaitable<std::string> Vault::path_of(const Session& session, const ForeignQuery& query) {
  const auto [name, version] = split_version(query.name);
  const std::string path = url_path(name);
  std::optional<std::string> mount;
  try {
    const auto request = vault_request("GET", "sys/internal/ui/mounts/" + path, session.token(), session.ns());
    mount = version_2_mount(co_await environment_->send(request, settings_.access.timeout));
  } catch (const Error& error) {
    // Who may not ask writes paths as Vault has them.
    if (error.code() != Code::denied && error.code() != Code::not_found && error.code() != Code::invalid) throw;
  }
  std::string out = path;
  const std::string wanted = query.kind == ForeignKind::secrets ? "metadata" : "data";
  if (mount && !mount->empty() && path.starts_with(*mount)) {
    const std::string below = path.substr(mount->size());
    if (below != wanted && !below.starts_with(wanted + "/")) out = *mount + wanted + "/" + below;
  } else if (mount && query.kind == ForeignKind::secrets && path + "/" == *mount) {
    out = path + "/" + wanted;
  }
  if (query.kind == ForeignKind::secrets) co_return out + "?list=true";
  co_return version.empty() ? out : out + "?" + version;
}

awaitable<ForeignAnswer> Vault::read(const Session& session, const ForeignQuery& query) {
  const bool writes = !query.parameters.empty();
  std::string path = url_path(split_version(query.name).first), body;
  if (writes) {
    boost::json::object parameters;
    for (const auto& [name, value] : query.parameters) parameters[name] = value;
    body = boost::json::serialize(parameters);
  } else {
    path = co_await path_of(session, query);
  }
  const auto request = vault_request(writes ? "PUT" : "GET", path, session.token(), session.ns(), std::move(body));
  const auto response = co_await environment_->send(request, settings_.access.timeout);
  ForeignAnswer answer;
  if (response.status == 404) co_return answer;
  const std::function<void()> understand = [&] {
    if (query.kind == ForeignKind::secrets)
      answer.names = read_names(response);
    else
      answer.secret = read_secret(response);
  };
  co_await environment_->apart(understand);
  co_return answer;
}

/// How much longer the lease is now; nothing when it cannot be renewed any more.
awaitable<std::optional<Duration>> Vault::renew(const Session& session, const Secret& secret) {
  const boost::json::object body{{"lease_id", secret.lease_id}, {"increment", secret.lease_duration}};
  const auto request =
      vault_request("PUT", "sys/leases/renew", session.token(), session.ns(), boost::json::serialize(body));
  try {
    const auto renewed = read_secret(co_await environment_->send(request, settings_.access.timeout));
    const Duration lease = std::chrono::seconds(renewed.lease_duration);
    // Near the longest time that Vault allows, renewals give less and less.
    if (renewed.lease_duration < secret.lease_duration / 2 || lease <= Duration{0}) co_return std::nullopt;
    co_return lease;
  } catch (const Error& error) {
    log::info("templates: the lease of a secret at '{}' was not renewed, and it is read again: {}",
              secret.lease_id.substr(0, secret.lease_id.rfind('/')), error.one_line());
    co_return std::nullopt;
  }
}

awaitable<void> Vault::keep(std::shared_ptr<Session> session, Question question, Secret secret) {
  const std::uint64_t generation = session->generation();
  const auto lives = [&] { return secret.lease_id.empty() || session->generation() == generation; };
  Duration lease = std::chrono::seconds(secret.lease_duration);
  while (true) {
    Duration span;
    if (secret.lease_id.empty() || lease <= Duration{0})
      span = until_reread(secret, settings_.reread, environment_->now(), environment_->random());
    else
      span = secret.renewable ? until_renewal(lease, environment_->random())
                              : until_replacement(lease, environment_->random());
    // News of the session that do not concern us shorten the wait: the rest of it is waited for then.
    const TimePoint end = environment_->now() + span;
    for (Duration rest = span; rest > Duration{0} && lives(); rest = end - environment_->now())
      if (!co_await environment_->wait(session->changed(), rest)) break;
    if (!lives() || secret.lease_id.empty() || !secret.renewable) co_return;
    const auto renewed = co_await renew(*session, secret);
    if (!renewed) co_return;
    lease = *renewed;
  }
}

awaitable<void> Vault::follow(Question question) {
  const auto session = session_of(question.asker);
  async::Backoff backoff({.first = std::chrono::seconds(1), .most = std::chrono::seconds(60)});
  while (true) {
    while (session->token().empty()) {
      watches_.tell_problem(question, session->why());
      co_await session->changed().wait();
    }
    std::optional<Duration> pause;
    std::optional<ForeignAnswer> answer;
    try {
      answer = co_await read(*session, question.query);
      backoff.reset();
    } catch (const Error& error) {
      pause = backoff.next();
      if (error.code() == Code::denied) session->doubt();
      watches_.tell_problem(question, error.one_line());
    }
    if (pause) {
      co_await environment_->wait(session->changed(), *pause);
      continue;
    }
    const auto secret = answer->secret;
    const bool absent = question.query.kind == ForeignKind::secret && !secret;
    watches_.tell(question, std::move(*answer));
    if (absent)
      co_await environment_->wait(session->changed(), kAbsent);
    else
      co_await keep(session, question, secret.value_or(Secret{}));
  }
}

}  // namespace underway::sources
