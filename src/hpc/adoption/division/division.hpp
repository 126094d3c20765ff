#pragma once
/// @file
/// The division of a management server: each of its services is time-critical or can wait, and why. It is a pure
/// function of what was seen on the wire, of what the machine says of itself, and of what the administrator knows.
/// How it is reached is explained in docs/explanation/survey.md; the rules in their order are rules().

#include "adoption/division/overrides.hpp"
#include "adoption/division/service_catalog.hpp"
#include "inspection/host_survey.hpp"
#include "traffic/traffic.hpp"

namespace underway::adoption {

enum class Confidence { low, medium, high };

/// Who opens to whom.
enum class OpenedBy {
  nobody,     ///< no packet was seen
  nodes,      ///< nodes open to the server
  server,     ///< the server opens to nodes
  both,       ///< each opens to the other
  routed,     ///< nodes open to the outside, through the server
  outsiders,  ///< only machines that are no nodes open to the server
  outward,    ///< the server opens to machines that are no nodes
};

/// One service of the surveyed machine.
struct Service {
  std::string name;   ///< "slurm"
  std::string title;  ///< "Slurm"
  std::vector<std::string> programs;
  std::vector<std::string> units;
  std::vector<std::string> packages;  ///< "slurmctld 22.05.8-4"
  std::vector<std::string> doors;     ///< "tcp/6817": nodes open it; "→tcp/6818": the server opens it
  OpenedBy opened_by = OpenedBy::nobody;
  std::int64_t nodes = 0;  ///< that took part
  std::int64_t opens = 0;
  std::int64_t bytes = 0;  ///< both ways
  traffic::Rhythm rhythm;  ///< of the busiest door: openings, or bursts where connections stay open
  Verdict verdict = Verdict::unknown;
  bool critical = true;  ///< how it is treated: an unknown one is critical
  Confidence confidence = Confidence::low;
  std::string rule;    ///< that decided
  std::string reason;  ///< a sentence
  std::vector<std::string> evidence;
  std::vector<std::string> needs;      ///< services
  std::vector<std::string> needed_by;  ///< services
  std::vector<std::string> advice;     ///< eliminate or change it rather than move it
};

struct Division {
  std::string host;
  std::vector<std::string> sources;
  std::int64_t first = 0;  ///< ns since the epoch
  std::int64_t last = 0;   ///< ns since the epoch
  std::int64_t packets = 0;
  std::int64_t lost = 0;
  std::vector<Service> services;      ///< critical ones first, then by name
  std::vector<std::string> left_out;  ///< what was seen and is no service: "arp: 3 flows, 120 packets"
  std::vector<std::string> warnings;  ///< what makes the division less certain than it looks

  const Service* find(std::string_view name) const;
};

/// `hosts`: what the machine says of itself; several are looks at the same machine at different times. None: what no
/// packet shows is unknown, and a warning says so.
Division divide(const traffic::Traffic& traffic, const std::vector<inspection::HostSurvey>& hosts,
                const Overrides& overrides, const ServiceCatalog& catalog);

/// Several looks at one machine as one.
inspection::HostSurvey merge(const std::vector<inspection::HostSurvey>& looks);

struct Rule {
  std::string_view name;
  Verdict verdict;
  std::string_view says;  ///< one sentence, for the explanation
};
/// All rules in the order in which they are asked; the first that fits decides.
const std::vector<Rule>& rules();

const describe::Enumeration& description(describe::Tag<Confidence>);
const describe::Enumeration& description(describe::Tag<OpenedBy>);
const describe::Structure& description(describe::Tag<Service>);
const describe::Structure& description(describe::Tag<Division>);

/// For people: "time-critical", "deferrable", "unknown (treated as time-critical)".
std::string verdict_text(const Service& service);
/// "every 30s ± 1s", "irregular, about every 5m"; "-" when there is nothing to tell.
std::string how_often(const traffic::Rhythm& rhythm);
/// "nodes", "server", "nodes and server", "nodes, routed", …
std::string opened_by_text(OpenedBy who);

}  // namespace underway::adoption
