#include "image/pack.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "image/detail/compression.hpp"
#include "image/payload.hpp"
#include "image/verified.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::image {
namespace {

constexpr auto kMkfsLimit = std::chrono::minutes(30);

/// A file beside its destination that is removed unless it is put there.
class Draft {
 public:
  explicit Draft(std::string destination)
      : destination_(std::move(destination)), path_(fmt::format("{}.{}.tmp", destination_, hex(random_bytes(6)))) {}
  Draft(const Draft&) = delete;
  ~Draft() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  void put(const os::Fd& file) {
    if (::fchmod(file.get(), 0644) != 0 || ::fsync(file.get()) != 0)
      throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path_));
    if (::rename(path_.c_str(), destination_.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}'", destination_));
    path_.clear();
    const auto slash = destination_.rfind('/');
    const os::Fd parent = os::open_directory(slash == std::string::npos ? "." : destination_.substr(0, slash + 1));
    if (::fsync(parent.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", destination_));
  }

 private:
  std::string destination_, path_;
};

void make_file_system(const std::string& directory, const Manifest& manifest, const std::string& out, bool all_root) {
  os::SpawnSpec spec;
  spec.argv = {"mkfs.erofs",         "-zlz4", "--quiet", fmt::format("-T{}", manifest.created / 1'000'000'000), "-U",
               manifest.payload.uuid};
  if (all_root) spec.argv.push_back("--all-root");
  spec.argv.push_back(out);
  spec.argv.push_back(directory);
  spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  spec.cwd = std::filesystem::current_path();
  os::Output output;
  try {
    output = os::run_program(std::move(spec), kMkfsLimit);
  } catch (Error& error) {
    if (error.code() == Code::not_found) error.advise("install the package erofs-utils");
    throw;
  }
  if (!output.status.success())
    throw Error(Code::exhausted, fmt::format("cannot make a file system of '{}'", directory))
        .because(fmt::format("mkfs.erofs ended with {}: {}", os::to_string(output.status),
                             trim(output.err.empty() ? output.out : output.err)));
}

std::string largest_files(const std::vector<FileEntry>& files) {
  std::vector<const FileEntry*> order;
  for (const auto& file : files)
    if (file.kind == FileKind::regular) order.push_back(&file);
  constexpr std::size_t kShown = 5;
  const auto shown = std::min(kShown, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [](const auto* a, const auto* b) { return a->size > b->size; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < shown; ++i)
    out.push_back(fmt::format("{} {}", order[i]->path, human_bytes(static_cast<std::uint64_t>(order[i]->size))));
  return join(out, ", ");
}

Signature sign(const std::string& manifest_bytes, const PrivateKeyFile& key) {
  return {.key = key.key.verifying().id(),
          .name = key.name,
          .signature = base64_encode(key.key.sign(signed_message(manifest_bytes)))};
}

std::string signatures_text(const std::vector<Signature>& signatures) {
  return signatures.empty() ? std::string() : json::encode(signatures, json::Encoding::compact);
}

/// Puts the trailer and the footer behind the payload.
void write_trailer(const os::Fd& file, Layout layout, std::string_view files, std::string_view manifest,
                   const std::string& signatures, const std::string& name) {
  layout.files = static_cast<std::int64_t>(files.size());
  layout.manifest = static_cast<std::int64_t>(manifest.size());
  layout.signatures = static_cast<std::int64_t>(signatures.size());
  std::string trailer(files);
  trailer += manifest;
  trailer += signatures;
  const std::string footer = write_footer(layout, trailer);
  trailer += footer;
  if (::lseek(file.get(), layout.payload, SEEK_SET) < 0 || ::ftruncate(file.get(), layout.payload) != 0)
    throw errno_error(errno, fmt::format("cannot write '{}'", name));
  os::write_all(file, trailer, fmt::format("'{}'", name));
}

void copy_payload(const os::Fd& from, const os::Fd& to, std::int64_t size, const std::string& name) {
  loff_t in = 0;
  loff_t out = 0;
  while (in < size) {
    const ssize_t copied = ::copy_file_range(from.get(), &in, to.get(), &out, static_cast<std::size_t>(size - in), 0);
    if (copied < 0) throw errno_error(errno, fmt::format("cannot copy '{}'", name));
    if (copied == 0) throw Error(Code::invalid, fmt::format("'{}' became shorter while it was copied", name));
  }
}

}  // namespace

Packed pack(const std::string& directory, Manifest manifest, const std::string& out, const PackOptions& options) {
  manifest.payload = {};
  manifest.files = {};
  if (const auto wrong = problems(manifest); !wrong.empty())
    throw Error(Code::invalid, "the image's manifest is not valid").because(wrong);
  manifest.payload.uuid = uuid_for(manifest.name, manifest.version);
  auto files = list_files(directory);
  if (options.all_root)
    for (auto& file : files) file.uid = file.gid = 0;

  Draft draft(out);
  make_file_system(directory, manifest, draft.path(), options.all_root);
  const os::Fd file = os::open_file(draft.path(), O_RDWR);
  Layout layout;
  layout.payload = (os::size_of(file, out) + kBlock - 1) / kBlock * kBlock;
  if (::ftruncate(file.get(), layout.payload) != 0) throw errno_error(errno, fmt::format("cannot write '{}'", out));
  manifest.payload.size = layout.payload;
  manifest.payload.chunks = chunk_digests(file, layout.payload, manifest.payload.chunk_size, out);
  manifest.payload.root = root_of(manifest.payload.chunks);

  const std::string list = write_file_list(files);
  manifest.files = {.count = static_cast<std::int64_t>(files.size()),
                    .size = static_cast<std::int64_t>(list.size()),
                    .digest = hex(crypto::sha256(list))};
  const std::string bytes = json::encode(manifest);
  layout.files_raw = static_cast<std::int64_t>(list.size());
  layout.manifest_raw = static_cast<std::int64_t>(bytes.size());
  std::vector<Signature> signatures;
  if (options.key != nullptr) signatures.push_back(sign(bytes, *options.key));
  write_trailer(file, layout, detail::compress(list), detail::compress(bytes), signatures_text(signatures), out);

  const std::int64_t size = os::size_of(file, out);
  if (options.size_limit > 0 && size > options.size_limit)
    throw Error(Code::too_large, fmt::format("the image '{}' is larger than it may be", manifest.reference()))
        .because(fmt::format("it has {}, its size_limit is {}", human_bytes(static_cast<std::uint64_t>(size)),
                             human_bytes(static_cast<std::uint64_t>(options.size_limit))))
        .because("its largest files: " + largest_files(files))
        .advise("remove what it does not need (`remove` in its definition), or raise size_limit");
  draft.put(file);
  return {.digest = digest_of_manifest(bytes), .size = size, .manifest = std::move(manifest)};
}

void sign_image(const std::string& path, const PrivateKeyFile& key) {
  const auto image = ImageFile::open(path);
  check_payload(image, image.manifest());
  auto signatures = image.signatures();
  const Signature made = sign(image.manifest_bytes(), key);
  std::erase_if(signatures, [&](const auto& old) { return old.key == made.key; });
  signatures.push_back(made);
  Draft draft(path);
  const os::Fd file = os::open_file(draft.path(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  copy_payload(image.file(), file, image.layout().payload, path);
  write_trailer(file, image.layout(), image.files_packed(), detail::compress(image.manifest_bytes()),
                signatures_text(signatures), path);
  draft.put(file);
}

}  // namespace underway::image
