#pragma once
/// @file
/// nftables through the program `nft` and its JSON form (libnftables-json(5)). The library of that name is GPL-2, so
/// nothing of ours links it. A document reaches the program on standard input, never as an argument. Blocks: yes.

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/address.hpp"
#include "net/namespace.hpp"
#include "os/process/launch_plan.hpp"

namespace underway::net {

/// Where `nft` is looked for, and how long one run of it may take.
struct Nft {
  std::string path{os::kDefaultPath};
  Duration within = std::chrono::seconds{30};
};
bool is_installed(const Nft& nft = {});

/// Applies one JSON document ({"nftables":[…]}) as a transaction; returns what the kernel answered (JSON or empty).
/// Errors: invalid with nft's own words; unsupported when there is no such program; denied without CAP_SYS_ADMIN and
/// CAP_NET_ADMIN; timeout, after which the transaction may have been made all the same.
std::string run_nftables(const Namespace& in, const std::string& json, const Nft& nft = {});

/// A table of its own that masquerades what leaves `sources` for anywhere else. Replaces a table of the same name.
void set_masquerade(const Namespace& in, const std::string& table, const std::vector<Cidr>& sources);
/// False when there is no such table (family ip).
bool remove_table(const Namespace& in, const std::string& table);
/// Names of the tables of family ip.
std::vector<std::string> list_tables(const Namespace& in);

}  // namespace underway::net
