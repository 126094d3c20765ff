#include "slurm/reconcile/reconciler.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "model/slurm_report.hpp"
#include "slurm/report_requests.hpp"
#include "tables/slurm_reports.hpp"

namespace underway::slurm {

using async::awaitable;
using model::SlurmReport;

Reconciler::Reconciler(server::Server& server, async::Executor executor, Options options)
    : server_(server), executor_(executor), options_(options), tasks_(executor, "reconciliation of Slurm") {}

void Reconciler::start() {
  server_.loops().start(tasks_, {.area = "slurm",
                                 .name = "reconciliation of Slurm",
                                 .trouble = "a slurmctld that is held is not let go on",
                                 .wait = [this] { return async::sleep_for(options_.poll); },
                                 .reconcile = [this] { return look(); },
                                 .retry = async::RetryPolicy::up_to(options_.poll),
                                 .patience = std::chrono::minutes(30)});
}

awaitable<void> Reconciler::stop() { co_await tasks_.stop(); }

/// A slurmctld that does not answer keeps nobody from looking at the others.
awaitable<void> Reconciler::look() {
  const auto* tables = co_await server_.read();
  std::vector<Place> places;
  for (const auto& job : tables->jobs()) {
    if (job->stop) continue;
    for (const auto& allocation : tables->allocations_of_job(job->ns, job->id)) {
      if (allocation->terminal() || allocation->client_status != model::ClientStatus::running) continue;
      // A slurmctld outside of a capsule keeps its state where it is, and starts as ever.
      auto place = find_slurmctld(allocation);
      if (place && place->task != "slurmctld") places.push_back(std::move(*place));
    }
  }
  for (const auto& place : places) {
    try {
      co_await look_at(place);
    } catch (const Error& error) {
      log::debug("slurm: {} cannot be asked whether it is held: {}", place.allocation->job_id, error.one_line());
    }
  }
}

awaitable<std::string> Reconciler::command(Place place, std::vector<std::string> words) {
  const std::string what = "`" + join(words, " ") + "`";
  co_return co_await async::within(options_.patience, what, run_in_task(server_, std::move(place), std::move(words)));
}

awaitable<std::vector<NodeState>> Reconciler::nodes_of(Place place) {
  co_return parse_nodes(co_await command(std::move(place), nodes_command()));
}

awaitable<std::vector<SlurmJob>> Reconciler::slurm_jobs_of(Place place) {
  co_return parse_slurm_jobs(co_await command(std::move(place), slurm_jobs_command()));
}

awaitable<void> Reconciler::look_at(Place place) {
  const auto show = config_command();
  const auto list = partitions_command();
  const auto config = co_await command(place, show);
  if (is_held(config)) co_return co_await compare(place, config);
  last_look_[place.key()] = server_.clock().now();
  co_await note_next_job(place, parse_next_job(config));
  const auto nodes = co_await command(place, list);
  auto& down = meant_down_[place.key()];
  down.clear();
  for (const auto& partition : parse_partitions(nodes)) {
    if (!partition.up) down.push_back(partition.name);
  }
  co_await resume_spared(place, config);
  co_await settle(place);
  const auto* tables = co_await server_.read();
  const auto known = tables::find_record<SlurmReport>(*tables, place.key()).value_or(SlurmReport{}).cut_off;
  auto silent = parse_silent(nodes);
  auto cut_off = co_await find_cut_off(place, std::move(silent), known);
  co_await bear_with(place, config, known, std::move(cut_off));
}

awaitable<std::vector<std::string>> Reconciler::find_cut_off(Place place, std::set<std::string> silent,
                                                             std::vector<std::string> known) {
  // An agent that is away for a moment must not cost its node the jobs. That long Slurm waits for one too.
  constexpr auto kNodePatience = std::chrono::minutes(5);
  std::vector<std::string> out;
  if (silent.empty()) co_return out;
  const auto slurm_jobs = co_await slurm_jobs_of(place);
  std::map<std::string, std::string> host_of;
  std::set<std::string> wanted;
  for (const auto& state : co_await nodes_of(place)) {
    host_of[state.name] = state.hostname;
    if (silent.contains(state.name)) wanted.insert(state.hostname);
  }
  Jobs nobody;
  const auto hosts = co_await look_at_hosts(std::move(wanted), std::move(nobody));
  auto found = cut_off(silent, slurm_jobs, host_of, hosts);
  auto& unreached = unreached_[place.key()];
  const auto now = Clock::now();
  for (const auto& node : found) unreached.seen[node] = now;
  for (const auto& node : known) {
    if (!silent.contains(node) || hosts.contains(host_of[node])) continue;
    if (now - unreached.seen.try_emplace(node, now).first->second < kNodePatience) found.insert(node);
  }
  out.assign(found.begin(), found.end());
  co_return out;
}

/// What is written down says whose the hold is, so it comes before it and goes after it.
awaitable<void> Reconciler::bear_with(Place place, std::string config, std::vector<std::string> known,
                                      std::vector<std::string> cut_off) {
  const auto key = place.key();
  if (cut_off.empty()) {
    unreached_.erase(key);
    if (known.empty()) co_return;
    const Hold nothing{.timeout = {}, .partitions_down = false, .first_job = parse_first_job(config)};
    co_await put_hold(place, nothing);
    log::info("slurm: slurmctld of job '{}' reaches all nodes that run its jobs; SlurmdTimeout counts again",
              place.allocation->job_id);
    co_return co_await note_cut_off(place, cut_off);
  }
  if (known.empty()) {
    if (!gives_nodes_up(config)) co_return;  // the site's own wish
    log::warn("slurm: slurmctld of job '{}' does not reach {}, where its jobs run; it takes no node for dead now",
              place.allocation->job_id, join(cut_off, ", "));
  }
  if (known != cut_off) co_await note_cut_off(place, cut_off);
  // To be reconfigured makes it look for all nodes. It does that by itself too, but not often.
  constexpr auto kFirst = std::chrono::seconds(10), kLast = std::chrono::seconds(80);
  auto& unreached = unreached_[key];
  if (Clock::now() < unreached.look_at || unreached.look_after > kLast) co_return;
  unreached.look_after = unreached.look_after == Duration{0} ? Duration(kFirst) : 2 * unreached.look_after;
  unreached.look_at = Clock::now() + unreached.look_after;
  const Hold hold{.timeout = kNeverTimeout, .partitions_down = false, .first_job = parse_first_job(config)};
  co_await put_hold(place, hold);
}

awaitable<void> Reconciler::note_cut_off(Place place, std::vector<std::string> cut_off) {
  NoteCutOff note{std::move(place), std::move(cut_off)};
  co_await server_.apply(std::move(note));
}

awaitable<void> Reconciler::look_at_host(std::string host, std::string node_id, std::vector<std::string> words,
                                         Jobs& seen) {
  try {
    const auto out = co_await async::within(options_.look_patience, "a look at " + host,
                                            run_on_host(server_, std::move(node_id), std::move(words)));
    if (auto steps = parse_host_steps(out)) seen.emplace(host, std::move(*steps));
  } catch (const Error& error) {  // it is told that it could not be seen
    log::debug("slurm: {} cannot be looked at: {}", host, error.one_line());
  }
}

awaitable<std::vector<std::pair<std::string, std::string>>> Reconciler::nodes_on(std::set<std::string> hosts) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto* tables = co_await server_.read();
  for (const auto& node : tables->nodes()) {
    const auto name = node->attributes.find("unique.hostname");
    const std::string host = name == node->attributes.end() ? node->name : name->second;
    if (!node->silent() && hosts.contains(host)) out.emplace_back(host, node->id);
  }
  co_return out;
}

