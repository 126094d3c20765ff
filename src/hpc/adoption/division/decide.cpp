#include "adoption/division/decide.hpp"

#include "base/text.hpp"

namespace underway::adoption {
namespace {

using Answer = std::optional<std::string>;  ///< why the rule fits

struct Sum {
  std::int64_t opens = 0;
  std::int64_t failed = 0;
  bool all_one_way = true;
};
Sum sum_of(const std::vector<const traffic::ServiceFlow*>& flows) {
  Sum sum;
  for (const auto* flow : flows) {
    sum.opens += flow->opens;
    sum.failed += flow->refused;
    if (flow->pattern != traffic::Pattern::one_way) {
      sum.failed += flow->unanswered;
      sum.all_one_way = false;
    }
  }
  return sum;
}

std::string count(std::int64_t n, std::string_view singular) {
  return fmt::format("{} {}{}", n, singular, n == 1 ? "" : "s");
}

Answer by_override(const Gathered& g, const Surroundings&) {
  if (g.override_by == nullptr || !g.override_by->verdict) return std::nullopt;
  return g.override_by->reason.empty() ? "the administrator says so" : g.override_by->reason;
}

Answer nobody_answers(const Gathered& g, const Surroundings& around) {
  if (g.served.empty() || g.flow_count() != g.served.size()) return std::nullopt;
  const Sum sum = sum_of(g.served);
  if (sum.opens > 0 && sum.failed >= sum.opens && !sum.all_one_way)
    return fmt::format("nobody answered any of {}: the nodes do without it already", count(sum.opens, "attempt"));
  if (sum.all_one_way && around.host_known && g.programs.empty())
    return fmt::format("nodes send to {}, where no program of the machine listens", join(g.service.doors, ", "));
  return std::nullopt;
}

Answer provisioning(const Gathered& g, const Surroundings&) {
  if (g.known == nullptr || g.known->discretion != Discretion::provisioning) return std::nullopt;
  return "nodes ask for it when they boot, and they boot at the administrator's discretion";
}

Answer files(const Gathered& g, const Surroundings&) {
  if (g.known == nullptr || g.known->discretion != Discretion::files) return std::nullopt;
  return "nodes ask by the clock, and there is something new only after the administrator changed a file";
}

Answer people(const Gathered& g, const Surroundings&) {
  if (g.known == nullptr || g.known->discretion != Discretion::people) return std::nullopt;
  return "people open it, and they can wait";
}

Answer routed(const Gathered& g, const Surroundings&) {
  if (g.routed.empty()) return std::nullopt;
  return fmt::format("{} reached the outside through the machine", count(g.service.nodes, "node"));
}

Answer both_open(const Gathered& g, const Surroundings&) {
  if (g.service.opened_by != OpenedBy::both) return std::nullopt;
  return fmt::format("nodes open {} to the server, and it opens to them: they expect an answer at once",
                     g.served.empty() ? "it" : traffic::door(*g.served.front()));
}

Answer nodes_open(const Gathered& g, const Surroundings&) {
  if (g.served.empty() || sum_of(g.served).all_one_way) return std::nullopt;
  return fmt::format("{} opened it and expect an answer at once", count(g.service.nodes, "node"));
}

Answer one_way(const Gathered& g, const Surroundings&) {
  if (g.served.empty()) return std::nullopt;
  return fmt::format("{} sent to it without waiting for an answer: what nobody hears is lost",
                     count(g.service.nodes, "node"));
}

Answer group_traffic(const Gathered& g, const Surroundings& around) {
  if (g.to_groups.empty()) return std::nullopt;
  const std::string who = count(g.service.nodes, "node");
  if (!around.host_known) return fmt::format("{} sent to a group; whether the machine listens is not known", who);
  return fmt::format("{} sent to a group that a program of the machine listens to: what it misses is lost", who);
}

Answer server_opens(const Gathered& g, const Surroundings&) {
  if (g.opened.empty()) return std::nullopt;
  return "only the server opens it: it can be done later";
}

Answer outsiders_open(const Gathered& g, const Surroundings&) {
  if (g.outside.empty()) return std::nullopt;
  return "no node opens it, only machines outside of the nodes' networks";
}

Answer outward(const Gathered& g, const Surroundings&) {
  if (g.outward.empty()) return std::nullopt;
  return "the server asks others; a critical service that needs the answer needs this way out wherever it runs";
}

Answer not_seen(const Gathered& g, const Surroundings& around) {
  const bool asleep =
      g.known != nullptr && !g.known->doors.empty() &&
      std::any_of(g.programs.begin(), g.programs.end(), [](const inspection::Program* p) { return p->pids.empty(); });
  if (asleep && !g.listens_outside) return "it is enabled and does not run now, so nothing tells who would need it";
  if (!g.listens_outside) return std::nullopt;
  return fmt::format("{}, and nobody spoke to it in {}",
                     g.service.name == "routing" ? "the machine translates addresses" : "it waits for others",
                     around.packets == 0 ? "any traffic, as there is none" : human_duration(around.span));
}

Answer machine_only(const Gathered&, const Surroundings&) {
  return "nothing from outside reaches it, and nothing that was seen needs it";
}

struct Entry {
  Rule rule;
  Answer (*asks)(const Gathered&, const Surroundings&);
};

const std::vector<Entry>& entries() {
  using V = Verdict;
  static const std::vector<Entry> all = {
      {{"override", V::unknown, "The administrator's file says so; its verdict counts."}, by_override},
      {{"nobody-answers", V::deferrable,
        "All attempts were refused or not answered, or nothing listens: the nodes do "
        "without it already."},
       nobody_answers},
      {{"provisioning", V::deferrable,
        "DHCP, TFTP, boot files and images: nodes ask, but only when an administrator "
        "starts or installs them."},
       provisioning},
      {{"file-synchronisation", V::deferrable,
        "Nodes ask for files by the clock, but they change only when an "
        "administrator changes them."},
       files},
      {{"people", V::deferrable, "Somebody at a keyboard opens it (SSH, remote desktops)."}, people},
      {{"routed", V::time_critical, "Packets of nodes pass through the machine to the outside."}, routed},
      {{"both-open", V::time_critical, "Nodes open it, and the server opens to them (slurmctld)."}, both_open},
      {{"nodes-open", V::time_critical, "Nodes open it and wait for an answer."}, nodes_open},
      {{"one-way", V::time_critical, "Nodes send without waiting (syslog over UDP): what nobody hears is lost."},
       one_way},
      {{"group-traffic", V::time_critical,
        "Nodes send to a group or to all, and a program of the machine listens. "
        "Without a survey of the host: unknown."},
       group_traffic},
      {{"server-opens", V::deferrable, "Only the server opens: it can do so later."}, server_opens},
      {{"outsiders-open", V::deferrable, "Only machines that are no nodes open it."}, outsiders_open},
      {{"outward", V::deferrable, "The server asks machines that are no nodes."}, outward},
      {{"not-seen", V::unknown,
        "It waits at an address that others reach, and nobody spoke to it; or it is enabled and does not run."},
       not_seen},
      {{"machine-only", V::deferrable, "Nothing from outside reaches it, and no service needs it."}, machine_only},
  };
  return all;
}

constexpr Rule kInherits{"inherits", Verdict::unknown,
                         "A service that needs it has a stronger verdict than its own traffic gives it (munge, the "
                         "database): it gets that one. Asked after all others; an override stands."};

bool needs_no_traffic(std::string_view rule) {
  return rule == "override" || rule == "not-seen" || rule == "machine-only";
}

Confidence confidence_of(const Gathered& g, const Surroundings& around) {
  if (g.service.rule == "override") return Confidence::high;
  if (needs_no_traffic(g.service.rule)) return g.service.rule == "not-seen" ? Confidence::low : Confidence::medium;
  int doubts = g.named_by_more_than_a_port ? 0 : 1;
  bool inferred = false;
  for (const auto* flows : {&g.served, &g.opened})
    for (const auto* flow : *flows) inferred |= flow->opening == traffic::Opening::inferred;
  doubts += inferred ? 1 : 0;
  doubts += g.service.opens < 3 ? 1 : 0;
  doubts += around.lost * 1000 > around.packets ? 1 : 0;
  return doubts == 0 ? Confidence::high : doubts == 1 ? Confidence::medium : Confidence::low;
}

void add_evidence(Gathered& g) {
  auto& evidence = g.service.evidence;
  const auto tell = [&](const std::vector<const traffic::ServiceFlow*>& flows, std::string_view what) {
    if (flows.empty()) return;
    std::int64_t opens = 0, to = 0, from = 0, refused = 0, inferred = 0;
    std::vector<std::string> doors, hints;
    for (const auto* flow : flows) {
      opens += flow->opens;
      to += flow->bytes_to_server;
      from += flow->bytes_to_clients;
      refused += flow->refused;
      inferred += flow->opening == traffic::Opening::seen ? 0 : 1;
      const std::string name = flow->part == traffic::Part::routes
                                   ? fmt::format("{} addresses outside", flow->destination_count)
                                   : traffic::door(*flow);
      if (std::find(doors.begin(), doors.end(), name) == doors.end() && doors.size() < 6) doors.push_back(name);
      for (const auto& hint : flow->hints)
        if (hints.size() < 3 && std::find(hints.begin(), hints.end(), hint) == hints.end()) hints.push_back(hint);
    }
    std::string text =
        fmt::format("{}: {}, {}, {} to it and {} back", what, join(doors, " "), count(opens, "opening"),
                    human_bytes(static_cast<std::uint64_t>(to)), human_bytes(static_cast<std::uint64_t>(from)));
    if (refused > 0) text += fmt::format(", {} refused", refused);
    if (inferred > 0) text += "; who opened some of it is inferred, as it began before the capture";
    if (!hints.empty()) text += "; " + join(hints, "; ");
    evidence.push_back(std::move(text));
  };
  tell(g.served, "nodes to the server");
  tell(g.to_groups, "nodes to a group");
  tell(g.routed, "nodes through the server");
  tell(g.opened, "server to nodes");
  tell(g.outside, "outsiders to the server");
  tell(g.outward, "server to the outside");
  for (const auto* program : g.programs) {
    std::string text = fmt::format("program {}", program->executable.empty() ? program->name : program->executable);
    if (!program->unit.empty()) text += fmt::format(", unit {}", program->unit);
    if (!program->user.empty()) text += fmt::format(", user {}", program->user);
    text += program->pids.empty() ? ", not running" : "";
    evidence.push_back(std::move(text));
  }
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> out;
    for (const auto& entry : entries()) out.push_back(entry.rule);
    out.push_back(kInherits);
    return out;
  }();
  return all;
}

void decide(Gathered& gathered, const Surroundings& around) {
  Service& service = gathered.service;
  for (const auto& entry : entries()) {
    auto reason = entry.asks(gathered, around);
    if (!reason) continue;
    service.rule = entry.rule.name;
    service.reason = std::move(*reason);
    service.verdict = entry.rule.verdict;
    if (service.rule == "override") service.verdict = *gathered.override_by->verdict;
    if (service.rule == "group-traffic" && !around.host_known) service.verdict = Verdict::unknown;
    break;
  }
  service.critical = service.verdict != Verdict::deferrable;
  service.confidence = confidence_of(gathered, around);
  add_evidence(gathered);
}

namespace {

struct Edge {
  std::string from;
  std::string to;
  std::string evidence;
  bool strong = false;
};

std::vector<Edge> edges_of(const Gathering& gathering) {
  std::map<std::string, std::string> service_of;  // program → service
  for (const auto& [name, g] : gathering.services)
    for (const auto* program : g.programs) service_of.try_emplace(program->name, name);
  std::vector<Edge> out;
  for (const auto& [name, g] : gathering.services) {
    for (const auto* program : g.programs) {
      for (const auto& need : program->needs) {
        const auto to = service_of.find(need.program);
        if (to == service_of.end() || to->second == name) continue;
        const bool strong = need.how != "unit" || !need.detail.starts_with("After=");
        out.push_back({name, to->second,
                       fmt::format("{} needs {}: {} {}", program->name, need.program, need.how, need.detail), strong});
      }
    }
    if (g.override_by == nullptr) continue;
    for (const auto& need : g.override_by->needs)
      if (gathering.services.contains(need))
        out.push_back({name, need, fmt::format("{} needs {}: override", name, need), true});
  }
  return out;
}

void add_once(std::vector<std::string>& list, const std::string& word) {
  if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
}

/// time_critical before unknown before deferrable.
int strength(Verdict verdict) { return verdict == Verdict::time_critical ? 2 : verdict == Verdict::unknown ? 1 : 0; }

/// Whether its own traffic says nothing, so that who needs it is all there is to know.
bool undecided(const Service& service) { return service.rule == "machine-only" || service.rule == "not-seen"; }

}  // namespace

void inherit(Gathering& gathering) {
  const auto edges = edges_of(gathering);
  for (const auto& edge : edges) {
    add_once(gathering.services.at(edge.from).service.needs, edge.to);
    add_once(gathering.services.at(edge.to).service.needed_by, edge.from);
    add_once(gathering.services.at(edge.to).service.evidence, edge.evidence);
  }
  // Verdicts only get stronger on the way, so this ends: a service changes at most three times.
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto& edge : edges) {
      const Service& from = gathering.services.at(edge.from).service;
      Service& to = gathering.services.at(edge.to).service;
      if (to.rule == "override") continue;
      const bool stronger = strength(from.verdict) > strength(to.verdict);
      // What nobody spoke to and somebody needs is as important as that somebody.
      const bool settles = undecided(to) && !undecided(from);
      if (!stronger && !settles) continue;
      to.verdict = from.verdict;
      to.critical = from.critical;
      to.rule = kInherits.name;
      to.reason = fmt::format("{} needs it, and is {}", from.title, from.critical ? "critical" : "deferrable");
      to.confidence = edge.strong ? from.confidence : Confidence::low;
      changed = true;
    }
  }
}

