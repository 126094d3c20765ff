#pragma once
/// @file
/// A capsule on one of two hosts of a cluster, as tests move it and kill what it depends on. Its steps and its end can
/// be held up by files that all hosts see, so that a move stands in the phase that a test wants.

#include "harness/cluster.hpp"

namespace underway::harness {

/// What `capsule status -json` says.
struct CapsuleRecord {
  std::string state, owner, phase;  ///< owner: the node's name; phase: of the move or upgrade under way, or ""
  std::string last_error, description;
  long long epoch = 0, moves_ended_at = 0, gap_ms = 0;
  long long copied_at = 0;  ///< the newest copy on another node, ns since the epoch
  bool rolled_back = false;
  std::string upgrade_error;  ///< of the last upgrade that ended; empty: it took place
};

class Capsule {
 public:
  Capsule(const Capsule&) = delete;
  Capsule& operator=(const Capsule&) = delete;

  const Cluster& cluster() const { return cluster_; }
  const std::string& name() const { return name_; }
  /// `underway up`: what died is there again. Throws when it cannot.
  void up() const;

  CapsuleRecord record() const;  ///< empty when the server does not answer
  std::string status() const;    ///< for people; with what the server logged
  std::string owner() const { return record().owner; }
  std::string other_than(const std::string& host) const { return host == first_ ? second_ : first_; }
  bool in_phase(const std::string& phase) const { return record().phase == phase; }
  /// No move and no upgrade, and the owner's node may run it.
  bool at_rest() const;
  /// Has its overlay copied to `node` every so many seconds, and waits for the first copy.
  void keep_copies(const std::string& node, int every) const;

  /// Until let_go(): `what` is before_stop, stop, start (its step probe) or check.
  void hold(const std::string& what) const;
  void let_go(const std::string& what) const;
  /// Leaves something in its overlay that is copied for a while.
  void write_much() const;

  /// Pids of its keeper on a host, as the machine numbers them.
  std::vector<int> keepers(const std::string& host) const { return on_host(host, "underway-keeper"); }
  /// Ends the host's first process, and with it everything on the host. The server hears of it seconds later.
  void pull_the_plug(const std::string& host) const;
  /// A host's row in `node status`.
  std::string row_of(const std::string& host) const;
  /// A host whose row was `before` has died since and is there again: made anew, it is another node.
  bool made_anew(const std::string& host, const std::string& before) const;
  /// A shell line in the capsule.
  Finished inside(const std::string& line) const;

 protected:
  /// The capsule and its job have the same name; it is on `first` or `second`, and keeps its data in `directory`.
  /// Starts nothing.
  Capsule(std::string name, const std::string& example, std::string first, std::string second, std::string directory)
      : name_(std::move(name)),
        first_(std::move(first)),
        second_(std::move(second)),
        directory_(std::move(directory)),
        cluster_(example) {}
  ~Capsule() = default;
  /// What all hosts see as `path`, through `host`, which lives as long as this.
  void find_shared(const std::string& host, const std::string& path);
  /// As the machine sees it.
  const std::string& shared() const { return shared_; }
  std::vector<int> on_host(const std::string& host, const std::string& program) const;
  /// Throws what does not work.
  Finished ok(std::vector<std::string> arguments) const;

 private:
  std::string name_, first_, second_, directory_;
  Cluster cluster_;
  std::string shared_;
};

}  // namespace underway::harness
