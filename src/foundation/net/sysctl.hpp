#pragma once
/// @file
/// The settings of a network namespace below /proc/sys/net (sysctl(8)).

#include <string>

#include "net/namespace.hpp"

namespace underway::net {

/// Sets "net.ipv4.ip_forward" in the namespace. In a link's name "/" stands for "."
/// ("net.ipv4.conf.eth0/12.rp_filter"), as in sysctl.d(5). Errors: invalid (not below net), not_found (no such
/// setting), or what the kernel says.
void set_sysctl(const Namespace& in, const std::string& key, const std::string& value);
std::string get_sysctl(const Namespace& in, const std::string& key);

}  // namespace underway::net
