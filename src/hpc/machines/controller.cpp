#include "machines/controller.hpp"

#include "async/loop_clock.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "machines/scripts.hpp"
#include "server/job/job_decisions.hpp"
#include "slurm/elastic/member_controller.hpp"

namespace underway::machines {

using async::awaitable;

Controller::Controller(server::Server& server, async::Pool& pool, async::Executor executor, Options options)
    : server_(server),
      pool_(pool),
      options_(options),
      follower_(server.follow(what_machines_follow())),
      tasks_(std::move(executor), "machines of Slurm jobs") {}

server::FollowerOptions Controller::what_machines_follow() {
  server::FollowerOptions out;
  out.scopes = [](const tables::Tables&) { return std::vector<tables::Scope>{{tables::Topic::clusters, ""}}; };
  // What Slurm's queue has, no change tells of.
  out.again = [this](const tables::Tables& tables) -> std::optional<Duration> {
    if (clusters_with_machines(tables).empty()) return std::nullopt;
    // Slurm is not kept busy by us: of a long queue the answers take seconds.
    return std::max<Duration>(options_.poll, 4 * took_);
  };
  out.gather = std::chrono::milliseconds(50);
  return out;
}

void Controller::start() {
  server_.loops().start(tasks_, {.area = "machines",
                                 .name = "machines of Slurm jobs",
                                 .trouble = "Slurm jobs are not given their virtual machines, nor are these taken back",
                                 .wait = [this] { return follower_.wait_for_news(); },
                                 .reconcile = [this] { return reconcile(); },
                                 .retry = async::RetryPolicy::up_to(std::chrono::seconds(2)),
                                 .patience = std::chrono::minutes(5)});
}

awaitable<void> Controller::stop() { co_await tasks_.stop(); }

namespace {

/// One that fails keeps no other from what is to be done for it; the next look tries again.
awaitable<void> attempt(awaitable<void> step, std::optional<Error>& failure) {
  try {
    co_await std::move(step);
  } catch (const Error& error) {
    if (!failure) failure = error;
  }
}

}  // namespace

awaitable<void> Controller::reconcile() {
  const auto clusters = clusters_with_machines(*co_await server_.read());
  std::optional<Error> failure;
  took_ = {};
  for (const auto& cluster : clusters) co_await attempt(look_after(cluster), failure);
  if (failure) throw std::move(*failure);
}

awaitable<std::string> Controller::command(slurm::Place place, Command words) {
  const std::string what = "`" + join(words, " ") + "`";
  co_return co_await async::within(options_.patience, what,
                                   slurm::run_in_task(server_, std::move(place), std::move(words)));
}

awaitable<void> Controller::ask_slurm(std::optional<slurm::Place> place, const Facts& facts, SlurmSays& says) {
  if (!place) co_return;
  const auto mark = hex(random_bytes(16));
  auto ask = jobs_command(mark);
  const auto printed = co_await command(*place, std::move(ask));
  std::vector<SlurmJob> jobs;
  std::map<std::string, std::string> news;
  auto read = [&] {
    jobs = parse_jobs(printed, mark);
    news = jobs_to_ask(facts, jobs);
  };
  co_await async::on_pool(pool_, read);
  for (const auto& [job, name] : news) {
    auto what = given_command(job, name);
    const auto told = co_await command(*place, std::move(what));
    if (const auto given = parse_given(told, job)) says.given[job] = *given;
  }
  says.jobs = std::move(jobs);
}

awaitable<void> Controller::look_after(std::string cluster) {
  // Before Slurm is asked: a job that we hold by then and that it does not know afterwards is over.
  const auto* tables = co_await server_.read();
  const auto facts = facts_of(*tables, cluster);
  const auto place = facts.cluster.stop ? std::nullopt : slurm::controller_of(*tables, cluster).place;
  std::optional<Error> failure;
  SlurmSays says;
  const auto begin = async::LoopClock::now();
  co_await attempt(ask_slurm(place, facts, says), failure);
  took_ = std::max<Duration>(took_, async::LoopClock::now() - begin);
  Plan next;
  auto decide = [&] { next = plan(facts, says.jobs, says.given); };
  co_await async::on_pool(pool_, decide);
  for (auto& job : next.stop) co_await attempt(end(std::move(job), false), failure);
  for (auto& job : next.forget) co_await attempt(end(std::move(job), true), failure);
  for (auto& order : next.make) co_await attempt(make(std::move(order)), failure);
  for (auto& refusal : next.refuse) co_await attempt(refuse(*place, std::move(refusal)), failure);
  if (failure) throw std::move(*failure);
}

awaitable<void> Controller::make(Order order) {
  server::RegisterJob wish{.job = render(order), .submission = {}, .enforce_index = 0};
  log::info("machines: job {} of Slurm gets {} machines '{}' on each of {} nodes", order.slurm_job, order.per_node,
            order.set.name, order.nodes.size());
  co_await server_.apply(std::move(wish));
}

awaitable<void> Controller::end(std::string job, bool forget) {
  if (!forget) log::info("machines: {} ends, as its Slurm job does", job);
  server::DeregisterJob end{.ns = model::kDefaultNamespace, .id = std::move(job), .purge = forget};
  co_await server_.apply(std::move(end));
}

/// Slurm first: the prolog that hears of it ends, and the job must not begin then.
awaitable<void> Controller::refuse(slurm::Place place, Refusal refusal) {
  log::warn("machines: job {} of Slurm is ended: {}", refusal.slurm_job, refusal.reason);
  auto words = refuse_commands(refusal.name, refusal.reason);
  for (auto& command_words : words) co_await command(place, std::move(command_words));
  for (auto& node : refusal.nodes) co_await tell_node(std::move(node), refusal.slurm_job, refusal.reason);
}

/// One that does not hear of it waits in vain, until its prolog gives up.
awaitable<void> Controller::tell_node(std::string node_id, std::string slurm_job, std::string reason) {
  try {
    Command words{
        "/bin/sh",        "-c", kTellRefused, "sh", fmt::format("/run/underway/slurm-jobs/{}.refused", slurm_job),
        std::move(reason)};
    co_await async::within(options_.host_patience, "telling a node that a job has no machines",
                           slurm::run_on_host(server_, std::move(node_id), std::move(words)));
  } catch (const Error& error) {
    log::info("machines: {}", error.one_line());
  }
}

}  // namespace underway::machines
