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
#include "imagebuild/detail/rpm.hpp"
#include "imagebuild/detail/run.hpp"
#include "oci/layout.hpp"
#include "oci/unpack.hpp"

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
  oci::Allowance allowance{.bytes = options.unpack_limit};
  oci::unpack(os::open_file(source, O_RDONLY), source, oci::Root(tree),
              {.strip = definition.from.strip, .owners = is_root()}, allowance);
}

void unpack_layout(const oci::Layout& layout, const Definition& definition, const oci::Root& tree,
                   oci::Allowance& allowance) {
  const oci::Platform platform{.architecture = oci::go_architecture(definition.architecture), .os = "linux"};
  const oci::Descriptor chosen = layout.find(definition.from.tag, platform);
  const oci::Document manifest = oci::parse_document(layout.read(chosen));
  if (manifest.layers.empty())
    throw Error(Code::invalid, fmt::format("the image '{}' of the layout has no layers", chosen.digest));
  for (const auto& layer : manifest.layers) {
    if (layer.media_type.find("tar") == std::string::npos)
      throw Error(Code::unsupported, fmt::format("the layer '{}' is no archive", layer.digest))
          .because(fmt::format("its media type is '{}'", layer.media_type));
    oci::unpack(layout.open_verified(layer), layer.digest, tree,
                {.whiteouts = oci::Whiteouts::applied, .owners = is_root()}, allowance);
  }
}

void from_oci(const Definition& definition, const BuildOptions& options, const std::string& work,
              const std::string& tree) {
  const std::string source = source_path(definition);
  oci::Allowance allowance{.bytes = options.unpack_limit};
  struct stat st{};
  if (::stat(source.c_str(), &st) != 0) throw errno_error(errno, fmt::format("cannot open '{}'", source));
  if (S_ISDIR(st.st_mode)) return unpack_layout(oci::Layout(source), definition, oci::Root(tree), allowance);
  const std::string unpacked = work + "/layout";
  os::make_directories(unpacked, 0700);
  oci::unpack(os::open_file(source, O_RDONLY), source, oci::Root(unpacked), {.owners = false}, allowance);
  unpack_layout(oci::Layout(unpacked), definition, oci::Root(tree), allowance);
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

void mount_layers(BaseTree& base, const std::string& work, const std::string& lower) {
  const auto add = [&] {
    os::make_directories(work + "/upper/data", 0755);
    os::make_directories(work + "/upper/work", 0700);
    return os::Mount::overlay({lower}, work + "/upper/data", work + "/upper/work", base.path);
  };
  try {
    base.mounts.push_back(add());
  } catch (const Error&) {
    // The work directory lies on an overlay itself, where no upper directory can be: memory has to do.
    base.mounts.push_back(os::Mount::tmpfs(work + "/upper", "mode=700"));
    base.mounts.push_back(add());
  }
}

void from_image(const Definition& definition, const BuildOptions& options, const std::string& work, BaseTree& base) {
  if (!is_root())
    throw Error(Code::denied, "only root can build upon another image")
        .because("it is mounted for that")
        .advise("run it as root");
  const auto file = open_below(definition, options);
  base.below = file.manifest();
  const std::string lower = work + "/lower";
  os::make_directories(lower);
  os::make_directories(work + "/upper");
  base.mounts.push_back(
      os::Mount::make(fmt::format("/proc/self/fd/{}", file.file().get()), lower, "erofs", MS_RDONLY | MS_NODEV));
  mount_layers(base, work, lower);
}

}  // namespace

std::optional<std::int64_t> created_below(const Definition& definition) {
  if (definition.from.base != Base::image) return {};
  return image::ImageFile::open(source_path(definition)).manifest().created / 1'000'000'000;
}

std::unique_ptr<BaseTree> make_base_tree(const Definition& definition, const BuildOptions& options,
                                         const std::string& work, std::int64_t created) {
  auto base = std::make_unique<BaseTree>();
  base->path = work + "/root";
  os::make_directories(base->path, 0755);
  switch (definition.from.base) {
    case Base::debian:
      make_debian(definition, base->path, created);
      break;
    case Base::rpm:
      base->packages = make_rpm(definition, base->path, created);
      break;
    case Base::directory:
      from_directory(definition, base->path, created);
      break;
    case Base::image:
      from_image(definition, options, work, *base);
      break;
    case Base::oci:
      from_oci(definition, options, work, base->path);
      break;
    case Base::tar:
      from_tar(definition, options, base->path);
      break;
  }
  return base;
}

}  // namespace underway::imagebuild
