#pragma once
/// @file
/// A mirror of deb packages.

#include "mirror/view.hpp"
#include "openpgp/keyring.hpp"
#include "package/list.hpp"
#include "pool/pool.hpp"
#include "releasefile/releases.hpp"
#include "transfer/transfer.hpp"

namespace underway::mirror {

struct DebParts {
  const openpgp::Keyring& keys;
  transfer::Transfer& upstream;
  const pool::Pool& pool;
};

struct Synchronised {
  View view;
  bool changed = false;     ///< against the view of before
  std::uint64_t files = 0;  ///< that were fetched, indexes not counted
  std::uint64_t bytes = 0;  ///< of them
  std::vector<std::string>
      left;  ///< packages that are taken no more or never were, since a query of `leave` names them
};

/// What is known while it runs.
struct Stage {
  std::string what;  ///< "bookworm: InRelease", "packages"
  std::uint64_t bytes = 0, of_bytes = 0;
  std::size_t files = 0, of_files = 0;
};
using OnStage = std::function<void(const Stage&)>;

/// Looks at upstream and fetches what is new. What is returned refers only to files that the pool has, held since now
/// (pool.hpp). Errors: denied for a bad signature; invalid for what is expired, goes back in time, or is not what it
/// was said to be, all reasons at once; unavailable, timeout, not_found of upstream; exhausted of the pool. Nothing but
/// files of the pool that nobody refers to is left then. Blocks: yes.
Synchronised synchronise_deb(const releasefile::Mirror& mirror, const View& before, const DebParts& parts,
                             TimePoint now, const OnStage& on_stage = {});

}  // namespace underway::mirror
