// Slurm jobs of hosts that are taken back: who is told, and who is queued again.
#include "base/log.hpp"
#include "base/text.hpp"
#include "growth/growth.hpp"

namespace underway::growth {

using async::awaitable;

awaitable<std::string> Growth::ask_redo(slurm::Place place, std::vector<std::string> ids) {
  if (ids.empty()) co_return std::string();
  const auto ask = slurm::redo_facts_command(ids);
  co_return co_await command(std::move(place), ask);
}

awaitable<void> Growth::listen(std::string node_id, std::optional<std::set<std::string>>& heard) {
  try {
    const auto ask = slurm::listeners_command();
    heard = slurm::parse_listeners(co_await async::within(options_.patience, "a look at the jobs of a host",
                                                          slurm::run_on_host(server_, std::move(node_id), ask)));
  } catch (const Error& error) {
    log::info("elastic: {}", error.one_line());
  }
}

/// Of each host by itself: one that does not answer keeps nobody else from being told.
awaitable<std::vector<std::string>> Growth::listeners_of(const NoticeSteps& steps, NoticeBook& book,
                                                         const SlurmLook& look, std::string cluster) {
  std::map<std::string, std::optional<std::set<std::string>>> heard;
  const auto* tables = co_await server_.read();
  async::TaskGroup together(executor_, "jobs that have notice");
  for (const auto& [name, ids] : steps.listens) {
    const auto host = tables->find_host(cluster, name);
    // A script on a node that is no host of ours is not told: it ends when its job is queued again.
    if (!host || host->node_id.empty())
      heard[name] = std::set<std::string>();
    else
      together.spawn(name, listen(host->node_id, heard[name]));
  }
  co_await together.wait();
  co_return tell(book, steps, look, heard);
}

awaitable<void> Growth::follow_notices(slurm::Place place, std::shared_ptr<Look> from) {
  const auto& facts = from->facts;
  const auto& look = from->slurm;
  if (facts.notices.empty() && facts.memory.state.redone.empty()) co_return;
  const auto now = server_.clock().now();
  NoticeSteps steps;
  auto decide = [&] { steps = next_notices(facts.notices, facts, look, facts.memory.state.redone, now); };
  co_await async::on_pool(pool_, decide);
  known_[facts.name].settled = known_[facts.name].settled && steps.settled;
  auto told = co_await listeners_of(steps, steps.book, look, facts.name);
  // Written down before: a job that was told and fails is queued again, whoever dies in between.
  NoteNotices note{std::move(steps.book)};
  co_await server_.apply(std::move(note));
  if (!told.empty() && co_await succeeds(place, slurm::notice_command(told)))
    log::info("elastic: Slurm jobs {} of cluster {} were told that they lose their host", join_some(told, 20),
              facts.name);
  for (auto& [id, words] : steps.redo) {
    if (!co_await succeeds(place, std::move(words))) continue;
    log::info("elastic: Slurm job {} of cluster {} is queued again: its host is taken back", id, facts.name);
    ++counters_.jobs_redone;
  }
  for (auto& [id, words] : steps.keep_off) co_await succeeds(place, std::move(words));
}

/// A job may have ended in between, or begun: the next look sees that.
awaitable<bool> Growth::succeeds(slurm::Place place, std::vector<std::string> words) {
  try {
    co_await command(std::move(place), std::move(words));
    co_return true;
  } catch (const Error& error) {
    log::info("elastic: {}", error.one_line());
  }
  co_return false;
}

}  // namespace underway::growth
