#include "wire/access/join_token.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<NewJoinToken>) {
  static const Structure s =
      Builder<NewJoinToken>("NewJoinToken", "What a join token shall be good for.")
          .wire<&NewJoinToken::name>("Name", "The only name that the node may have; empty: any.")
          .wire<&NewJoinToken::node_pool>("NodePool", "The only pool that the node may be in; empty: any.")
          .wire<&NewJoinToken::cluster>("Cluster", "The cluster that the node becomes a member of; empty: none.")
          .wire<&NewJoinToken::ttl>("TTL", "How long it may be used.")
          .done();
  return s;
}

const Structure& description(Tag<CreatedJoinToken>) {
  static const Structure s = Builder<CreatedJoinToken>("CreatedJoinToken", "A join token, shown this once.")
                                 .wire<&CreatedJoinToken::token>("Token", "For the new node's join_token_file.")
                                 .wire<&CreatedJoinToken::row>("JoinToken", "As it is listed.")
                                 .wire<&CreatedJoinToken::authority_fingerprint>(
                                     "AuthorityFingerprint", "SHA-256 of the server's authority; in the token too.")
                                 .done();
  return s;
}

}  // namespace underway::wire
