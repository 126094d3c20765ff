#pragma once
/// @file
/// The files by which programs of an allocation find names. Pure.

#include <optional>
#include <string>

#include "model/job/extras.hpp"

namespace underway::network {

/// `dns` of the group, or of what made its network; else `of_host`.
std::string resolver_file(const std::optional<model::Dns>& dns, const std::string& of_host);
/// Whether none of its name servers can be reached from another network namespace.
bool is_local_resolver(const std::string& resolver_file);
/// `address` may be empty; `name` is the allocation's.
std::string hosts_file(const std::string& address, const std::string& name);

}  // namespace underway::network
