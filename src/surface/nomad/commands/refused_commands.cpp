// What Nomad has and Underway does not, each with its reason. (docs/reference/compatibility.md lists them.)
#include "nomad/table.hpp"

namespace underway::nomad {

void add_refused_commands(Table& table) {
  constexpr std::string_view kLicence = "Refused: there is no licence, and one build.";
  constexpr std::string_view kSentinel = "Refused: there are no Sentinel policies; ACL policies and quotas bound jobs.";
  constexpr std::string_view kRecommendation = "Refused: nothing here recommends resources.";
  constexpr std::string_view kGossip = "Refused: there is no gossip; servers meet in the store.";
  constexpr std::string_view kServers = "Refused: servers meet in the store, they do not join each other.";
  constexpr std::string_view kRaft = "Refused: there is no Raft log; the state is in the store.";
  constexpr std::string_view kWindows = "Refused: Underway runs on Linux.";
  constexpr std::string_view kCsi = "Refused: there are no CSI volumes; host volumes are here.";
  constexpr std::string_view kIdentity =
      "Refused: nodes have certificates here, not tokens; they renew them by themselves.";
  for (const auto& [name, words] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"alloc pause", "Refused: tasks have no schedule from which they could be paused."},
           {"deployment unblock", "Refused: no deployment is ever blocked: there is one region."},
           {"license get", kLicence},
           {"license inspect", kLicence},
           {"monitor export", "Refused: the journal keeps the log: `journalctl -u underway`."},
           {"node identity get", kIdentity},
           {"node identity renew", kIdentity},
           {"operator client-state", "Refused: a node's state is its own; `nomad node status -verbose` tells of it."},
           {"operator gossip keyring generate", kGossip},
           {"operator gossip keyring install", kGossip},
           {"operator gossip keyring list", kGossip},
           {"operator gossip keyring remove", kGossip},
           {"operator gossip keyring use", kGossip},
           {"operator gossip keyring", kGossip},
           {"operator raft info", kRaft},
           {"operator raft logs", kRaft},
           {"operator raft state", kRaft},
           {"operator snapshot agent", "Refused: a timer does it: `nomad operator snapshot save`."},
           {"operator snapshot redact", "Refused: snapshots hold no root key in clear text."},
           {"operator snapshot state", "Refused: the state in a snapshot is the store's, not Raft's."},
           {"operator utilization", "Refused: it is for licences, of which there are none."},
           {"plugin status", "Refused: there are no CSI plugins; host volumes are here."},
           {"recommendation apply", kRecommendation},
           {"recommendation dismiss", kRecommendation},
           {"recommendation info", kRecommendation},
           {"recommendation list", kRecommendation},
           {"sentinel apply", kSentinel},
           {"sentinel delete", kSentinel},
           {"sentinel list", kSentinel},
           {"sentinel read", kSentinel},
           {"server force-leave", kServers},
           {"server join", kServers},
           {"setup consul", "Refused: there is no Consul here; services are in the built-in catalogue."},
           {"setup vault", "Refused: there is no Vault here; secrets are in variables."},
           {"volume deregister", kCsi},
           {"volume detach", kCsi},
           {"volume snapshot create", kCsi},
           {"volume snapshot delete", kCsi},
           {"volume snapshot list", kCsi},
           {"windows service install", kWindows},
           {"windows service uninstall", kWindows}})
    table.push_back(refused(name, words));
}

}  // namespace underway::nomad
