#pragma once
/// @file
/// A token with which one new node may join, once. The token itself is shown when it is made and kept as a hash only.

#include "model/job/job.hpp"

namespace underway::model {

struct JoinToken {
  std::string id;
  std::string hash;  ///< crypto::hash_token of its secret
  /// What the node that uses it may be; empty: anything.
  std::string name, pool;
  std::string cluster;           ///< that the node belongs to; is `name` one of its hosts, the node is that host
  std::int64_t create_time = 0;  ///< ns since the epoch
  std::int64_t expire_time = 0;
  std::int64_t use_time = 0;  ///< 0: not yet
  std::string used_by;        ///< the node's id
  std::string used_by_name;
  std::string used_from;  ///< address
  std::string used_key;   ///< whose answer was lost may ask again, by this key alone
  Revision create_index = 0;
  Revision modify_index = 0;

  bool used() const { return use_time != 0; }
};

const describe::Structure& description(describe::Tag<JoinToken>);

}  // namespace underway::model