/// A hundred at a time: each is a process on its host. Those that do not answer in time were not looked at.
awaitable<Reconciler::Jobs> Reconciler::look_at_hosts(std::set<std::string> wanted, Jobs spare) {
  constexpr std::size_t kTogether = 100;
  Jobs seen;
  const auto looks = co_await nodes_on(std::move(wanted));
  for (std::size_t i = 0; i < looks.size(); i += kTogether) {
    async::TaskGroup together(executor_, "looks at hosts");
    for (std::size_t k = i; k < std::min(i + kTogether, looks.size()); ++k) {
      const auto& [host, node_id] = looks[k];
      std::vector<std::string> words = {"/bin/sh", "-c", kStepsScript};
      if (const auto jobs = spare.find(host); jobs != spare.end()) {
        words = {"/bin/sh", "-c", kSpareScript, "sh"};
        words.insert(words.end(), jobs->second.begin(), jobs->second.end());
      }
      together.spawn(host, look_at_host(host, node_id, std::move(words), seen));
    }
    co_await together.wait();
  }
  co_return seen;
}

awaitable<Reconciliation> Reconciler::find_out(Place place, std::string config, Duration behind,
                                               std::optional<TimePoint> state) {
  const auto steps = steps_command();
  const auto slurm_jobs = co_await slurm_jobs_of(place);
  const auto with_steps = parse_steps(co_await command(place, steps));
  const auto nodes = co_await nodes_of(place);
  std::map<std::string, std::string> host_of;
  std::set<std::string> wanted;
  for (const auto& node : nodes) {
    host_of[node.name] = node.hostname;
    wanted.insert(node.hostname);
  }
  Jobs nobody;
  const auto seen = co_await look_at_hosts(std::move(wanted), std::move(nobody));
  // After the look: what runs no more has written its end by then.
  const auto known = co_await find_known(place, std::move(config), nodes, slurm_jobs, seen, state);
  co_return reconcile(slurm_jobs, with_steps, host_of, seen, behind, known);
}

