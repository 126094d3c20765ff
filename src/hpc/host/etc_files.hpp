#pragma once
/// @file
/// The text files that a host finds in /etc, and the directories that it finds in /run: as values.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.hpp"
#include "net/address.hpp"

namespace underway::host {

/// Host name to its addresses by network.
using HostAddresses = std::map<std::string, std::map<std::string, net::Cidr>>;

/// /etc/hosts. `networks` gives the order: the plain name means the address on the first network that a host is on,
/// "<host>-<network>" those on the others.
std::string render_hosts_file(const std::vector<std::string>& networks, const HostAddresses& hosts);

/// nsswitch.conf(5) with `hosts: files dns`, every other line as it was.
std::string rewrite_nsswitch(std::string_view text);

/// The `d` and `D` lines of tmpfiles.d(5) for /run, by file name; the text of a name in a stronger directory replaces
/// the weaker one. Lines with specifiers ("%") and those we cannot read are left out, as those outside /run.
std::vector<model::HostDirectory> parse_tmpfiles(const std::map<std::string, std::string>& files);
/// As above, from /usr/lib/tmpfiles.d, /run/tmpfiles.d and /etc/tmpfiles.d of this machine.
std::vector<model::HostDirectory> read_tmpfiles();

}  // namespace underway::host
