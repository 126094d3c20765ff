#include "oci/layout.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/hasher.hpp"

namespace underway::oci {

std::string digest_of(const os::Fd& file, const std::string& name) {
  crypto::Hasher hasher;
  std::vector<char> buffer(1U << 20);
  for (off_t offset = 0;;) {
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), offset);
    if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", name));
    if (got == 0) break;
    hasher.add(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    offset += got;
  }
  return "sha256:" + hex(hasher.finish());
}

Document Layout::index() const {
  const auto text = root_.read("index.json");
  if (!text)
    throw Error(Code::invalid, fmt::format("'{}' is no OCI layout", root_.path()))
        .because("there is no index.json in it");
  return parse_document(*text);
}

os::Fd Layout::open(const Descriptor& blob) const {
  const auto at = root_.find_place(blob_path(blob));
  if (!at) throw Error(Code::not_found, fmt::format("the layout has no blob '{}'", blob.digest));
  os::Fd file(::openat(at->directory(), at->leaf().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) throw errno_error(errno, fmt::format("cannot open the blob '{}'", blob.digest));
  struct stat st{};
  if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != blob.size)
    throw Error(Code::denied, fmt::format("the blob '{}' is not what the layout says", blob.digest))
        .because(fmt::format("it has {} bytes, not {}", st.st_size, blob.size));
  return file;
}

os::Fd Layout::open_verified(const Descriptor& blob) const {
  os::Fd file = open(blob);
  if (digest_of(file, blob.digest) != blob.digest)
    throw Error(Code::denied, fmt::format("the blob '{}' is not what the layout says", blob.digest))
        .because("its bytes have another digest")
        .advise("make the layout again");
  return file;
}

std::string Layout::read(const Descriptor& blob) const {
  if (blob.size > kDocumentLimit)
    throw Error(Code::too_large, fmt::format("the document '{}' is too large", blob.digest))
        .because(fmt::format("it has {}", human_bytes(static_cast<std::uint64_t>(blob.size))));
  return os::read_all(open_verified(blob), static_cast<std::size_t>(kDocumentLimit), blob.digest);
}

Descriptor Layout::find(const std::string& tag, const Platform& platform) const {
  const Descriptor chosen = choose(index(), tag, platform.architecture);
  const Document document = parse_document(read(chosen));
  return document.is_index() ? choose_platform(document, platform) : chosen;
}

}  // namespace underway::oci
