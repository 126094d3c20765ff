#include "image/image_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "image/detail/compression.hpp"
#include "image/payload.hpp"

namespace underway::image {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Signature>) {
  static const Structure s = Builder<Signature>("signature", "A signature over the manifest.")
                                 .wire<&Signature::key>("Key", "Id of the key.")
                                 .wire<&Signature::name>("Name", "What the signer calls the key.")
                                 .wire<&Signature::signature>("Signature", "Ed25519, in base64.")
                                 .done();
  return s;
}

namespace {

constexpr std::string_view kMagic = "UWCAPSUL";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHead = 64;  // magic, version, six sizes: what the digest in the footer covers of it
constexpr std::int64_t kPayloadLimit = 1LL << 42;
constexpr std::int64_t kFilesLimit = 256LL << 20;
constexpr std::int64_t kManifestLimit = 32LL << 20;
constexpr std::int64_t kSignaturesLimit = 64LL << 10;

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xffU);
}

std::uint64_t take(std::string_view bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return value;
}

std::string head_of(const Layout& layout) {
  std::string out(kMagic);
  put(out, kVersion, 4);
  put(out, 0, 4);
  for (const std::int64_t size :
       {layout.payload, layout.files, layout.files_raw, layout.manifest, layout.manifest_raw, layout.signatures})
    put(out, static_cast<std::uint64_t>(size), 8);
  return out;
}

Error bad_footer(std::string why) { return Error(Code::invalid, "its footer is damaged").because(std::move(why)); }

std::int64_t size_at(std::string_view bytes, std::size_t at, std::int64_t limit, const char* what) {
  const std::uint64_t size = take(bytes, at, 8);
  if (size > static_cast<std::uint64_t>(limit))
    throw bad_footer(fmt::format("{} of {} bytes; the limit is {}", what, size, limit));
  return static_cast<std::int64_t>(size);
}

std::string read_part(const os::Fd& file, std::int64_t offset, std::int64_t size, const std::string& name) {
  std::string out(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(file.get(), out.data() + done, out.size() - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", name));
    if (got == 0) throw Error(Code::invalid, fmt::format("'{}' became shorter while it was read", name));
    done += static_cast<std::size_t>(got);
  }
  return out;
}

/// How long the erofs says it is; 0 when there is none (fs/erofs/erofs_fs.h: the superblock lies at 1024).
std::int64_t erofs_size(const os::Fd& file, std::int64_t file_size, const std::string& name) {
  if (file_size < 1024 + 128) return 0;
  const std::string superblock = read_part(file, 1024, 128, name);
  constexpr std::uint64_t kErofsMagic = 0xE0F5E1E2;
  if (take(superblock, 0, 4) != kErofsMagic) return 0;
  return static_cast<std::int64_t>(take(superblock, 36, 4) << (static_cast<unsigned char>(superblock[12]) & 31U));
}

/// Why a file without a good footer is none of ours, as exactly as can be told.
Error no_image(const os::Fd& file, std::int64_t size, const std::string& name, const std::string& why) {
  Error error(Code::invalid, fmt::format("'{}' is no capsule image", name));
  const std::int64_t inner = erofs_size(file, size, name);
  if (inner == 0) return error.because(why);
  if (size < inner + kFooterSize)
    return Error(Code::invalid, fmt::format("'{}' is truncated", name))
        .because(fmt::format("it has {} bytes; its file system alone has {}", size, inner));
  return Error(Code::invalid, fmt::format("'{}' is truncated or damaged at its end", name))
      .because(fmt::format("it begins like an image and does not end like one: {}", why));
}

}  // namespace

std::string write_footer(const Layout& layout, std::string_view trailer) {
  const std::string head = head_of(layout);
  return head + crypto::sha256(std::string(trailer) + head);
}

