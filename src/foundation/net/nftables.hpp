#pragma once
/// @file
/// nftables through libnftables' JSON form (libnftables-json(5)). Every command runs in a short-lived child process:
/// the library keeps global state, leaks on errors, and works on the calling process's own network namespace.

#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/namespace.hpp"

namespace underway::net {

/// Applies one JSON document ({"nftables":[…]}) as a transaction; returns what the kernel answered (JSON or empty).
/// Errors: invalid with libnftables' own message.
std::string run_nftables(const Namespace& in, const std::string& json);

/// A table of its own that masquerades what leaves `sources` for anywhere else. Replaces a table of the same name.
void set_masquerade(const Namespace& in, const std::string& table, const std::vector<Cidr>& sources);
/// False when there is no such table (family ip).
bool remove_table(const Namespace& in, const std::string& table);
/// Names of the tables of family ip.
std::vector<std::string> list_tables(const Namespace& in);

}  // namespace underway::net
