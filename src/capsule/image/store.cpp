#include "image/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::image {

const describe::Structure& description(describe::Tag<StoredImage>) {
  static const describe::Structure s = describe::Builder<StoredImage>("stored image", "An image of a store.")
                                           .wire<&StoredImage::digest>("Digest", "Its digest.")
                                           .wire<&StoredImage::name>("Name", "Its name.")
                                           .wire<&StoredImage::version>("Version", "Its version.")
                                           .wire<&StoredImage::architecture>("Architecture", "Its architecture.")
                                           .wire<&StoredImage::description>("Description", "For people.")
                                           .wire<&StoredImage::size>("Size", "Bytes.")
                                           .wire<&StoredImage::created>("Created", "The date of its files.")
                                           .time()
                                           .wire<&StoredImage::added>("Added", "When it came into the store.")
                                           .time()
                                           .wire<&StoredImage::keys>("Keys", "The keys that signed it.")
                                           .done();
  return s;
}

namespace {

constexpr std::string_view kPrefix = "sha256:";

void flush_directory(const std::string& path) {
  const os::Fd directory = os::open_directory(path);
  if (::fsync(directory.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path));
}

/// The part, held against others that add to it.
os::Fd open_part(const std::string& path, int flags) {
  os::Fd part = os::open_file(path, flags | O_NOFOLLOW, 0600);
  if (::flock(part.get(), LOCK_EX) != 0) throw errno_error(errno, fmt::format("cannot lock '{}'", path));
  return part;
}

StoredImage describe_image(const ImageFile& file, std::int64_t added) {
  const Manifest manifest = file.manifest();
  StoredImage out{.digest = file.digest(),
                  .name = manifest.name,
                  .version = manifest.version,
                  .architecture = manifest.architecture,
                  .description = manifest.description,
                  .size = file.layout().file(),
                  .created = manifest.created,
                  .added = added};
  for (const auto& signature : file.signatures()) out.keys.push_back(signature.key);
  return out;
}

bool fits(const StoredImage& image, const Reference& reference) {
  if (!reference.digest.empty()) return image.digest == reference.digest;
  return image.name == reference.name && (reference.version.empty() || image.version == reference.version);
}

}  // namespace

