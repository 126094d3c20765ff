#pragma once
/// @file
/// What a mirror holds since it was last synchronised: digests of files in the pool. A view that is replaced stays
/// whole as long as somebody refers to it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::mirror {

/// What is taken of one index.
struct IndexView {
  std::string component, architecture;
  std::string upstream;       ///< SHA-256 of upstream's index, uncompressed: it has changed when this has
  std::string list;           ///< SHA-256 of the file in the pool that has the stanzas of what is taken
  std::int64_t packages = 0;  ///< that are taken
  std::int64_t bytes = 0;     ///< of their files
};

struct SuiteView {
  std::string suite;    ///< as it was asked for
  std::string release;  ///< SHA-256 of the file in the pool that has what upstream signed, with its signature
  std::string origin, label, codename, version;
  std::int64_t date = 0;       ///< of upstream's Release: seconds since the epoch
  std::string etag, modified;  ///< what upstream's server said of it
  std::vector<IndexView> indexes;
};

struct View {
  std::string selection;  ///< digest of what was to be taken: another filter is another view
  std::vector<SuiteView> suites;

  const SuiteView* find(std::string_view suite) const;
};

const describe::Structure& description(describe::Tag<IndexView>);
const describe::Structure& description(describe::Tag<SuiteView>);
const describe::Structure& description(describe::Tag<View>);

}  // namespace underway::mirror
