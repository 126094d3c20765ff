#include "archive/deb.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_set>

#include "archive/detail/tar.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::archive {
namespace {

using detail::Range;

constexpr std::string_view kMagic = "!<arch>\n";
constexpr std::size_t kMemberHeader = 60;
/// dpkg knows three, and those that begin with '_', of which there is none.
constexpr std::size_t kMostMembers = 16;

Error no_deb(const std::string& name, std::string why) {
  return Error(Code::invalid, fmt::format("'{}' is no Debian package", name)).because(std::move(why));
}

std::string read_at(const os::Fd& file, Range range, const std::string& name) {
  std::string out(range.size, '\0');
  std::size_t at = 0;
  while (at < out.size()) {
    const ssize_t got = ::pread(file.get(), out.data() + at, out.size() - at, static_cast<off_t>(range.begin + at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", name));
    if (got == 0) throw no_deb(name, "it ends too early");
    at += static_cast<std::size_t>(got);
  }
  return out;
}

struct Member {
  std::string name;
  Range range;
};

/// The members of an ar archive (deb(5): common format, names of at most 16 bytes).
std::vector<Member> members_of(const os::Fd& file, const std::string& name) {
  const auto size = static_cast<std::uint64_t>(os::size_of(file, name));
  if (size < kMagic.size() || read_at(file, {0, kMagic.size()}, name) != kMagic)
    throw no_deb(name, "it is no archive of ar");
  std::vector<Member> out;
  for (std::uint64_t at = kMagic.size(); at < size;) {
    const std::string header = read_at(file, {at, kMemberHeader}, name);
    const auto length = parse_number<std::uint64_t>(trim(std::string_view(header).substr(48, 10)));
    if (!header.ends_with("`\n") || !length) throw no_deb(name, fmt::format("at byte {} no member of it begins", at));
    at += kMemberHeader;
    if (*length > size - at) throw no_deb(name, "it ends too early");
    auto word = trim(std::string_view(header).substr(0, 16));
    if (word.ends_with('/')) word.remove_suffix(1);
    out.push_back({std::string(word), {at, *length}});
    if (out.size() > kMostMembers) throw no_deb(name, fmt::format("it has more than {} members", kMostMembers));
    at += *length + *length % 2;
  }
  return out;
}

/// The suffix behind "control.tar", if it is one that dpkg reads there.
std::optional<std::string_view> suffix_of(std::string_view member, std::string_view stem, bool old_ones) {
  if (!member.starts_with(stem)) return std::nullopt;
  const auto suffix = member.substr(stem.size());
  const bool known = suffix.empty() || suffix == ".gz" || suffix == ".xz" || suffix == ".zst" ||
                     (old_ones && (suffix == ".bz2" || suffix == ".lzma"));
  return known ? std::optional(suffix) : std::nullopt;
}

void check_version(const os::Fd& file, const Member& member, const std::string& name) {
  constexpr std::uint64_t kMost = 64;
  if (member.name != "debian-binary" || member.range.size > kMost)
    throw no_deb(name, "its first member is not 'debian-binary'");
  const std::string text = read_at(file, member.range, name);
  const auto line = std::string_view(text).substr(0, text.find('\n'));
  if (!text.ends_with('\n') || line.find('.') == std::string_view::npos) throw no_deb(name, "its version is none");
  if (!line.starts_with("2."))
    throw Error(Code::unsupported, fmt::format("'{}' is a Debian package of another format", name))
        .because("its version is not 2 but another");
}

std::vector<Conffile> parse_conffiles(const std::string& text, const std::string& name) {
  constexpr std::string_view kRemove = "remove-on-upgrade ";
  std::vector<Conffile> out;
  for (const auto& line : split(text, '\n')) {
    auto path = trim(line);
    if (path.empty()) continue;
    const bool remove = path.starts_with(kRemove);
    if (remove) path = trim(path.substr(kRemove.size()));
    check_absolute(path, name);
    out.push_back({std::string(path), remove});
  }
  return out;
}

class Reading {
 public:
  Reading(const os::Fd& file, const std::string& name, const DebLimits& limits)
      : file_(file), name_(name), limits_(limits) {}

  void read_control(Range range, std::string_view suffix) {
    constexpr std::uint64_t kMostFiles = 1000;
    detail::each_entry(file_, range, suffix, name_, {kMostFiles, limits_.control_bytes},
                       [&](const detail::TarEntry& entry) {
                         const File& file = entry.file();
                         if (file.kind == FileKind::directory && file.path == "/") return;
                         if (file.kind != FileKind::regular || file.path.find('/', 1) != std::string::npos)
                           throw Error(Code::denied, fmt::format("'{}' holds '{}'", name_, file.path))
                               .because("in control.tar there are plain files");
                         take_control(file.path.substr(1), entry);
                       });
    if (deb_.control.empty()) throw no_deb(name_, "it has no 'control'");
  }

  void read_data(Range range, std::string_view suffix) {
    detail::each_entry(file_, range, suffix, name_, {limits_.files, limits_.data_bytes},
                       [&](const detail::TarEntry& entry) { take_file(std::move(entry.file())); });
  }

  Deb take() && {
    std::sort(deb_.scripts.begin(), deb_.scripts.end());
    return std::move(deb_);
  }

 private:
  /// dpkg unpacks in this order, and as root: an entry must not make it write, or link, elsewhere.
  void take_file(File&& file) {
    check_behind_no_link(file.path);
    if (file.kind == FileKind::symlink) links_.insert(file.path);
    if (file.kind == FileKind::regular) regular_.insert(file.path);
    if (file.kind == FileKind::hardlink && !regular_.contains(file.target))
      throw Error(Code::denied, fmt::format("'{}' holds '{}'", name_, file.path))
          .because(fmt::format("it is a hard link to '{}', which is no file before it in the package", file.target));
    deb_.files.push_back(std::move(file));
  }

  void check_behind_no_link(const std::string& path) const {
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const auto parent = path.substr(0, slash);
      if (links_.contains(parent))
        throw Error(Code::denied, fmt::format("'{}' holds '{}'", name_, path))
            .because(fmt::format("'{}' of the same package is a link: the file would lie elsewhere", parent));
    }
  }

  void take_control(const std::string& member, const detail::TarEntry& entry) {
    static const std::unordered_set<std::string> kScripts = {"preinst", "postinst", "prerm", "postrm", "config"};
    if (kScripts.contains(member)) deb_.scripts.push_back(member);
    if (member == "conffiles") deb_.conffiles = parse_conffiles(entry.read(), name_);
    if (member != "control") return;
    if (!deb_.control.empty()) throw no_deb(name_, "it has 'control' twice");
    deb_.control = entry.read();
    if (deb_.control.find('\0') != std::string::npos) throw no_deb(name_, "its 'control' is no text");
  }

  const os::Fd& file_;
  const std::string& name_;
  const DebLimits& limits_;
  Deb deb_;
  std::unordered_set<std::string> links_, regular_;
};

}  // namespace

Deb read_deb(const os::Fd& file, const std::string& name, const DebLimits& limits) {
  auto members = members_of(file, name);
  if (members.empty()) throw no_deb(name, "it is empty");
  check_version(file, members.front(), name);
  // dpkg skips them, for what a later minor version of the format adds.
  std::erase_if(members, [](const Member& member) { return member.name.starts_with('_'); });
  if (members.size() < 3) throw no_deb(name, "it has no 'control.tar' and 'data.tar'");
  const auto control = suffix_of(members[1].name, "control.tar", false);
  if (!control) throw no_deb(name, "its second member is not 'control.tar', packed by gzip, xz, zstd or not at all");
  const auto data = suffix_of(members[2].name, "data.tar", true);
  if (!data) throw no_deb(name, "its third member is not 'data.tar' in a compression that dpkg knows");
  // Whatever stands behind is read by nobody; what nobody reads could hide something from us only.
  if (members.size() > 3)
    throw no_deb(name, fmt::format("it has a member '{}' behind its data", members[3].name.substr(0, 16)));
  Reading reading(file, name, limits);
  reading.read_control(members[1].range, *control);
  reading.read_data(members[2].range, *data);
  return std::move(reading).take();
}

}  // namespace underway::archive
