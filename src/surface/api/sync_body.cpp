#include "api/sync_body.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::api {

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
    out.push_back(std::move(body.file));
  }
  return out;
}

SyncFileBody body_of(model::SyncFile file) {
  SyncFileBody out;
  if (file.content) out.content = base64_encode(*file.content);
  file.content.reset();
  out.file = std::move(file);
  return out;
}

const Structure& description(Tag<SyncFileBody>) {
  static const Structure s = Builder<SyncFileBody>("sync file", "A synchronised file with its bytes.")
                                 .wire<&SyncFileBody::file>("File", "")
                                 .wire<&SyncFileBody::content>("Content", "Base64; without it the bytes stay.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncFilesBody>) {
  static const Structure s =
      Builder<SyncFilesBody>("sync files", "Synchronised files.").wire<&SyncFilesBody::files>("Files", "").done();
  return s;
}

const Structure& description(Tag<SyncNowBody>) {
  static const Structure s = Builder<SyncNowBody>("sync now", "Who shall look at once.")
                                 .wire<&SyncNowBody::nodes>("Nodes", "IDs; none: all.")
                                 .wire<&SyncNowBody::accept_restored>("AcceptRestored", "")
                                 .done();
  return s;
}

const Structure& description(Tag<MasterBody>) {
  static const Structure s = Builder<MasterBody>("master", "The bytes of a synchronised file.")
                                 .wire<&MasterBody::data>("Data", "Base64.")
                                 .done();
  return s;
}

}  // namespace underway::api
