#include "model/access/join_token.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<JoinToken>) {
  static const Structure s =
      Builder<JoinToken>("join token", "With it one new node may join, once.")
          .wire<&JoinToken::id>("ID", "Names it; not secret.")
          .wire<&JoinToken::hash>("Hash", "Salted hash of its secret; empty where it is listed.")
          .wire<&JoinToken::name>("Name", "The only name that the node may have; empty: any.")
          .wire<&JoinToken::pool>("NodePool", "The only pool that the node may be in; empty: any.")
          .wire<&JoinToken::cluster>("Cluster", "The cluster that the node belongs to; empty: none.")
          .wire<&JoinToken::create_time>("CreateTime", "When it was made.")
          .time()
          .wire<&JoinToken::expire_time>("ExpireTime", "Until when it may be used.")
          .time()
          .wire<&JoinToken::use_time>("UseTime", "When it was used.")
          .time()
          .wire<&JoinToken::used_by>("UsedBy", "The id of the node that used it.")
          .wire<&JoinToken::used_by_name>("UsedByName", "The name of that node.")
          .wire<&JoinToken::used_from>("UsedFrom", "The address of that node.")
          .wire<&JoinToken::used_key>("UsedKey", "Digest of that node's public key.")
          .wire<&JoinToken::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&JoinToken::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
