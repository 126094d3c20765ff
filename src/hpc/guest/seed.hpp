#pragma once
/// @file
/// What a machine is told at its first boot, as cloud-init's data source NoCloud has it: three small files on a disk
/// with the label "cidata". Images with cloud-init read it themselves; those of ours by boot.hpp.
///
///     meta-data        instance-id, local-hostname
///     user-data        "#cloud-config", then write_files and runcmd
///     network-config   version 2 (netplan's): links by their MAC, with fixed addresses
///
/// Source: docs.cloud-init.io, reference of NoCloud, of modules and of network configuration version 2. All three are
/// YAML; what is written here is JSON, which YAML has in it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "net/address.hpp"

namespace underway::guest {

struct SeedFile {
  std::string path;  ///< absolute
  std::string content;
  unsigned mode = 0644;
};

struct SeedLink {
  std::string mac;   ///< by which it is found, "52:54:00:12:34:56"
  std::string name;  ///< that it gets; empty: it keeps its own
  std::vector<net::Cidr> addresses;
  std::optional<net::Ip> gateway;  ///< of the default route
  std::vector<net::Ip> nameservers;
  std::uint32_t mtu = 0;  ///< bytes; 0: the link's own
};

struct Seed {
  std::string instance;  ///< another one is another machine: an image that has booted before does all of it again
  std::string hostname;
  std::vector<SeedLink> links;
  std::vector<SeedFile> files;
  std::vector<std::vector<std::string>> commands;  ///< in order, once per instance
};

/// By file name.
using SeedFiles = std::map<std::string, std::string>;

SeedFiles render(const Seed& seed);
/// Keys that are not named above are left to cloud-init. Errors: invalid, naming all that is wrong, by file and line;
/// too_large beyond 1 MiB a file.
Seed parse_seed(const SeedFiles& files);

}  // namespace underway::guest
