#pragma once
/// @file
/// File synchronisation, as it is kept: what nodes and capsules shall have of a file (FileDeclaration), its bytes
/// (FileContent), and what a node says of its files (FileReport). Masters are declared in a cluster's directory (`file`
/// blocks) or by `underway file add`.

#include "model/job/job.hpp"

namespace underway::model {

enum class FileType {
  file,
  symlink,    ///< `link` is what it says
  directory,  ///< owner, mode and attributes; not what lies in it
  absent,     ///< is removed where it is
  part,       ///< nobody gets it: templates include it
};

/// What becomes of a file that was changed where it was put.
enum class DriftPolicy {
  correct,  ///< the master is put back
  report,   ///< it stays, and is reported
};

/// What becomes of the file on a node for which it is not declared any more.
enum class RemovedPolicy { keep, remove };

enum class FileTemplate { none, go };

/// Who gets a file: a node that any of these names. All empty: every node of the cluster, and no capsule.
struct FileTargets {
  std::vector<std::string> pools, nodes, classes;  ///< `*` stands for any run of characters
  std::vector<std::string> capsules;               ///< names, as `underway capsule status` shows them

  bool empty() const { return pools.empty() && nodes.empty() && classes.empty() && capsules.empty(); }
};

/// A command that runs as root where the file is: on the node, or inside the capsule.
struct FileHook {
  std::vector<std::string> command;
  Duration timeout = std::chrono::minutes(1);
};

/// A task that is told that a file which it has read was replaced.
struct FileReload {
  std::string job;
  std::string task;  ///< empty: every task of the job that runs on the node
  std::string signal = "SIGHUP";
};

/// Bytes that went ahead of their declaration, in pieces (FilePiece).
struct SentBytes {
  std::string digest;  ///< of all of them: SHA-256, hexadecimal
  std::int64_t size = 0;
  std::vector<std::string> pieces;  ///< ids, in order; none: the server has these bytes, or only a plan is asked for
};

struct FileDeclaration {
  std::string name;     ///< unique in its cluster: the path, unless it has a name of its own
  std::string cluster;  ///< empty: for nodes that are in no cluster
  std::string path;     ///< where it is put; empty: `name`
  FileType type = FileType::file;
  std::string source;  ///< where its bytes were read, for people; with `from`: where they lie there
  std::string from;    ///< node on whose disk the master lies, and is followed; empty: the server has it
  std::optional<std::string> content;  ///< its bytes, on the way to the server only
  std::optional<SentBytes> sent;       ///< in place of `content`, likewise
  std::string link;
  std::string owner = "root";
  std::string group = "root";
  std::string mode;  ///< octal; empty: 0644, a directory 0755, a secret 0600
  StringMap xattrs;
  FileTemplate templating = FileTemplate::none;
  bool secret = false;  ///< sealed on the server, and never shown
  FileTargets targets;
  std::optional<FileHook> before;  ///< first; when it fails, the file stays as it is
  std::optional<FileHook> after;
  std::vector<FileReload> reloads;
  DriftPolicy drift = DriftPolicy::correct;
  RemovedPolicy when_removed = RemovedPolicy::keep;

  // What the server adds.
  std::string content_id;        ///< of its FileContent; empty: it has none
  std::int64_t size = 0;         ///< bytes of it
  bool from_directory = false;   ///< declared in the cluster's directory, not by hand
  std::int64_t modify_time = 0;  ///< ns since the epoch
  Revision create_index = 0;
  Revision modify_index = 0;

