#include "imagebuild/build.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <thread>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "imagebuild/detail/apt.hpp"
#include "imagebuild/detail/base.hpp"
#include "imagebuild/detail/contents.hpp"
#include "os/file.hpp"

namespace underway::imagebuild {
namespace {

constexpr std::int64_t kNoDate = 946'684'800;  // 2000-01-01: some programs dislike 1970

class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& parent)
      : path_(fmt::format("{}/underway-build-{}", parent, hex(random_bytes(6)))) {
    os::make_directories(path_, 0700);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  ~WorkDirectory() {
    try {
      os::remove_tree(path_);
    } catch (const Error&) {
      // It is in a directory for such things; what the build has to say is more than that.
    }
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string debian_architecture() {
  static const std::map<std::string, std::string> kNames = {
      {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv7l", "armhf"}, {"i686", "i386"}, {"ppc64le", "ppc64el"}};
  utsname name{};
  ::uname(&name);
  const auto found = kNames.find(name.machine);
  return found == kNames.end() ? name.machine : found->second;
}

/// "20241101T000000Z"
std::optional<std::int64_t> time_of_snapshot(const std::string& t) {
  if (t.size() != 16) return {};
  const auto time = parse_time(fmt::format("{}-{}-{}T{}:{}:{}Z", t.substr(0, 4), t.substr(4, 2), t.substr(6, 2),
                                           t.substr(9, 2), t.substr(11, 2), t.substr(13, 2)));
  if (!time) return {};
  return unix_nanos(*time) / 1'000'000'000;
}

std::int64_t date_of(const Definition& definition, const BuildOptions& options) {
  if (const auto time = parse_time(definition.created)) return unix_nanos(*time) / 1'000'000'000;
  if (options.source_date_epoch) return *options.source_date_epoch;
  if (const auto time = time_of_snapshot(definition.from.snapshot)) return *time;
  return created_below(definition).value_or(kNoDate);
}

/// Debian's versions may have an epoch, "1:2.3", which says nothing to people and cannot stand in a file's name.
std::string without_epoch(const std::string& version) {
  const auto colon = version.find(':');
  return colon == std::string::npos ? version : version.substr(colon + 1);
}

std::string version_of(const Definition& definition, const std::vector<image::Package>& packages) {
  return expand_version(definition.version, [&](const std::string& name) {
    for (const auto& package : packages)
      if (package.name == name) return without_epoch(package.version);
    throw Error(Code::not_found, fmt::format("the version '{}' cannot be told", definition.version))
        .because(fmt::format("there is no package '{}' in the image", name));
  });
}

std::string source_of(const Definition& definition, const std::optional<image::Manifest>& below) {
  const auto& from = definition.from;
  switch (from.base) {
    case Base::debian:
      return fmt::format("debian {}{}{}", from.source, from.snapshot.empty() ? "" : ", ", from.snapshot);
    case Base::rpm:
      return "rpm " + from.source;
    case Base::image:
      return below ? fmt::format("image {}, {}", below->reference(), below->source) : "image";
    default:
      // The path it lay at is no property of what was built.
      return fmt::format("{} {}", describe::spell(from.base),
                         std::filesystem::path(from.source).lexically_normal().filename().string());
  }
}

/// Those of `below`, replaced and extended by name.
template <class T, class Name>
std::vector<T> join_by(std::vector<T> below, const std::vector<T>& added, Name name) {
  for (const auto& each : added) {
    const auto same =
        std::find_if(below.begin(), below.end(), [&](const T& other) { return name(other) == name(each); });
    if (same == below.end())
      below.push_back(each);
    else
      *same = each;
  }
  return below;
}

image::Manifest manifest_of(const Definition& definition, const std::optional<image::Manifest>& below,
                            std::int64_t created, std::vector<image::Package> packages) {
  image::Manifest out;
  if (below) {
    out.services = below->services;
    out.steps = below->steps;
    out.networks = below->networks;
    out.writable = below->writable;
  }
  out.name = definition.name;
  out.version = version_of(definition, packages);
  out.architecture = definition.architecture;
  out.description = definition.description;
  out.created = created * 1'000'000'000;
  out.source = source_of(definition, below);
  out.packages = std::move(packages);
  out.services = join_by(out.services, definition.services, [](const auto& s) { return s.name; });
  out.networks = join_by(out.networks, definition.networks, [](const auto& n) { return n.name; });
  out.writable = join_by(out.writable, definition.writable, [](const auto& path) { return path; });
  out.steps.insert(out.steps.end(), definition.steps.begin(), definition.steps.end());
  return out;
}

Built build_here(Definition definition, const BuildOptions& options) {
  const auto tell = [&](const std::string& what) {
    if (options.progress) options.progress(what);
  };
  if (definition.architecture.empty()) definition.architecture = debian_architecture();
  const std::int64_t created = date_of(definition, options);
  const WorkDirectory work(options.work);
  tell(fmt::format("base: {} {}", describe::spell(definition.from.base), definition.from.source));
  const auto base = make_base_tree(definition, options, work.path(), created);
  const oci::Root root(base->path);
  const bool has_packages = definition.from.base == Base::debian || definition.from.base == Base::rpm;
  if (!definition.packages.empty() && !has_packages) {
    tell("packages: " + join(definition.packages, " "));
    os::make_directories(work.path() + "/apt");
    add_packages(definition, root, work.path() + "/apt", created);
  }
  tell("contents");
  clean(root, created);
  add_contents(definition, root);
  remove_contents(definition, root);
  auto packages = base->packages.empty() ? installed_packages(root) : std::move(base->packages);
  auto manifest = manifest_of(definition, base->below, created, std::move(packages));
  Built built;
  built.path = options.out.empty() ? fmt::format("{}-{}.capsule", manifest.name, manifest.version) : options.out;
  tell("image: " + built.path);
  built.image = image::pack(
      base->path, std::move(manifest), built.path,
      {.all_root = ::geteuid() != 0, .size_limit = parse_size(definition.size_limit).value_or(0), .key = options.key});
  return built;
}

}  // namespace

Built build(const Definition& definition, const BuildOptions& options) {
  std::optional<Built> built;
  std::exception_ptr failure;
  // Of all threads, only this one gets a mount namespace of its own, and it ends with the build.
  std::jthread([&] {
    try {
      if (::geteuid() == 0 &&
          (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0))
        throw errno_error(errno, "cannot make a mount namespace for the build");
      built = build_here(definition, options);
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  return *std::move(built);
}

}  // namespace underway::imagebuild
