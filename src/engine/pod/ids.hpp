#pragma once
/// @file
/// Numbers of the host's users and groups for containers with a user namespace of their own: where they come from, and
/// who has which. No two containers of a node have one in common, unless both jobs name it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/ledger.hpp"
#include "os/process/id_map.hpp"
#include "pod/config.hpp"

namespace underway::pod {

/// `count` numbers from `first` on.
struct IdSpan {
  std::uint32_t first = 0, count = 0;
  bool operator==(const IdSpan&) const = default;
};

/// A node's own, where /etc/subuid or /etc/subgid gives `containers` none: above those of directory services (SSSD's
/// ldap_idmap_range ends at 2000200000) and of systemd's containers, below 2^31, from where programs read negative
/// numbers (systemd, UIDS-GIDS.md).
inline constexpr IdSpan kOwnIds{2'013'265'920, 134'217'728};

/// What may be handed out: sorted, without overlaps.
struct IdPool {
  std::vector<IdSpan> uids, gids;
};
struct IdMaps {
  os::IdMap uids, gids;
  bool operator==(const IdMaps&) const = default;
};

/// The entries of user `containers` in the texts of subuid(5) and subgid(5), as podman run by root takes them; kOwnIds
/// where there are none. Pure.
IdPool pool_of(std::string_view subuid, std::string_view subgid);
/// For Mode::automatic: what the job names, and for the rest the lowest of the pool that nobody holds. Pure.
/// Errors: exhausted; conflict when the job names a number of the pool that another holds.
IdMaps allot_ids(const UserNamespace& wanted, const IdPool& pool, const std::vector<IdMaps>& held);

/// The kind of entries that hold ids in a ledger, from before a container has them until it is gone.
inline constexpr std::string_view kIds = "user ids";
/// The maps of a namespace. Automatic ones are recorded in `ledger`, as those of the run whose `directory` is there:
/// they are free again once the entry is settled or the directory is gone, whoever removed it. Errors: as allot_ids.
/// Thread: any, also with several drivers on one ledger. Blocks: yes (disk).
IdMaps take_ids(const UserNamespace& wanted, os::Ledger& ledger, const std::string& owner,
                const std::string& directory);

}  // namespace underway::pod
