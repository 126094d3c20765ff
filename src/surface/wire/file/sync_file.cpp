#include "wire/file/sync_file.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

std::vector<model::SyncFile> files_of(std::vector<SyncFileBody> bodies) {
  std::vector<model::SyncFile> out;
  for (auto& body : bodies) {
    try {
      if (body.content) body.file.content = base64_decode(*body.content);
    } catch (const Error&) {
      throw Error(Code::invalid, fmt::format("the content of file '{}' is no base64", body.file.name));
    }
    body.file.sent = std::move(body.sent);
    out.push_back(std::move(body.file));
  }
  return out;
}

SyncFileBody body_of(model::SyncFile file) {
  SyncFileBody out;
  if (file.content && file.content->size() > model::kPieceBytes) {
    out.sent =
        model::SentBytes{hex(crypto::sha256(*file.content)), static_cast<std::int64_t>(file.content->size()), {}};
    out.file = std::move(file);
    return out;
  }
  if (file.content) out.content = base64_encode(*file.content);
  file.content.reset();
  out.file = std::move(file);
  return out;
}

const Structure& description(Tag<SyncFileBody>) {
  static const Structure s = Builder<SyncFileBody>("sync file", "A synchronised file with its bytes.")
                                 .wire<&SyncFileBody::file>("File", "Its declaration, without its bytes.")
                                 .wire<&SyncFileBody::content>("Content", "Base64; without it the bytes stay.")
                                 .wire<&SyncFileBody::sent>("Sent", "In place of Content: pieces that were sent ahead.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncFilesBody>) {
  static const Structure s = Builder<SyncFilesBody>("sync files", "Synchronised files.")
                                 .wire<&SyncFilesBody::files>("Files", "The declarations, each with its bytes.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncPiece>) {
  static const Structure s = Builder<SyncPiece>("sync piece", "A piece of a large file that the server has.")
                                 .wire<&SyncPiece::id>("ID", "Names it in the declaration of its file.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncNowBody>) {
  static const Structure s =
      Builder<SyncNowBody>("sync now", "Who shall look at once.")
          .wire<&SyncNowBody::nodes>("Nodes", "IDs; none: all.")
          .wire<&SyncNowBody::accept_restored>(
              "AcceptRestored", "Nodes that have files of a newer store follow this one nevertheless, after a restore.")
          .done();
  return s;
}

const Structure& description(Tag<MasterBody>) {
  static const Structure s = Builder<MasterBody>("master", "The bytes of a synchronised file.")
                                 .wire<&MasterBody::data>("Data", "Base64.")
                                 .done();
  return s;
}

}  // namespace underway::wire