bool is_image_digest(std::string_view text) {
  return text.size() == kPrefix.size() + 64 && text.starts_with(kPrefix) &&
         text.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

Reference parse_reference(const std::string& text) {
  if (text.starts_with(kPrefix)) {
    if (!is_image_digest(text)) throw Error(Code::invalid, fmt::format("'{}' is no digest of an image", text));
    return {.digest = text};
  }
  const auto colon = text.find(':');
  Reference out{.name = text.substr(0, colon), .version = colon == std::string::npos ? "" : text.substr(colon + 1)};
  if (!is_image_name(out.name) || (colon != std::string::npos && !is_image_version(out.version)))
    throw Error(Code::invalid, fmt::format("'{}' names no image", text))
        .because("an image is called sha256:…, name, or name:version");
  return out;
}

Store::Store(std::string directory) : directory_(std::move(directory)) {
  os::make_directories(directory_ + "/sha256", 0755);
  os::make_directories(directory_ + "/incoming", 0700);
}

std::string Store::path_of(const std::string& digest) const {
  if (!is_image_digest(digest)) throw Error(Code::invalid, fmt::format("'{}' is no digest of an image", digest));
  return directory_ + "/sha256/" + digest.substr(kPrefix.size());
}

std::string Store::part_of(const Incoming& incoming) const {
  if (!is_image_digest(incoming.digest) || incoming.size < kFooterSize)
    throw Error(Code::invalid, fmt::format("'{}' of {} bytes is no image", incoming.digest, incoming.size));
  if (incoming.size > kLargest)
    throw Error(Code::too_large,
                fmt::format("an image of {} is too large", human_bytes(static_cast<std::uint64_t>(incoming.size))))
        .because(fmt::format("a store takes images of up to {}", human_bytes(static_cast<std::uint64_t>(kLargest))));
  return fmt::format("{}/incoming/{}-{}", directory_, incoming.digest.substr(kPrefix.size()), incoming.size);
}

bool Store::has(const std::string& digest) const { return os::exists(path_of(digest)); }

std::vector<StoredImage> Store::list() const {
  std::vector<StoredImage> out;
  for (const auto& entry : os::list_directory(directory_ + "/sha256")) {
    try {
      const auto file = ImageFile::open(directory_ + "/sha256/" + entry.name);
      struct stat st{};
      if (::fstat(file.file().get(), &st) != 0) continue;
      // The time of the rename: the last change of the inode.
      out.push_back(describe_image(file, st.st_ctim.tv_sec * 1'000'000'000 + st.st_ctim.tv_nsec));
    } catch (const Error&) {
      // Removed meanwhile, or damaged: who asks for it by its digest is told.
    }
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return std::tie(b.added, a.digest) < std::tie(a.added, b.digest); });
  return out;
}

std::optional<StoredImage> Store::find(const Reference& reference) const {
  if (!reference.digest.empty() && !has(reference.digest)) return {};
  for (auto& image : list())
    if (fits(image, reference)) return std::move(image);
  return {};
}

StoredImage Store::get(const std::string& reference) const {
  if (auto found = find(parse_reference(reference))) return *std::move(found);
  std::vector<std::string> known;
  for (const auto& image : list()) known.push_back(image.name + ":" + image.version);
  throw Error(Code::not_found, fmt::format("there is no image '{}'", reference))
      .because(known.empty() ? "the store is empty" : "there are " + join(known, ", "))
      .advise("put it there: underway capsule push FILE");
}

VerifiedImage Store::open(const std::string& digest, const std::vector<TrustedKey>& keys, TimePoint now) const {
  auto image = open_verified(path_of(digest), keys, now);
  if (image.digest() != digest)
    throw Error(Code::denied, fmt::format("'{}' of the store is another image", digest))
        .because(fmt::format("its digest is {}", image.digest()));
  return image;
}

std::string Store::add(const std::string& path, const std::vector<TrustedKey>& keys, TimePoint now) {
  const auto image = open_verified(path, keys, now);
  const Incoming incoming{.digest = image.digest(), .size = image.size()};
  discard(incoming);
  constexpr std::size_t kPiece = 4U << 20;
  std::string buffer(kPiece, '\0');
  for (std::int64_t offset = 0; offset < incoming.size;) {
    const ssize_t got = ::pread(image.fd(), buffer.data(), buffer.size(), offset);
    if (got <= 0) throw errno_error(got < 0 ? errno : EIO, fmt::format("cannot read '{}'", path));
    offset = append(incoming, offset, std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
  return finish(incoming, keys, now).digest();
}

std::int64_t Store::received(const Incoming& incoming) const {
  struct stat st{};
  if (::stat(part_of(incoming).c_str(), &st) != 0) return 0;
  return st.st_size;
}

std::int64_t Store::append(const Incoming& incoming, std::int64_t offset, std::string_view bytes) {
  const std::string path = part_of(incoming);
  const os::Fd part = open_part(path, O_WRONLY | O_CREAT);
  const std::int64_t have = os::size_of(part, path);
  const auto end = offset + static_cast<std::int64_t>(bytes.size());
  if (offset < 0 || end > incoming.size)
    throw Error(Code::too_large, fmt::format("the image '{}' has {} bytes", incoming.digest, incoming.size))
        .because(fmt::format("bytes {} to {} were sent", offset, end));
  if (offset > have)
    throw Error(Code::conflict, fmt::format("bytes of the image '{}' are missing", incoming.digest))
        .because(fmt::format("{} have arrived, and those from {} on were sent", have, offset));
  if (end <= have) return have;
  bytes.remove_prefix(static_cast<std::size_t>(have - offset));
  if (::lseek(part.get(), have, SEEK_SET) < 0) throw errno_error(errno, fmt::format("cannot write '{}'", path));
  os::write_all(part, bytes, fmt::format("'{}'", path));
  return end;
}

VerifiedImage Store::finish(const Incoming& incoming, const std::vector<TrustedKey>& keys, TimePoint now) {
  const std::string path = part_of(incoming);
  if (received(incoming) != incoming.size)
    throw Error(Code::conflict, fmt::format("the image '{}' has not arrived yet", incoming.digest))
        .because(fmt::format("{} of {} bytes are here", received(incoming), incoming.size));
  const os::Fd part = open_part(path, O_RDWR);
  try {
    auto image = open_verified(path, keys, now);
    if (image.digest() != incoming.digest)
      throw Error(Code::denied, fmt::format("what was sent as '{}' is another image", incoming.digest))
          .because(fmt::format("it is {}, {}", image.manifest().reference(), image.digest()));
    if (::fchmod(part.get(), 0644) != 0 || ::fsync(part.get()) != 0)
      throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path));
    const std::string target = path_of(incoming.digest);
    if (::rename(path.c_str(), target.c_str()) != 0) throw errno_error(errno, fmt::format("cannot make '{}'", target));
    flush_directory(directory_ + "/sha256");
    return image;
  } catch (const Error& error) {
    if (error.code() == Code::denied) discard(incoming);
    throw;
  }
}

void Store::discard(const Incoming& incoming) { os::remove_tree(part_of(incoming)); }

void Store::remove(const std::string& digest) {
  if (::unlink(path_of(digest).c_str()) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove the image '{}'", digest));
}

std::vector<std::string> Store::collect(const std::set<std::string>& referenced, TimePoint parts_before) {
  std::vector<std::string> removed;
  for (const auto& entry : os::list_directory(directory_ + "/sha256")) {
    const std::string digest = std::string(kPrefix) + entry.name;
    if (!is_image_digest(digest) || referenced.contains(digest)) continue;
    remove(digest);
    removed.push_back(digest);
  }
  for (const auto& entry : os::list_directory(directory_ + "/incoming")) {
    const std::string path = directory_ + "/incoming/" + entry.name;
    struct stat st{};
    if (::stat(path.c_str(), &st) == 0 && from_unix_nanos(st.st_mtim.tv_sec * 1'000'000'000) < parts_before)
      os::remove_tree(path);
  }
  return removed;
}

}  // namespace underway::image
