#pragma once
/// @file
/// What clients and the API say about synchronised files.

#include "model/file.hpp"

namespace underway::wire {

/// A declaration with its bytes.
struct FileBody {
  model::FileDeclaration file;
  std::optional<std::string> content;    ///< base64; absent, with `sent`: the bytes that the server has stay
  std::optional<model::SentBytes> sent;  ///< in place of `content`, of a large file
};

struct FilesBody {
  std::vector<FileBody> files;
};

/// A piece of a large file that the server has now.
struct FilePieceBody {
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
std::vector<model::FileDeclaration> files_of(std::vector<FileBody> bodies);
/// Of a large file the body says only which bytes it has: they stay in `file.content` and go ahead in pieces.
FileBody body_of(model::FileDeclaration file);

const describe::Structure& description(describe::Tag<FileBody>);
const describe::Structure& description(describe::Tag<FilesBody>);
const describe::Structure& description(describe::Tag<FilePieceBody>);
const describe::Structure& description(describe::Tag<SyncNowBody>);
const describe::Structure& description(describe::Tag<MasterBody>);

}  // namespace underway::wire
