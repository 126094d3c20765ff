#include "run/extension.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/json/enumerators.hpp"
#include "base/json/json.hpp"
#include "image/image_file.hpp"

namespace underway::run {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<CapsuleQuery>) {
  static const Structure s = Builder<CapsuleQuery>("query", "Which capsule is asked about.")
                                 .wire<&CapsuleQuery::allocation>("AllocID", "Its allocation.")
                                 .done();
  return s;
}

const Structure& description(Tag<ChangedFile>) {
  static const Structure s = Builder<ChangedFile>("change", "A file that differs from the image's.")
                                 .wire<&ChangedFile::path>("Path", "As the capsule sees it.")
                                 .wire<&ChangedFile::change>("Change", "added, modified, deleted or replaced.")
                                 .wire<&ChangedFile::type>("Type", "file, directory, link, …")
                                 .wire<&ChangedFile::size>("Size", "Bytes.")
                                 .wire<&ChangedFile::mode>("Mode", "Permission bits.")
                                 .wire<&ChangedFile::uid>("UID", "Owner.")
                                 .wire<&ChangedFile::gid>("GID", "Group.")
                                 .wire<&ChangedFile::modified>("Modified", "When.")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<Changes>) {
  static const Structure s = Builder<Changes>("changes", "What a capsule has changed since its image.")
                                 .wire<&Changes::run>("Run", "The capsule.")
                                 .wire<&Changes::files>("Files", "By path.")
                                 .done();
  return s;
}

const Structure& description(Tag<Services>) {
  static const Structure s = Builder<Services>("services", "A running capsule with its services.")
                                 .wire<&Services::run>("Run", "The capsule.")
                                 .wire<&Services::status>("Status", "As its init has it.")
                                 .done();
  return s;
}

namespace {

/// The image below: from its list of files, so nothing has to be mounted.
overlay::FindBelow below_image(const std::string& path) {
  const auto file = image::ImageFile::open(path);
  auto files = std::make_shared<std::map<std::string, overlay::Below>>();
  for (const auto& entry : file.files(file.manifest())) {
    constexpr mode_t kTypes[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK};
    static_assert(std::size(kTypes) == kEnumerators<image::FileKind>);
    const auto type = kTypes[static_cast<std::size_t>(entry.kind)];
    files->emplace(entry.path, overlay::Below{static_cast<mode_t>(entry.mode) | type, static_cast<uid_t>(entry.uid),
                                              static_cast<gid_t>(entry.gid)});
  }
  return [files](const std::string& name) -> std::optional<overlay::Below> {
    const auto found = files->find(name.starts_with('/') ? name : "/" + name);
    return found == files->end() ? std::nullopt : std::optional(found->second);
  };
}

Run get_run(const std::string& capsules, const std::string& allocation) {
  for (auto& run : list_runs(capsules)) {
    if (run.allocation == allocation) return std::move(run);
  }
  throw Error(Code::not_found, fmt::format("allocation {} runs no capsule here", allocation.substr(0, 8)))
      .because("it has not come so far, or another one has run in its place since");
}

Services services_of(const Run& run) {
  if (!run.running()) {
    throw Error(Code::conflict, fmt::format("capsule '{}' does not run", run.name))
        .because(run.ended != 0 ? fmt::format("it ended at {}", format_time(from_unix_nanos(run.ended)))
                                : std::string("its first process is gone"));
  }
  return {run, Control::connect(run.keeper_dir).status()};
}

}  // namespace

Changes changes_of(const Run& run) {
  Changes out{run, {}};
  for (const auto& change : overlay::changes(run.upper, below_image(run.image_path))) {
    out.files.push_back({change.path, std::string(describe::spell(change.kind)), change.type,
                         static_cast<std::int64_t>(change.size_bytes), static_cast<std::int64_t>(change.mode),
                         static_cast<std::int64_t>(change.uid), static_cast<std::int64_t>(change.gid),
                         change.modified_ns});
  }
  return out;
}

node::awaitable<void> CapsuleExtension::start(node::ExtensionContext context) {
  context_.emplace(std::move(context));
  co_return;
}

node::awaitable<void> CapsuleExtension::stop() { co_return; }

node::awaitable<boost::json::value> CapsuleExtension::answer(std::string method, boost::json::value body) {
  const auto query = json::decode<CapsuleQuery>(body);
  auto work = [&]() -> boost::json::value {
    const auto run = get_run(capsules_, query.allocation);
    if (method == "capsule.changes") return json::to_value(changes_of(run));
    if (method == "capsule.services") return json::to_value(services_of(run));
    throw Error(Code::unsupported, fmt::format("a node does not answer '{}'", method));
  };
  co_return co_await async::on_pool(context_->pool, work);
}

node::awaitable<void> CapsuleExtension::serve(std::string method, boost::json::value, std::shared_ptr<link::Stream>) {
  throw Error(Code::unsupported, fmt::format("a node does not serve '{}'", method));
  co_return;
}

}  // namespace underway::run
