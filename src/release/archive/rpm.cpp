#include "archive/rpm.hpp"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "archive/detail/rpm_parts.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::archive {
namespace {

using namespace std::string_view_literals;
using detail::Parts;
using detail::RpmHeader;

constexpr std::size_t kPiece = 1U << 20;

Error no_rpm(const std::string& name, std::string why) {
  return Error(Code::invalid, fmt::format("'{}' is no whole rpm package", name)).because(std::move(why));
}

class Digest {
 public:
  explicit Digest(const EVP_MD* kind) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), kind, nullptr) != 1)
      throw Error(Code::unsupported, "this machine does not compute such a digest").because(EVP_MD_get0_name(kind));
  }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), out.data(), &size);
    return {reinterpret_cast<const char*>(out.data()), size};
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

void check_digest(std::string_view what, std::string_view found, std::string_view wanted, const std::string& name) {
  if (found == wanted) return;
  throw no_rpm(name, fmt::format("the digest of its {} is {}, not {}", what, found, wanted.substr(0, 128)))
      .advise("fetch it once more");
}

/// The bytes of a file, by their places.
class Source {
 public:
  Source(const os::Fd& file, const std::string& name) : file_(file), name_(name) {}

  std::string read(std::uint64_t offset, std::size_t size) const {
    std::string out(size, '\0');
    const std::size_t got = read_some(offset, out);
    if (got < size) throw no_rpm(name_, "it ends too early");
    return out;
  }
  /// Calls `each` for all that is from `offset` on.
  template <class Each>
  void each_piece(std::uint64_t offset, Each each) const {
    std::string piece(kPiece, '\0');
    while (const std::size_t got = read_some(offset, piece)) {
      each(std::string_view(piece).substr(0, got));
      offset += got;
    }
  }

 private:
  /// Less than fits into `piece` at the end of the file only.
  std::size_t read_some(std::uint64_t offset, std::string& piece) const {
    std::size_t at = 0;
    while (at < piece.size()) {
      const ssize_t got = ::pread(file_.get(), piece.data() + at, piece.size() - at, static_cast<off_t>(offset + at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", name_));
      if (got == 0) break;
      at += static_cast<std::size_t>(got);
    }
    return at;
  }

  const os::Fd& file_;
  const std::string& name_;
};

Rpm read_parts(const RpmHeader& signatures, const RpmHeader& header, const Parts& parts, const std::string& name) {
  Rpm out;
  out.files = detail::files_of(header, name);
  out.description = detail::describe(header, signatures, out.files);
  out.description.header_begin = parts.header.begin;
  out.description.header_end = parts.header.end;
  out.scripts = detail::scripts_of(header);
  return out;
}

/// Of the header. Says whether it is a weak one.
bool check_header(const RpmHeader& signatures, std::string_view header, const std::string& name) {
  const auto check = [&](detail::Tag tag, const EVP_MD* kind) {
    if (!signatures.has(tag)) return false;
    Digest digest(kind);
    digest.add(header);
    check_digest("header", hex(digest.finish()), signatures.text(tag), name);
    return true;
  };
  if (check(detail::kSignatureSha256, EVP_sha256())) return false;
  if (check(detail::kSignatureSha1, EVP_sha1())) return true;
  throw no_rpm(name, "it has no digest of its header");
}

const EVP_MD* payload_digest(const RpmHeader& header) {
  // As OpenPGP numbers them (RFC 4880, section 9.4).
  switch (header.number_or(detail::kPayloadDigestAlgorithm, 0)) {
    case 8:
      return EVP_sha256();
    case 9:
      return EVP_sha384();
    case 10:
      return EVP_sha512();
    default:
      return nullptr;
  }
}

/// Of the payload, or of header and payload together; of the whole file as well. Says whether it is a weak one.
bool check_payload(const Source& source, const Parts& parts, const RpmHeader& signatures, const RpmHeader& header,
                   Rpm& rpm, const std::string& name) {
  const EVP_MD* const kind = header.has(detail::kPayloadDigest) ? payload_digest(header) : nullptr;
  const auto md5 = signatures.binary(detail::kSignatureMd5);
  if (kind == nullptr && md5.empty()) throw no_rpm(name, "it has no digest of its payload");
  Digest whole(EVP_sha256()), payload(kind != nullptr ? kind : EVP_md5());
  whole.add(source.read(0, parts.header.begin));
  const std::string middle = source.read(parts.header.begin, parts.header.end - parts.header.begin);
  whole.add(middle);
  if (kind == nullptr) payload.add(middle);
  rpm.size = parts.header.end;
  source.each_piece(parts.header.end, [&](std::string_view piece) {
    whole.add(piece);
    payload.add(piece);
    rpm.size += piece.size();
  });
  rpm.digest = hex(whole.finish());
  check_digest("payload", hex(payload.finish()),
               kind != nullptr ? std::string(header.text(detail::kPayloadDigest)) : hex(md5), name);
  return kind == nullptr;
}

}  // namespace

namespace detail {

void check_lead(std::string_view lead) {
  if (!lead.starts_with("\xed\xab\xee\xdb"sv)) throw Error(Code::invalid, "it does not begin like an rpm package");
  const unsigned major = static_cast<unsigned char>(lead[4]);
  if (major != 3 && major != 4)
    throw Error(Code::unsupported, "it is an rpm package of another format").because(fmt::format("version {}", major));
}

}  // namespace detail

Rpm parse_rpm(std::string_view bytes, const std::string& name) {
  try {
    const auto read = [&](std::size_t offset, std::size_t size) {
      if (offset > bytes.size() || size > bytes.size() - offset) throw no_rpm(name, "it ends too early");
      return bytes.substr(offset, size);
    };
    const Parts parts = detail::find_parts(read);
    const RpmHeader signatures(read(parts.signatures.begin, parts.signatures.end - parts.signatures.begin),
                               RpmHeader::Kind::signatures);
    const RpmHeader header(read(parts.header.begin, parts.header.end - parts.header.begin), RpmHeader::Kind::package);
    return read_parts(signatures, header, parts, name);
  } catch (Error& e) {
    e.while_doing(fmt::format("reading '{}'", name));
    throw;
  }
}

Rpm read_rpm(const os::Fd& file, const std::string& name) {
  try {
    const Source source(file, name);
    const Parts parts =
        detail::find_parts([&](std::size_t offset, std::size_t size) { return source.read(offset, size); });
    if (parts.header.end > static_cast<std::uint64_t>(os::size_of(file, name))) throw no_rpm(name, "it ends too early");
    const std::string start = source.read(0, parts.header.end);
    const RpmHeader signatures(parts.signatures.in(start), RpmHeader::Kind::signatures);
    const bool weak_header = check_header(signatures, parts.header.in(start), name);
    const RpmHeader header(parts.header.in(start), RpmHeader::Kind::package);
    Rpm out = read_parts(signatures, header, parts, name);
    const bool weak_payload = check_payload(source, parts, signatures, header, out, name);
    out.weak = weak_header || weak_payload;
    return out;
  } catch (Error& e) {
    e.while_doing(fmt::format("reading '{}'", name));
    throw;
  }
}

}  // namespace underway::archive
