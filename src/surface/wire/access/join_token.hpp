#pragma once
/// @file
/// The bodies of `/v1/underway/join-tokens`.

#include "model/access/join_token.hpp"

namespace underway::wire {

struct NewJoinToken {
  std::string name;       ///< empty: any
  std::string node_pool;  ///< empty: any
  std::string cluster;    ///< that the node shall be a member of; empty: none
  Duration ttl = std::chrono::hours(1);
};

struct CreatedJoinToken {
  std::string token;  ///< shown this once
  model::JoinToken row;
  std::string authority_fingerprint;
};

const describe::Structure& description(describe::Tag<NewJoinToken>);
const describe::Structure& description(describe::Tag<CreatedJoinToken>);

}  // namespace underway::wire