awaitable<std::optional<TimePoint>> Reconciler::find_state_time(Place place) {
  constexpr const char* kScript = "cat \"$(dirname \"${SLURM_CONF:-/etc/slurm/slurm.conf}\")/$1\" 2>/dev/null; true";
  const std::vector<std::string> read = {"/bin/sh", "-c", kScript, "sh", kHoldFile};
  co_return parse_state_time(co_await command(place, read));
}

awaitable<Duration> Reconciler::find_age(Place place, std::string config, std::optional<TimePoint> state) {
  const auto key = place.key();
  const auto* tables = co_await server_.read();
  const auto known = tables::find_record<SlurmReport>(*tables, key);
  const auto look = last_look_.find(key);
  co_return behind(state, look == last_look_.end() ? std::nullopt : std::optional(look->second), server_.clock().now(),
                   parse_next_job(config), known ? known->job_bound : 0);
}

/// One that fails has failed if what it is for did not come about: an array is held, and scontrol fails, as one of its
/// tasks has ended.
awaitable<void> Reconciler::carry_out(Place place, const Reconciliation& made) {
  std::optional<Error> failure;
  for (const auto& words : made.commands) {
    try {
      co_await command(place, words);
    } catch (const Error& error) {
      if (words.front() != "scontrol") throw;
      failure = error;
    }
  }
  if (!failure) co_return;
  const auto slurm_jobs = co_await slurm_jobs_of(place);
  const auto free = not_held(made.held, slurm_jobs);
  if (!free.empty()) throw std::move(*failure);
  log::warn("slurm: what slurmctld was told, it did in part: {}", failure->one_line());
}

/// What runs and does not for slurmctld is hidden from it, and its nodes take nothing else meanwhile.
awaitable<void> Reconciler::keep_apart(Place place, const Reconciliation& made) {
  if (made.spare.empty()) co_return;
  std::set<std::string> hosts;
  for (const auto& [host, _] : made.spare) hosts.insert(host);
  const auto done = co_await look_at_hosts(hosts, made.spare);
  for (const auto& host : hosts) {
    if (!done.contains(host))
      log::error("slurm: what runs on {} and is not known to slurmctld could not be hidden: it may be killed", host);
  }
  std::vector<std::string> free;
  for (const auto& state : co_await nodes_of(place)) {
    const bool meant = std::find(made.drain.begin(), made.drain.end(), state.name) != made.drain.end();
    if (meant && !state.held()) free.push_back(state.name);  // others have reasons of their own
  }
  if (free.empty()) co_return;
  const auto drain = drain_command(free, kSparedReason);
  co_await command(place, drain);
  spares_[place.key()] = true;
}

/// Nodes on which nothing runs any more that slurmctld does not know of are given back.
awaitable<void> Reconciler::resume_spared(Place place, std::string config) {
  auto& spares = spares_.try_emplace(place.key(), true).first->second;  // an earlier server may have left some
  if (!spares) co_return;
  std::map<std::string, std::string> waiting;
  std::set<std::string> hosts;
  const auto nodes = co_await nodes_of(place);
  for (const auto& state : nodes) {
    if (!state.held() || state.reason != kSparedReason) continue;
    waiting[state.name] = state.hostname;
    hosts.insert(state.hostname);
  }
  spares = !waiting.empty();
  if (!spares) co_return;
  const auto slurm_jobs = co_await slurm_jobs_of(place);
  Jobs nobody;
  const auto seen = co_await look_at_hosts(std::move(hosts), std::move(nobody));
  const auto foreign = reconcile(slurm_jobs, {}, {}, seen).spare;
  const bool all_seen = std::all_of(waiting.begin(), waiting.end(),
                                    [&](const auto& node_and_host) { return seen.contains(node_and_host.second); });
  if (all_seen) co_await enter_ended(place, std::move(config), nodes, slurm_jobs, seen);
  std::vector<std::string> over;
  for (const auto& [node, host] : waiting) {
    if (seen.contains(host) && !foreign.contains(host)) over.push_back(node);
  }
  if (over.empty()) co_return;
  const auto resume = resume_command(over);
  co_await command(place, resume);
  log::info("slurm: what slurmctld did not know of has ended on {}: it takes jobs again", join(over, ", "));
}