Footer parse_footer(std::string_view bytes, std::int64_t file_size) {
  if (bytes.size() != static_cast<std::size_t>(kFooterSize) || !bytes.starts_with(kMagic))
    throw bad_footer(fmt::format("the last {} bytes do not begin with {}", kFooterSize, kMagic));
  if (const auto version = take(bytes, 8, 4); version != kVersion)
    throw bad_footer(fmt::format("format {}; this program knows format {}", version, kVersion));
  Footer footer;
  auto& layout = footer.layout;
  layout.payload = size_at(bytes, 16, kPayloadLimit, "a file system");
  layout.files = size_at(bytes, 24, kFilesLimit, "a list of files");
  layout.files_raw = size_at(bytes, 32, kFilesLimit, "a list of files");
  layout.manifest = size_at(bytes, 40, kManifestLimit, "a manifest");
  layout.manifest_raw = size_at(bytes, 48, kManifestLimit, "a manifest");
  layout.signatures = size_at(bytes, 56, kSignaturesLimit, "signatures");
  if (layout.payload == 0 || layout.payload % kBlock != 0)
    throw bad_footer(fmt::format("a file system of {} bytes is no multiple of {}", layout.payload, kBlock));
  if (layout.file() != file_size)
    throw bad_footer(fmt::format("its parts make {} bytes, the file has {}", layout.file(), file_size));
  if (head_of(layout) != bytes.substr(0, kHead)) throw bad_footer("a reserved field is not zero");
  footer.digest = std::string(bytes.substr(kHead));
  return footer;
}

std::string signed_message(std::string_view manifest_bytes) {
  return "underway capsule manifest, format 1\n" + std::string(manifest_bytes);
}

std::string digest_of_manifest(std::string_view manifest_bytes) {
  return "sha256:" + hex(crypto::sha256(manifest_bytes));
}

ImageFile ImageFile::open(const std::string& path) {
  // Not to hang on a fifo; a regular file does not care.
  return of(os::open_file(path, O_RDONLY | O_NONBLOCK), path);
}

ImageFile ImageFile::of(os::Fd file, std::string name) {
  ImageFile image(std::move(file), std::move(name));
  image.read_trailer();
  return image;
}

void ImageFile::read_trailer() {
  struct stat st{};
  if (::fstat(file_.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", name_));
  if (!S_ISREG(st.st_mode))
    throw Error(Code::invalid, fmt::format("'{}' is no capsule image", name_)).because("it is no regular file");
  if (st.st_size < kFooterSize) throw no_image(file_, st.st_size, name_, fmt::format("it has {} bytes", st.st_size));
  Footer footer;
  try {
    footer = parse_footer(read_part(file_, st.st_size - kFooterSize, kFooterSize, name_), st.st_size);
  } catch (const Error& error) {
    throw no_image(file_, st.st_size, name_, error.one_line());
  }
  layout_ = footer.layout;
  const std::string trailer = read_part(file_, layout_.payload, layout_.trailer(), name_);
  if (crypto::sha256(trailer + head_of(layout_)) != footer.digest)
    throw Error(Code::invalid, fmt::format("'{}' is damaged", name_))
        .because(fmt::format("the bytes from {} to {}, which hold manifest and signatures, have another digest than "
                             "the footer says",
                             layout_.payload, layout_.file()));
  files_packed_ = trailer.substr(0, static_cast<std::size_t>(layout_.files));
  manifest_bytes_ =
      detail::decompress(std::string_view(trailer).substr(static_cast<std::size_t>(layout_.files),
                                                          static_cast<std::size_t>(layout_.manifest)),
                         static_cast<std::size_t>(layout_.manifest_raw), fmt::format("the manifest of '{}'", name_));
  const auto signatures = std::string_view(trailer).substr(static_cast<std::size_t>(layout_.files + layout_.manifest));
  if (!signatures.empty()) signatures_ = json::decode_text<std::vector<Signature>>(signatures, "signatures");
}

Manifest ImageFile::manifest() const {
  try {
    return json::decode_text<Manifest>(manifest_bytes_, "manifest");
  } catch (Error& error) {
    error.while_doing(fmt::format("reading the manifest of '{}'", name_));
    throw;
  }
}

std::vector<FileEntry> ImageFile::files(const Manifest& manifest) const {
  const std::string what = fmt::format("the list of files of '{}'", name_);
  const std::string text = detail::decompress(files_packed_, static_cast<std::size_t>(layout_.files_raw), what);
  if (const auto digest = hex(crypto::sha256(text)); digest != manifest.files.digest)
    throw Error(Code::invalid, what + " is not the manifest's")
        .because(fmt::format("its digest is {}, and {} is written", digest, manifest.files.digest));
  return parse_file_list(text);
}

}  // namespace underway::image
