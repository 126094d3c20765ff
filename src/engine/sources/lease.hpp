#pragma once
/// @file
/// When leases are looked after.

#include "gotemplate/foreign_data.hpp"
#include "sources/settings.hpp"

namespace underway::sources {

/// Before half of a lease that can be renewed is over, so that several tries are left; `random` in [0, 1) keeps many
/// from coming at once.
Duration until_renewal(Duration lease, double random);
/// Of one that cannot be renewed at 85 to 90 percent: as much of it as can be used.
Duration until_replacement(Duration lease, double random);
/// How long a secret without a lease is good for, as far as it says: certificates by their `expiration`, what Vault
/// rotates by its `ttl`; else `otherwise`.
Duration until_reread(const gotemplate::Secret& secret, Duration otherwise, TimePoint now, double random);

}  // namespace underway::sources