  const std::string& where() const { return path.empty() ? name : path; }
};

/// The bytes of a file. Plain ones are found by what they are ("sha256-<hex>"); secret ones by a name that says
/// nothing.
struct FileContent {
  std::string id;
  std::string key_id;               ///< of the root key under which `data` is sealed; empty: plain
  std::string data;                 ///< base64; with `pieces`: nothing, or a secret's digest
  std::vector<std::string> pieces;  ///< ids, in order, of bytes that are more than one row holds
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// A part of the bytes of a large file. Named as FileContent is.
struct FilePiece {
  std::string id;
  std::string key_id;   ///< of the root key under which `data` is sealed; empty: plain
  std::string data;     ///< base64
  std::int64_t at = 0;  ///< ns since the epoch: when it was last sent; one that no file names goes an hour later
  Revision create_index = 0;
  Revision modify_index = 0;
};

enum class FileState { synced, pending, drifted, failed };

/// A file that is not as its master.
struct FileProblem {
  std::string path;
  FileState state = FileState::pending;
  std::string reason;
  std::int64_t since = 0;  ///< ns since the epoch
};

/// Something that a node did with a file, or found.
struct FileEvent {
  std::int64_t at = 0;  ///< ns since the epoch
  std::string path;
  std::string what;  ///< created, replaced, removed, corrected, drifted, failed, before, after, reload
  std::string detail;
};

/// What a node says of its files, or of those of a capsule that it runs.
struct FileReport {
  std::string node_id;
  std::string node;
  std::string capsule;     ///< empty: of the node itself
  std::int64_t epoch = 0;  ///< of the manifest that was applied
  Revision revision = 0;
  std::string manifest;         ///< its digest
  std::string refused;          ///< why a newer manifest was not taken; empty: it was
  std::int64_t key_serial = 0;  ///< of the newest FileKeyStep that the node follows
  std::int64_t files = 0;       ///< in that manifest
  std::int64_t applied_at = 0;  ///< ns since the epoch: when something last changed
  std::vector<FileProblem> problems;
  std::vector<FileEvent> events;  ///< the newest last, at most kFileEvents
  Revision create_index = 0;
  Revision modify_index = 0;
};
constexpr std::size_t kFileEvents = 40;

/// A key that signs manifests; its seed is sealed.
struct FileKey {
  std::string key;         ///< base64: the public half
  std::string key_id;      ///< of the root key under which `seed` is sealed
  std::string seed;        ///< base64
  std::int64_t since = 0;  ///< ns since the epoch
};

enum class FileKeyAction {
  introduce,  ///< `to` is believed beside `from`
  withdraw,   ///< `from` is not believed any more
};

/// What becomes of the keys that sign manifests, in words that nodes check: who believes `from` comes to believe `to`.
/// All steps there ever were are kept, so that a node that was away can take them one after the other.
struct FileKeyStep {
  std::int64_t serial = 0;  ///< from 1, without a gap
  FileKeyAction action = FileKeyAction::introduce;
  std::string from, to;  ///< base64: public halves
  std::string by_from;   ///< base64: signature by `from`; of an introduction only
  std::string by_to;     ///< likewise by `to`
};

/// One row for the whole store: the key that signs manifests, and the epoch.
struct FileSettings {
  std::string key;              ///< base64: the public half
  std::string key_id;           ///< of the root key under which `seed` is sealed
  std::string seed;             ///< base64
  std::int64_t key_since = 0;   ///< ns since the epoch; 0: from the beginning
  std::optional<FileKey> next;  ///< that nodes learn to believe, and that signs then
  std::vector<FileKeyStep> steps;
  std::int64_t epoch = 1;  ///< raised when an older store was restored, and nodes shall follow it nevertheless
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// Most bytes of a file that lie in one row, and of a piece of a larger one: with base64, what one value of etcd holds
/// (etcd's --max-request-bytes, 1.5 MiB). What is rendered, shown or edited has no more either.
constexpr std::size_t kPieceBytes = 1U << 20;
/// Most bytes of one file: what is larger is for images and shared file systems.
constexpr std::size_t kFileBytes = 64U << 20;
/// Most bytes of all files together: the server has them in memory.
constexpr std::size_t kAllFilesBytes = 1U << 30;

/// All problems of a declaration, in words; empty when it is valid.
std::vector<std::string> problems(const FileDeclaration& file);
/// Problems that declarations of one cluster make together: a name twice.
std::vector<std::string> problems(const std::vector<FileDeclaration>& files);
/// What is wrong with a path for a file of a node: not absolute, not plain, or a place that is not one for files.
std::string file_path_problem(std::string_view path);
/// The mode that applies.
std::int64_t file_mode(const FileDeclaration& file);
/// Whether both ask for the same, leaving aside what the server added.
bool same_declaration(const FileDeclaration& a, const FileDeclaration& b);

/// Keys of the records: "<cluster>/<name>", and "<node id>/<capsule>".
std::string file_key(std::string_view cluster, std::string_view name);
std::string report_key(std::string_view node_id, std::string_view capsule);

const describe::Enumeration& description(describe::Tag<FileType>);
const describe::Enumeration& description(describe::Tag<DriftPolicy>);
const describe::Enumeration& description(describe::Tag<RemovedPolicy>);
const describe::Enumeration& description(describe::Tag<FileTemplate>);
const describe::Enumeration& description(describe::Tag<FileState>);
const describe::Structure& description(describe::Tag<FileTargets>);
const describe::Structure& description(describe::Tag<FileHook>);
const describe::Structure& description(describe::Tag<FileReload>);
const describe::Structure& description(describe::Tag<FileDeclaration>);
const describe::Structure& description(describe::Tag<SentBytes>);
const describe::Structure& description(describe::Tag<FileContent>);
const describe::Structure& description(describe::Tag<FilePiece>);
const describe::Structure& description(describe::Tag<FileProblem>);
const describe::Structure& description(describe::Tag<FileEvent>);
const describe::Structure& description(describe::Tag<FileReport>);
const describe::Enumeration& description(describe::Tag<FileKeyAction>);
const describe::Structure& description(describe::Tag<FileKey>);
const describe::Structure& description(describe::Tag<FileKeyStep>);
const describe::Structure& description(describe::Tag<FileSettings>);

}  // namespace underway::model
