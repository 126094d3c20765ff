#pragma once
/// @file
/// Decisions about masters: what is declared is put or removed as a whole, with the bytes that nothing names any more.

#include "files/masters/build.hpp"
#include "server/decision.hpp"

namespace underway::files {

using model::FilesPut;

/// A declaration on its way into the store. Its content_id is set, and `content` is what it names, if that is news.
struct NewFile {
  model::FileDeclaration file;
  std::optional<model::FileContent> content;
};

/// The node on which the master of `file` lies; nothing when there is none of that name.
tables::Row<model::Node> node_of_master(const tables::Tables& tables, const model::FileDeclaration& file);

/// Throws invalid with all that is wrong with them.
void require_valid(const std::vector<model::FileDeclaration>& files);

struct PutFiles {
  std::string cluster;  ///< empty: for nodes that are in none
  std::vector<NewFile> files;
  bool directory = false;  ///< these are all that the cluster's directory declares: others of it go
  bool plan = false;       ///< bytes need not be here yet
  bool coming = false;     ///< nor need the cluster: it is made in the same commit
};

/// Errors: not_found (no such cluster), invalid with all problems, conflict (bytes that are not here), too_large (all
/// files together).
server::Decision<FilesPut> decide(const tables::Tables& tables, const PutFiles& request,
                                  const server::Context& context);
/// Errors: not_found; conflict for what a directory declares.
struct RemoveFile {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const RemoveFile& request,
                                         const server::Context& context);
/// Takes over the bytes that were read on the node where the master lies; nothing when it is declared otherwise now.
struct FollowMaster {
  NewFile read;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const FollowMaster& request,
                                         const server::Context& context);
/// What belongs to clusters and nodes that are not there any more goes.
struct CollectFiles {};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const CollectFiles& request,
                                         const server::Context& context);

/// Pieces that were sent, and that no file names after kUnnamedPieces, go.
struct CollectPieces {};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const CollectPieces& request,
                                         const server::Context& context);

}  // namespace underway::files
