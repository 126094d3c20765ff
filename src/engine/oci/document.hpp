#pragma once
/// @file
/// Indexes and manifests, as OCI (image specification 1.1) and Docker (image manifest version 2, schema 2, and its
/// manifest list) write them: they differ in media types only. Everything in them comes from anybody.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::oci {

struct Platform {
  std::string architecture, os;
  std::string variant;  ///< "v7" of arm
};

struct Descriptor {
  std::string media_type;
  std::string digest;
  std::int64_t size = 0;
  Platform platform;
  std::map<std::string, std::string> annotations;
};

/// An index lists manifests, a manifest names its configuration and lists layers: both are read into this.
struct Document {
  std::int64_t schema_version = 2;
  std::string media_type;
  std::vector<Descriptor> manifests;
  Descriptor config;
  std::vector<Descriptor> layers;

  /// Whether it lists manifests instead of being one.
  bool is_index() const { return !manifests.empty(); }
};

const describe::Structure& description(describe::Tag<Platform>);
const describe::Structure& description(describe::Tag<Descriptor>);
const describe::Structure& description(describe::Tag<Document>);

/// Largest index, manifest or configuration that is read.
inline constexpr std::int64_t kDocumentLimit = std::int64_t{16} << 20;

/// Whether `text` is "sha256:" and 64 lower-case hexadecimal digits.
bool is_digest(std::string_view text);
/// Throws Error(invalid) when it is no digest.
void check_digest(std::string_view digest);
/// "sha256:<hex>" of these bytes.
std::string digest_of(std::string_view bytes);

/// Throws Error(invalid): no JSON, or a digest or a size that is none; unsupported: Docker's schema 1.
Document parse_document(std::string_view text);

/// Architecture as Go calls it, from Debian's name: "armhf" is "arm".
std::string go_architecture(const std::string& debian);
/// What this machine runs.
Platform this_platform();

/// The one of a layout's index that is meant by `tag` and fits `architecture` (Go's name); an empty tag means the only
/// one. Throws Error(not_found) naming the tags, or Error(invalid) when there are several.
const Descriptor& choose(const Document& index, const std::string& tag, const std::string& architecture);
/// The first one that `platform` can run; of those one with its very variant (OCI image specification, image-index.md).
/// Throws Error(not_found) naming the platforms that there are.
const Descriptor& choose_platform(const Document& index, const Platform& platform);

/// The path below a layout: "blobs/sha256/<hex>".
std::string blob_path(const Descriptor& descriptor);

}  // namespace underway::oci
