#include "imagebuild/detail/base.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "image/payload.hpp"
#include "image/verified.hpp"
#include "imagebuild/detail/apt.hpp"
#include "imagebuild/detail/archive.hpp"
#include "imagebuild/detail/rpm.hpp"
#include "imagebuild/detail/run.hpp"
#include "imagebuild/oci.hpp"

namespace underway::imagebuild {
namespace {

bool is_root() { return ::geteuid() == 0; }

std::string source_path(const Definition& definition) {
  return (definition.directory / definition.from.source).lexically_normal().string();
}

void from_directory(const Definition& definition, const std::string& tree, std::int64_t created) {
  const std::string source = source_path(definition);
  // For a name that says what is wrong, before a program is asked.
  static_cast<void>(os::open_directory(source));
  run({"cp", "-a", "--reflink=auto", "--", source + "/.", tree}, fmt::format("copy '{}'", source), "coreutils",
      created);
}

void from_tar(const Definition& definition, const BuildOptions& options, const std::string& tree) {
  const std::string source = source_path(definition);
  Allowance allowance{.bytes = options.unpack_limit};
  unpack(os::open_file(source, O_RDONLY), source, Root(tree), {.strip = definition.from.strip, .owners = is_root()},
         allowance);
}

/// A blob of a layout, open at its start and compared with its digest.
os::Fd open_blob(const Root& layout, const oci::Descriptor& blob) {
  const auto at = layout.find_place(oci::blob_path(blob));
  if (!at) throw Error(Code::not_found, fmt::format("the layout has no blob '{}'", blob.digest));
  os::Fd file(::openat(at->directory(), at->leaf().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) throw errno_error(errno, fmt::format("cannot open the blob '{}'", blob.digest));
  struct stat st{};
  if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != blob.size)
    throw Error(Code::denied, fmt::format("the blob '{}' is not what the layout says", blob.digest))
        .because(fmt::format("it has {} bytes, not {}", st.st_size, blob.size));
  if ("sha256:" + image::file_digest(file, blob.digest) != blob.digest)
    throw Error(Code::denied, fmt::format("the blob '{}' is not what the layout says", blob.digest))
        .because("its bytes have another digest")
        .advise("make the layout again");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) throw errno_error(errno, "cannot read the blob");
  return file;
}

oci::Document read_document(const Root& layout, const oci::Descriptor& blob) {
  constexpr std::size_t kLimit = 16U << 20;
  return oci::parse_document(os::read_all(open_blob(layout, blob), kLimit, blob.digest));
}

void unpack_layout(const Root& layout, const Definition& definition, const Root& tree, Allowance& allowance) {
  const auto text = layout.read("index.json");
  if (!text)
    throw Error(Code::invalid, fmt::format("'{}' is no OCI layout", definition.from.source))
        .because("there is no index.json in it");
  oci::Descriptor chosen = oci::choose(oci::parse_document(*text), definition.from.tag, definition.architecture);
  oci::Document manifest = read_document(layout, chosen);
  // An index within the index, for several architectures.
  if (!manifest.manifests.empty()) {
    chosen = oci::choose(manifest, "", definition.architecture);
    manifest = read_document(layout, chosen);
  }
  if (manifest.layers.empty())
    throw Error(Code::invalid, fmt::format("the image '{}' of the layout has no layers", chosen.digest));
  for (const auto& layer : manifest.layers) {
    if (layer.media_type.find("tar") == std::string::npos)
      throw Error(Code::unsupported, fmt::format("the layer '{}' is no archive", layer.digest))
          .because(fmt::format("its media type is '{}'", layer.media_type));
    unpack(open_blob(layout, layer), layer.digest, tree, {.layer = true, .owners = is_root()}, allowance);
  }
}

void from_oci(const Definition& definition, const BuildOptions& options, const std::string& work,
              const std::string& tree) {
  const std::string source = source_path(definition);
  Allowance allowance{.bytes = options.unpack_limit};
  struct stat st{};
  if (::stat(source.c_str(), &st) != 0) throw errno_error(errno, fmt::format("cannot open '{}'", source));
  if (S_ISDIR(st.st_mode)) return unpack_layout(Root(source), definition, Root(tree), allowance);
  const std::string unpacked = work + "/layout";
  os::make_directories(unpacked, 0700);
  unpack(os::open_file(source, O_RDONLY), source, Root(unpacked), {.owners = false}, allowance);
  unpack_layout(Root(unpacked), definition, Root(tree), allowance);
}

/// The image below, as far as the definition and the options let it be trusted.
image::ImageFile open_below(const Definition& definition, const BuildOptions& options) {
  const std::string source = source_path(definition);
  auto file = image::ImageFile::open(source);
  if (!definition.from.digest.empty()) {
    if (file.digest() != definition.from.digest)
      throw Error(Code::denied, fmt::format("'{}' is not the image to build upon", source))
          .because(fmt::format("its digest is {}, not {}", file.digest(), definition.from.digest));
    image::check_payload(file, file.manifest());
    return file;
  }
  auto trusted = options.trusted;
  if (options.key != nullptr)
    trusted.push_back({.id = options.key->key.verifying().id(),
                       .name = options.key->name,
                       .key = options.key->key.verifying(),
                       .expires = options.key->expires});
  try {
    image::check_signatures(file, trusted, options.now);
  } catch (Error& error) {
    error.advise(fmt::format("trust its signer with -trust DIR, or write which image it must be: digest = \"{}\"",
                             file.digest()));
    throw;
  }
  image::check_payload(file, file.manifest());
  return file;
}

void mount_layers(Ground& ground, const std::string& work, const std::string& lower) {
  const auto add = [&] {
    os::make_directories(work + "/upper/data", 0755);
    os::make_directories(work + "/upper/work", 0700);
    return os::Mount::overlay({lower}, work + "/upper/data", work + "/upper/work", ground.path);
  };
  try {
    ground.mounts.push_back(add());
  } catch (const Error&) {
    // The work directory lies on an overlay itself, where no upper directory can be: memory has to do.
    ground.mounts.push_back(os::Mount::tmpfs(work + "/upper", "mode=700"));
    ground.mounts.push_back(add());
  }
}

void from_image(const Definition& definition, const BuildOptions& options, const std::string& work, Ground& ground) {
  if (!is_root())
    throw Error(Code::denied, "only root can build upon another image")
        .because("it is mounted for that")
        .advise("run it as root");
  const auto file = open_below(definition, options);
  ground.below = file.manifest();
  const std::string lower = work + "/lower";
  os::make_directories(lower);
  os::make_directories(work + "/upper");
  ground.mounts.push_back(
      os::Mount::make(fmt::format("/proc/self/fd/{}", file.file().get()), lower, "erofs", MS_RDONLY | MS_NODEV));
  mount_layers(ground, work, lower);
}

}  // namespace

std::optional<std::int64_t> created_below(const Definition& definition) {
  if (definition.from.base != Base::image) return {};
  return image::ImageFile::open(source_path(definition)).manifest().created / 1'000'000'000;
}

std::unique_ptr<Ground> make_ground(const Definition& definition, const BuildOptions& options, const std::string& work,
                                    std::int64_t created) {
  auto ground = std::make_unique<Ground>();
  ground->path = work + "/root";
  os::make_directories(ground->path, 0755);
  switch (definition.from.base) {
    case Base::debian:
      make_debian(definition, ground->path, created);
      break;
    case Base::rpm:
      ground->packages = make_rpm(definition, ground->path, created);
      break;
    case Base::directory:
      from_directory(definition, ground->path, created);
      break;
    case Base::image:
      from_image(definition, options, work, *ground);
      break;
    case Base::oci:
      from_oci(definition, options, work, ground->path);
      break;
    case Base::tar:
      from_tar(definition, options, ground->path);
      break;
  }
  return ground;
}

}  // namespace underway::imagebuild