void advise(Gathered& gathered, const inspection::HostSurvey* host, const Surroundings& around) {
  Service& service = gathered.service;
  if (gathered.known != nullptr && !gathered.known->advice.empty()) service.advice.emplace_back(gathered.known->advice);
  if (service.name == "syslog" &&
      std::any_of(gathered.served.begin(), gathered.served.end(),
                  [](const traffic::ServiceFlow* flow) { return flow->protocol == traffic::Protocol::udp; }))
    service.advice.emplace_back(
        "Let nodes send over TCP or RELP with a queue on disk: over UDP a message that is sent "
        "while the service moves is lost.");
  if (service.name == "mail")
    service.advice.emplace_back(
        "Let nodes keep a queue of their own; then mail can wait, and the service is deferrable.");
  if (service.name != "nfs") return;
  std::int64_t bytes = 0;
  for (const auto* flow : gathered.served) bytes += flow->bytes_to_clients;
  const bool all_read_only =
      host != nullptr && !host->exports.empty() &&
      std::all_of(host->exports.begin(), host->exports.end(), [](const inspection::Export& e) { return e.read_only; });
  if (host != nullptr)
    for (const auto& each : host->exports)
      if (each.read_only)
        service.advice.push_back(
            fmt::format("{} is exported for reading only: if it is small (manuals, locales), put it "
                        "into the nodes' image.",
                        each.path));
  if (all_read_only)
    service.advice.emplace_back(
        "All exports are for reading only: with their files in the nodes' image there is no NFS to "
        "move.");
  if (service.nodes > 0 && bytes > 0 && around.span >= std::chrono::hours(1)) {
    const double days = std::chrono::duration<double>(around.span) / std::chrono::hours(24);
    const auto rate =
        static_cast<std::uint64_t>(static_cast<double>(bytes) / static_cast<double>(service.nodes) / days);
    if (rate < 100U << 20)
      service.advice.push_back(
          fmt::format("Each node reads about {} a day: little enough to look for what it is, and to "
                      "put that into the image.",
                      human_bytes(rate)));
  }
}

}  // namespace underway::adoption
