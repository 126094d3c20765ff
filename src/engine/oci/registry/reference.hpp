#pragma once
/// @file
/// What people write to name an image: in a registry as Docker has it ("busybox", "host:5000/a/b:tag@sha256:…"), or in
/// a directory or an archive of this machine, with containers/image's transports in front ("oci:/dir:tag").

#include <string>
#include <string_view>

namespace underway::oci {

enum class Transport {
  registry,        ///< "docker://" or nothing
  layout,          ///< "oci:/dir[:tag]"
  oci_archive,     ///< "oci-archive:/file.tar[:tag]"
  docker_archive,  ///< "docker-archive:/file.tar[:name:tag]"
};

struct Reference {
  Transport transport = Transport::registry;
  /// Of a registry: "docker.io", "[::1]:5000".
  std::string registry;
  /// Of a registry: "library/busybox".
  std::string repository;
  /// "latest" when neither tag nor digest was written, for a registry; of others empty: the only image.
  std::string tag;
  /// "sha256:…"; decides over the tag.
  std::string digest;
  /// Absolute, of a layout or archive.
  std::string path;

  bool local() const { return transport != Transport::registry; }
  /// The full form, which parses to the same: "docker.io/library/busybox:latest", "oci:/dir:v1".
  std::string text() const;
  bool operator==(const Reference&) const = default;
};

/// Throws Error(invalid) that shows where it is wrong.
/// Source: distribution's reference grammar (github.com/distribution/reference), containers-transports(5).
Reference parse_reference(std::string_view text);

}  // namespace underway::oci
