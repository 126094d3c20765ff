#pragma once
/// @file
/// What clients and the API say about synchronised files.

#include "model/sync_file.hpp"

namespace underway::api {

/// A declaration with its bytes.
struct SyncFileBody {
  model::SyncFile file;
  std::optional<std::string> content;  ///< base64; absent: the bytes that the server has stay
};

struct SyncFilesBody {
  std::vector<SyncFileBody> files;
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
SyncFileBody body_of(model::SyncFile file);

const describe::Structure& description(describe::Tag<SyncFileBody>);
const describe::Structure& description(describe::Tag<SyncFilesBody>);
const describe::Structure& description(describe::Tag<SyncNowBody>);
const describe::Structure& description(describe::Tag<MasterBody>);

}  // namespace underway::api
