#pragma once
/// @file
/// How the list of changes tells of each request: "drain node c1". A request that is not here leaves no entry.

#include <optional>
#include <string>

#include "server/request.hpp"

namespace underway::server {
struct DeregisterJob;
struct DrainNode;
struct KeepOrphans;
struct RegisterJob;
struct RevertJob;
struct ScaleJob;
struct StopAllocation;
struct StopCluster;
struct StopOrphans;
}  // namespace underway::server
namespace underway::ownership {
struct BeginMove;
struct BeginRestore;
struct BeginUpgrade;
}  // namespace underway::ownership
namespace underway::files {
struct PutFiles;
struct RemoveFile;
}  // namespace underway::files

namespace underway::api {

struct ApplyDirectory;

struct ChangeWords {
  std::string what;     ///< "apply cluster 'demo'"
  std::string ns = {};  ///< whose it is, where it is a namespace's
};

using server::Tables;

/// `tables`: as they are before it.
ChangeWords words_of(const Tables& tables, const ApplyDirectory& request);
ChangeWords words_of(const Tables& tables, const server::DeregisterJob& request);
ChangeWords words_of(const Tables& tables, const server::DrainNode& request);
ChangeWords words_of(const Tables& tables, const server::KeepOrphans& request);
ChangeWords words_of(const Tables& tables, const server::RegisterJob& request);
ChangeWords words_of(const Tables& tables, const server::RevertJob& request);
ChangeWords words_of(const Tables& tables, const server::ScaleJob& request);
ChangeWords words_of(const Tables& tables, const server::StopAllocation& request);
ChangeWords words_of(const Tables& tables, const server::StopCluster& request);
ChangeWords words_of(const Tables& tables, const server::StopOrphans& request);
ChangeWords words_of(const Tables& tables, const ownership::BeginMove& request);
ChangeWords words_of(const Tables& tables, const ownership::BeginRestore& request);
ChangeWords words_of(const Tables& tables, const ownership::BeginUpgrade& request);
ChangeWords words_of(const Tables& tables, const files::PutFiles& request);
ChangeWords words_of(const Tables& tables, const files::RemoveFile& request);

template <class R>
concept LeavesAnEntry = requires(const Tables& tables, const R& request) { words_of(tables, request); };

}  // namespace underway::api
