#pragma once
/// @file
/// What nodes and the server say to each other of images:
///
///     call   image.find  Wanted       → image::StoredImage
///     call   image.keys  KnownKeys    → Keys, at once when they are others, else after a while
///     stream image.read  Part         → the bytes from its offset on

#include "image/store.hpp"
#include "tables/records.hpp"

namespace underway::imageshare {

struct Wanted {
  std::string reference;
};

struct KnownKeys {
  std::string digest;
};

struct Keys {
  std::string digest;  ///< of the keys, whatever they are
  std::vector<image::KeyRecord> keys;
};

struct Part {
  std::string digest;
  std::int64_t offset = 0;
};

const describe::Structure& description(describe::Tag<Wanted>);
const describe::Structure& description(describe::Tag<KnownKeys>);
const describe::Structure& description(describe::Tag<Keys>);
const describe::Structure& description(describe::Tag<Part>);

}  // namespace underway::imageshare

namespace underway::tables {

/// The cluster's trusted keys.
template <>
struct RecordOf<image::KeyRecord> {
  static constexpr std::string_view kind = "capsule_key";
  static std::string name(const image::KeyRecord& key) { return key.id; }
};

}  // namespace underway::tables
