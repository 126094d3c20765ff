#include "wire/file/file.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

std::vector<model::FileDeclaration> files_of(std::vector<FileBody> bodies) {
  std::vector<model::FileDeclaration> out;
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

FileBody body_of(model::FileDeclaration file) {
  FileBody out;
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

const Structure& description(Tag<FileBody>) {
  static const Structure s = Builder<FileBody>("declared file", "A synchronised file with its bytes.")
                                 .wire<&FileBody::file>("File", "Its declaration, without its bytes.")
                                 .wire<&FileBody::content>("Content", "Base64; without it the bytes stay.")
                                 .wire<&FileBody::sent>("Sent", "In place of Content: pieces that were sent ahead.")
                                 .done();
  return s;
}

const Structure& description(Tag<FilesBody>) {
  static const Structure s = Builder<FilesBody>("declared files", "Synchronised files.")
                                 .wire<&FilesBody::files>("Files", "The declarations, each with its bytes.")
                                 .done();
  return s;
}

const Structure& description(Tag<FilePieceBody>) {
  static const Structure s = Builder<FilePieceBody>("file piece", "A piece of a large file that the server has.")
                                 .wire<&FilePieceBody::id>("ID", "Names it in the declaration of its file.")
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
