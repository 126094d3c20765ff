#pragma once
/// @file
/// A layer of an image, from a packed archive to a lower directory for overlayfs.

#include <map>

#include "oci/records.hpp"
#include "oci/registry/pull_request.hpp"
#include "oci/unpack.hpp"

namespace underway::oci {

/// How a directory looks that a layer has files in and does not say so itself.
struct DirectoryAttributes {
  std::int64_t mode = 0755, uid = 0, gid = 0;
  bool operator==(const DirectoryAttributes&) const = default;
};
using AdoptedLooks = std::map<std::string, DirectoryAttributes>;

struct PackedLayer {
  const os::Fd& file;
  std::string name;     ///< for errors
  std::string digest;   ///< of the packed bytes; empty: it was compared before
  std::string diff_id;  ///< of the unpacked bytes
};

/// Unpacks into `directory`, which it makes. `adopted` are looks of implied directories, where they are not Looks{}.
/// Nothing of it may be used unless this returns: its digests are known at the end. `allowance` is charged.
/// Errors: denied (digest; hostile entries, naming them), invalid (damaged), too_large. Blocks: yes.
LayerRecord unpack_layer(const PackedLayer& layer, const std::string& directory, const AdoptedLooks& adopted,
                         const PullLimits& limits, Allowance& allowance);

/// How the implied directories of a layer look in the layers below it (directories, lowest first): only those that
/// look otherwise than Looks{}.
AdoptedLooks adopted_looks(const std::vector<std::string>& implied, const std::vector<std::string>& below);

/// The name that a layer has in the store: the hexadecimal digits of its diff id, unless directories in it look as
/// below.
std::string layer_name(const std::string& diff_id, const AdoptedLooks& adopted);

}  // namespace underway::oci
