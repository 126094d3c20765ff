#pragma once
/// @file
/// What a node and a server say to each other about files, as JSON over the link (base/json/json.hpp, compact
/// encoding).
///
/// Node to server:
///   call "files.manifest"  ManifestRequest -> ManifestReply   what it shall have, if that is news
///   call "files.content"   ContentRequest -> ContentReply     bytes that its present manifest names, and no others
///   stream "files.bytes"   BytesRequest -> bytes              those of a file that is larger than model::kPieceBytes
///   call "files.reload"    ReloadRequest -> {"Signalled": n}  tells a task on this node
///   call "files.report"    model::FileReport -> {}
/// Server to node:
///   call "files.changed"   {} -> {}                           its manifest is another: it asks for it at once
///   call "files.read"      ReadRequest -> FoundFile           a file of its manifest, as it is there; never a secret
///   call "files.master"    MasterRequest -> MasterReply       a master that lies there, if that is news
///   stream "files.master"  MasterRequest -> bytes             those of a large one

#include "model/file.hpp"
#include "model/file_status.hpp"

namespace underway::files {

using model::FoundFile;

struct ManifestEntry {
  std::string path;
  std::string file;  ///< the declaration's name
  model::FileType type = model::FileType::file;
  std::int64_t mode = 0644;
  std::string owner = "root", group = "root";
  model::StringMap xattrs;
  std::string digest;  ///< of a file: SHA-256, hexadecimal
  std::int64_t size = 0;
  std::string link;
  bool secret = false;
  std::optional<model::FileHook> before, after;
  std::vector<model::FileReload> reloads;
  model::DriftPolicy drift = model::DriftPolicy::correct;
  model::RemovedPolicy when_removed = model::RemovedPolicy::keep;
  /// Why nobody knows now what it shall be (its template fails): then it stays as it is. Empty: it is known.
  std::string problem;
};

/// Everything that one target shall have.
struct Manifest {
  std::int64_t version = 1;
  std::string node_id;
  std::string capsule;     ///< empty: the node itself
  std::int64_t epoch = 1;  ///< with `revision`: what is newer
  model::Revision revision = 0;
  std::vector<ManifestEntry> entries;  ///< by path
};

struct SignedManifest {
  std::string text;       ///< the JSON that was signed
  std::string key;        ///< base64: the public half of what signed it
  std::string signature;  ///< base64
};

struct ManifestRequest {
  std::string capsule;
  std::string have;              ///< digest of the manifest that it has; empty: none
  std::int64_t key_serial = -1;  ///< of the newest FileKeyStep that it follows; -1: it believes no key yet
};
struct ManifestReply {
  std::optional<SignedManifest> manifest;  ///< absent: nothing changed
  std::int64_t key_serial = 0;             ///< who believes no key yet begins with this one
  std::vector<model::FileKeyStep> steps;   ///< that follow
};

struct ContentRequest {
  std::string capsule;
  std::vector<std::string> digests;
};
struct Content {
  std::string digest;
  std::string data;  ///< base64
};
struct ContentReply {
  std::vector<Content> contents;
};
/// A request asks for so many bytes at most, or for one file: what a message of the link holds, with base64.
constexpr std::int64_t kContentBytes = std::int64_t{6} << 20;

struct BytesRequest {
  std::string capsule;
  std::string digest;
  std::int64_t offset = 0;  ///< how many of them the node has
};

struct ReloadRequest {
  std::string capsule;
  model::FileReload reload;
  std::string round;  ///< a request that is repeated after a broken link has the same
};

struct ReadRequest {
  std::string capsule;
  std::string path;
};
struct MasterRequest {
  std::string path;
  std::string have;  ///< digest of the bytes that the server has; empty: none
};
struct MasterReply {
  std::optional<std::string> data;  ///< base64; absent: nothing changed, or it is large
  std::string digest;               ///< of a large one that is news
  std::int64_t size = 0;            ///< likewise
};

const describe::Structure& description(describe::Tag<ManifestEntry>);
const describe::Structure& description(describe::Tag<Manifest>);
const describe::Structure& description(describe::Tag<SignedManifest>);
const describe::Structure& description(describe::Tag<ManifestRequest>);
const describe::Structure& description(describe::Tag<ManifestReply>);
const describe::Structure& description(describe::Tag<ContentRequest>);
const describe::Structure& description(describe::Tag<Content>);
const describe::Structure& description(describe::Tag<ContentReply>);
const describe::Structure& description(describe::Tag<BytesRequest>);
const describe::Structure& description(describe::Tag<ReloadRequest>);
const describe::Structure& description(describe::Tag<ReadRequest>);
const describe::Structure& description(describe::Tag<MasterRequest>);
const describe::Structure& description(describe::Tag<MasterReply>);

}  // namespace underway::files