awaitable<void> Reconciler::note_next_job(const Place& place, std::int64_t next) {
  next_job_[place.key()] = next;
  const auto* tables = co_await server_.read();
  const auto known = tables::find_record<SlurmReport>(*tables, place.key());
  if (next == 0 || (known && known->job_bound > next)) co_return;
  NoteNextJob note{place, next};
  co_await server_.apply(std::move(note));
}

awaitable<void> Reconciler::compare(Place place, std::string config) {
  log::warn("slurm: slurmctld of job '{}' was started anew and is held; it is compared with its nodes",
            place.allocation->job_id);
  const auto state = co_await find_state_time(place);
  const auto age = co_await find_age(place, config, state);
  auto made = co_await find_out(place, config, age, state);
  co_await carry_out(place, made);
  co_await enter(place, made, true);
  co_await keep_apart(place, made);
  const auto* tables = co_await server_.read();
  const auto known = tables::find_record<SlurmReport>(*tables, place.key()).value_or(SlurmReport{});
  const auto unknown = made.unknown_up_to > 0 ? made.unknown_up_to + 1 : 0;
  Hold left{.timeout = {}, .partitions_down = false};
  left.first_job = std::max(unknown, first_job_after(parse_next_job(config), next_job_[place.key()], known.job_bound));
  co_await put_hold(place, left);
  std::vector<std::string> forget = {"/bin/sh", "-c", kForgetAcceptedScript, "sh",
                                     setting(config, "StateSaveLocation")};
  forget.insert(forget.end(), made.kept.begin(), made.kept.end());
  co_await command(place, forget);
  for (const auto& finding : made.findings) log::warn("slurm: {}", finding.text);
  log::info("slurm: slurmctld of job '{}' was compared with its nodes, {} findings; it schedules again",
            place.allocation->job_id, made.findings.size());
  NoteComparison note{place, parse_boot_time(config), made.findings, made.spare};
  co_await server_.apply(std::move(note));
  co_await enter(place, made, false);
  unsettled_[place.key()] = true;  // also what the accounting was to be told when slurmctld died
}

awaitable<void> Reconciler::put_hold(Place place, Hold hold) {
  // Whoever asks slurmctld in that moment may find the connection closed. A capsule's init has them wait
  // (capsule/init/doors.hpp); an older one, or none, does not know the word.
  constexpr const char* kScript =
      "f=$(dirname \"${SLURM_CONF:-/etc/slurm/slurm.conf}\")/\"$1\"; if [ -e \"$f\" ]; then printf '%s' \"$2\" "
      ">\"$f.new\" "
      "&& mv \"$f.new\" \"$f\"; fi; ip rule del pref \"$3\" 2>/dev/null; "
      "/run/underway/init alone 2>/dev/null && exec /run/underway/init alone scontrol reconfigure; "
      "exec scontrol reconfigure";
  const std::string text = hold.timeout || hold.first_job > 0 ? hold_text(hold) : no_hold_text();
  const std::vector<std::string> let_go = {"/bin/sh", "-c", kScript, "sh", kHoldFile, text, std::to_string(kHoldRule)};
  co_await command(place, let_go);
  // Reconfiguring gives partitions the state that they have in slurm.conf.
  const auto list = partitions_command();
  const auto& down = meant_down_[place.key()];
  for (const auto& partition : parse_partitions(co_await command(place, list))) {
    const bool stays = std::find(down.begin(), down.end(), partition.name) != down.end();
    if (partition.up == !stays) continue;
    const auto update = partition_command(partition.name, !stays);
    co_await command(place, update);
  }
}

}  // namespace underway::slurm
