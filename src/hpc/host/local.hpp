#pragma once
/// @file
/// Hosts on this machine: namespaces (net, uts, mount, pid, ipc, cgroup) over a view of the machine's own root.
///
/// A cluster has a tmpfs (roots and shares) and a network namespace with its bridges (the switch), so the machine's own
/// network is untouched unless a network asks for `nat`. A host is pid 1 `underway-init` and what it started; it
/// outlives us. Everything is in the ledger before the kernel knows it: after a `kill -9` at any step `adopt` or
/// `clean` takes away the rest, and touches nothing that is not ours.

#include <functional>
#include <memory>
#include <string>

#include "host/provider.hpp"
#include "os/ledger.hpp"

namespace underway::host {

struct LocalOptions {
  /// Absolute path; holds clusters/<cluster>/. Hidden from the hosts, except `visible`.
  std::string state_dir;
  /// The static program that becomes pid 1. Empty: `underway-init` beside the running program, then
  /// /usr/libexec/underway/underway-init.
  std::string init_program;
  /// Directories of the machine that each host sees at the same path, writable: where the server's socket lies.
  std::vector<std::string> visible;
  /// Told before each step that changes the machine: "host c1: starting". Thread: any.
  std::function<void(const std::string&)> on_step;
};

class LocalProvider final : public Provider {
 public:
  /// `ledger` and `clock` outlive the provider. Errors: not_found when there is no init program.
  LocalProvider(LocalOptions options, os::Ledger& ledger, const Clock& clock);
  ~LocalProvider() override;

  void prepare(const ClusterSpec& cluster) override;
  HostInfo create(const HostSpec& host) override;
  bool destroy(const std::string& cluster, const std::string& name) override;
  std::vector<HostInfo> list() override;
  std::string last_words(const std::string& cluster, const std::string& name) override;
  std::vector<HostInfo> adopt() override;
  void announce(const std::string& cluster,
                const std::map<std::string, std::map<std::string, net::Cidr>>& hosts) override;
  bool remove_cluster(const std::string& cluster) override;

  /// Everything of every cluster, needing nothing but state directory and ledger. Problems come back, each naming its
  /// object; what they concern stays in the ledger, for the next try.
  std::vector<Error> clean();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The hosts recorded under `state_dir`, read without lock or ledger: for `status` and `exec` while no server runs.
std::vector<HostInfo> read_hosts(const std::string& state_dir);

}  // namespace underway::host
