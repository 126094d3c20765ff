#pragma once
/// @file
/// What the hosts of a cluster stand on: its directory, tmpfs, switch (a network namespace with one bridge per
/// network), shares, and the way out of networks with nat.

#include <functional>

#include "host/detail/layout.hpp"
#include "host/provider.hpp"
#include "os/ledger.hpp"

namespace underway::host {

using Step = std::function<void(const std::string&)>;

/// Teaches the ledger to undo this library's kinds: "link", "nat-table", "sysctl", "host-groups".
void register_undo(os::Ledger& ledger);

/// Makes what is missing. Idempotent.
void prepare_cluster(const Layout& layout, const ClusterSpec& cluster, os::Ledger& ledger, const Step& step);
/// Takes everything away; the hosts are gone already. The failures come back; what they concern stays recorded.
std::vector<Error> tear_down_cluster(const Layout& layout, const std::string& cluster, os::Ledger& ledger,
                                     const Step& step);

/// The host's links: ports on the switch, interfaces eth0… in the network namespace of `pid`, addresses, default route.
void plug_in(const Layout& layout, const ClusterSpec& cluster, const HostSpec& host, pid_t pid);
/// What plug_in makes, for the ledger.
std::vector<os::LedgerItem> links_of(const Layout& layout, const HostSpec& host);

/// Rewrites in place: the file is bind-mounted into running hosts.
void write_hosts_file(const std::string& path, std::string_view text);

}  // namespace underway::host
