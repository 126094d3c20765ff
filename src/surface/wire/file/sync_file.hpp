#pragma once
/// @file
/// What clients and the API say about synchronised files.

#include "model/sync_file.hpp"

namespace underway::wire {

/// A declaration with its bytes.
struct SyncFileBody {
  model::SyncFile file;
  std::optional<std::string> content;    ///< base64; absent, with `sent`: the bytes that the server has stay
  std::optional<model::SentBytes> sent;  ///< in place of `content`, of a large file
};

struct SyncFilesBody {
  std::vector<SyncFileBody> files;
};

/// A piece of a large file that the server has now.
struct SyncPiece {
  std::string id;
};

/// Who shall look now.
struct SyncNowBody {
  std::vector<std::string> nodes;  ///< ids; empty: all
  bool accept_restored = false;    ///< nodes that have files of a newer store follow this one nevertheless
};

/// Bytes of a master.
struct MasterBody {
  std::string data;  ///< base64
};

/// The files as a decision takes them; throws invalid for what is no base64.
std::vector<model::SyncFile> files_of(std::vector<SyncFileBody> bodies);
/// Of a large file the body says only which bytes it has: they stay in `file.content` and go ahead in pieces.
SyncFileBody body_of(model::SyncFile file);

const describe::Structure& description(describe::Tag<SyncFileBody>);
const describe::Structure& description(describe::Tag<SyncFilesBody>);
const describe::Structure& description(describe::Tag<SyncPiece>);
const describe::Structure& description(describe::Tag<SyncNowBody>);
const describe::Structure& description(describe::Tag<MasterBody>);

}  // namespace underway::wire
