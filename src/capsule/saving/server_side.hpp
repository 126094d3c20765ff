#pragma once
/// @file
/// The server's part of saving: it keeps what nodes tell of how it went, and asks the node of a capsule for what
/// somebody wants.

#include "model/capsule/saving.hpp"
#include "ownership/capsules.hpp"
#include "saving/messages.hpp"
#include "server/server.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::CapsuleSaving> {
  static constexpr std::string_view kind = "capsule-saving";
  static std::string name(const model::CapsuleSaving& saved) { return model::capsule_key(saved.ns, saved.name); }
};

}  // namespace underway::tables

namespace underway::saving {

using async::awaitable;

/// What nodes tell, for Server::add_extension("saving.", …). Of a capsule that is not theirs it is passed over.
server::Extension report_extension(server::Server& server);
/// What is kept of a report from `node_id`. Pure.
struct KeepReport {
  std::string node_id;
  model::CapsuleSaving report;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const KeepReport& request,
                                         const server::Context& context);

/// Asks the node that has the capsule's overlay; the answer of the stream (messages.hpp). Errors: not_found; conflict
/// while the capsule moves; unavailable: its node is not heard of; the node's.
awaitable<boost::json::value> ask_its_node(server::Server& server, std::string ns, std::string name, std::string method,
                                           boost::json::value request);

}  // namespace underway::saving
