#include "server/job/periodic.hpp"

#include "base/log.hpp"
#include "server/follower.hpp"
#include "server/job/start_decisions.hpp"

namespace underway::server {
namespace {

async::awaitable<void> start_what_is_due(Writer& writer) {
  const auto launches = co_await writer.apply(StartDueJobs{});
  for (const auto& text : launches.trouble) log::warn("server: {}", text);
  for (const auto& id : launches.started) log::info("server: started '{}' by the clock", id);
  for (const auto& id : launches.skipped)
    log::info("server: periodic job '{}' was due and not started: it prohibits overlap, and a child still runs", id);
}

}  // namespace

async::LoopPlan periodic_jobs_loop(Writer& writer, const Clock& clock) {
  FollowerOptions options;
  options.scopes = [](const Tables&) { return std::vector{tables::records_scope()}; };
  options.due = [&clock](const Tables& tables) { return next_launch(tables, clock.now()); };
  const auto follower = std::make_shared<Follower>(writer, clock, std::move(options));
  return {.area = "server",
          .name = "periodic jobs",
          .trouble = "periodic jobs are not started",
          .wait = [follower] { return follower->wait_until_due(); },
          .reconcile = [&writer] { return start_what_is_due(writer); }};
}

}  // namespace underway::server
