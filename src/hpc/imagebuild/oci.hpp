#pragma once
/// @file
/// OCI's image layout: an index, manifests and layers, each a file that is named by its digest (OCI image specification
/// 1.1, image-layout.md). Everything in it comes from anybody.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/describe.hpp"

namespace underway::imagebuild::oci {

struct Platform {
  std::string architecture, os;
};

struct Descriptor {
  std::string media_type;
  std::string digest;
  std::int64_t size = 0;
  Platform platform;
  std::map<std::string, std::string> annotations;
};

/// An index lists manifests, a manifest lists layers: both are read into this.
struct Document {
  std::string media_type;
  std::vector<Descriptor> manifests;
  std::vector<Descriptor> layers;
};

const describe::Structure& description(describe::Tag<Platform>);
const describe::Structure& description(describe::Tag<Descriptor>);
const describe::Structure& description(describe::Tag<Document>);

/// Throws Error(invalid): no JSON, or a digest or a size that is none.
Document parse_document(std::string_view text);

/// The one that is meant by `tag` and fits `architecture` (Debian's name); an empty tag means the only one.
/// Throws Error(not_found) naming the tags, or Error(invalid) when there are several.
const Descriptor& choose(const Document& index, const std::string& tag, const std::string& architecture);

/// The path below the layout: "blobs/sha256/<hex>".
std::string blob_path(const Descriptor& descriptor);

}  // namespace underway::imagebuild::oci
