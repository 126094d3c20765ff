#pragma once
/// @file
/// What a snapshot says of itself. ID, Size, Index, Term and Version are what Nomad's clients show of a snapshot.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::snapshot {

/// A root key as it lies in the server's keyring: useless without the wrapping key, which is in no snapshot.
struct WrappedKey {
  std::string id;
  bool active = false;
  std::int64_t create_time = 0;  ///< ns since the epoch
  std::string wrapped;           ///< base64
  std::string rsa_wrapped = {};  ///< base64; empty: it has no RSA key
};

/// Of what is packed here. What a newer one has, this program would lose.
inline constexpr std::int64_t kFormat = 1;

struct Metadata {
  std::string id;          ///< "snapshot-<index>-<time>"
  std::int64_t index = 0;  ///< the revision of the state
  std::int64_t size = 0;   ///< bytes of state.bin
  std::int64_t term = 1;
  std::int64_t version = 1;
  std::int64_t format = kFormat;
  std::string program;  ///< the version of underway that packed it
  std::string cluster_id;
  std::string region;
  std::int64_t time = 0;  ///< ns since the epoch
  std::vector<WrappedKey> keys;
};

const describe::Structure& description(describe::Tag<WrappedKey>);
const describe::Structure& description(describe::Tag<Metadata>);

}  // namespace underway::snapshot
