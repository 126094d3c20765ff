#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

#include "archive/detail/rpm_parts.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::archive::detail {
namespace {

// Of rpm's include/rpm/rpmtag.h.
constexpr std::uint32_t kName = 1000, kVersion = 1001, kRelease = 1002, kEpoch = 1003, kSummary = 1004,
                        kDescription = 1005, kBuildTime = 1006, kBuildHost = 1007, kSize = 1009, kVendor = 1011,
                        kLicense = 1014, kPackager = 1015, kGroup = 1016, kUrl = 1020, kArch = 1022, kFileSizes = 1028,
                        kFileModes = 1030, kFileLinks = 1036, kFileFlags = 1037, kFileUsers = 1039, kFileGroups = 1040,
                        kSourceRpm = 1044, kArchiveSize = 1046, kChangeTime = 1080, kChangeName = 1081,
                        kChangeText = 1082, kDirectoryIndexes = 1116, kBaseNames = 1117, kDirectoryNames = 1118,
                        kLongFileSizes = 5008, kLongSize = 5009;

struct RelationTags {
  rpmmd::Relation relation;
  std::uint32_t name, flags, version;
};
constexpr std::array<RelationTags, rpmmd::kRelations> kRelationTags = {{
    {rpmmd::Relation::provides, 1047, 1112, 1113},
    {rpmmd::Relation::requirements, 1049, 1048, 1050},
    {rpmmd::Relation::conflicts, 1054, 1053, 1055},
    {rpmmd::Relation::obsoletes, 1090, 1114, 1115},
    {rpmmd::Relation::recommends, 5046, 5048, 5047},
    {rpmmd::Relation::suggests, 5049, 5051, 5050},
    {rpmmd::Relation::supplements, 5052, 5054, 5053},
    {rpmmd::Relation::enhances, 5055, 5057, 5056},
}};

// Of rpm's include/rpm/rpmds.h and rpmfiles.h.
constexpr std::uint64_t kLess = 2, kGreater = 4, kEqual = 8, kPre = 64 | 512 | 1024, kGhost = 64;

/// A name of a directory may stand before a million names: what they make together is limited, and not each alone.
constexpr std::uint64_t kMostPathBytes = 256U << 20;

/// A header without the tag at all has nothing to tell; one with too few values does not fit together.
void check_count(std::size_t found, std::size_t wanted, std::string_view what) {
  if (found != wanted) throw bad_header(fmt::format("it has {} {} for {}", found, what, wanted));
}

std::string flags_of(std::uint64_t sense) {
  switch (sense & (kLess | kGreater | kEqual)) {
    case kLess:
      return "LT";
    case kGreater:
      return "GT";
    case kEqual:
      return "EQ";
    case kLess | kEqual:
      return "LE";
    case kGreater | kEqual:
      return "GE";
    default:
      return "";
  }
}

/// "2:1.0-3"
void set_version(rpmmd::Entry& entry, std::string_view text) {
  if (text.empty()) return;
  entry.epoch = "0";
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    if (parse_number<std::uint32_t>(text.substr(0, colon))) entry.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const auto dash = text.find('-');
  entry.version = text.substr(0, dash);
  if (dash != std::string_view::npos) entry.release = text.substr(dash + 1);
}

std::vector<rpmmd::Entry> entries_of(const RpmHeader& header, const RelationTags& tags) {
  const auto names = header.texts(tags.name);
  const auto flags = header.numbers(tags.flags);
  const auto versions = header.texts(tags.version);
  check_count(flags.size(), names.size(), "flags of relations");
  check_count(versions.size(), names.size(), "versions of relations");
  std::vector<rpmmd::Entry> out;
  out.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.push_back(
        {.name = std::string(names[i]), .flags = flags_of(flags[i]), .epoch = {}, .version = {}, .release = {}});
    set_version(out.back(), versions[i]);
    out.back().pre = tags.relation == rpmmd::Relation::requirements && (flags[i] & kPre) != 0;
  }
  return out;
}

/// 2, 14 of "libc.so.6(GLIBC_2.14)(64bit)".
std::vector<std::uint64_t> libc_version(std::string_view name) {
  constexpr std::string_view kMark = "(GLIBC_";
  std::vector<std::uint64_t> out;
  const auto at = name.find(kMark);
  if (at == std::string_view::npos) return out;
  name.remove_prefix(at + kMark.size());
  for (const auto& part : split(name.substr(0, name.find(')')), '.'))
    if (const auto number = parse_number<std::uint64_t>(part)) out.push_back(*number);
  return out;
}

/// What metadata leave out of the requirements: those of rpm's own features, those that the package meets itself,
/// repeated ones, and of the versions of the C library all but the highest, which stands last.
void reduce_requirements(rpmmd::Relations& relations, const std::vector<rpmmd::FileName>& files) {
  const auto key = [](const rpmmd::Entry& e) {
    return std::tuple(e.name, e.flags, e.epoch, e.version, e.release, e.pre);
  };
  const auto same = [](const rpmmd::Entry& e) { return std::tuple(e.name, e.flags, e.epoch, e.version, e.release); };
  std::set<decltype(same(rpmmd::Entry()))> provided;
  for (const auto& entry : relations.of(rpmmd::Relation::provides)) provided.insert(same(entry));
  std::set<std::string_view> own;
  for (const auto& file : files)
    if (rpmmd::is_primary(file.path)) own.insert(file.path);
  std::set<decltype(key(rpmmd::Entry()))> seen;
  std::vector<rpmmd::Entry> kept;
  std::optional<rpmmd::Entry> libc;
  for (auto& entry : relations.entries[static_cast<std::size_t>(rpmmd::Relation::requirements)]) {
    if (entry.name.starts_with("rpmlib(") || own.contains(entry.name) || provided.contains(same(entry))) continue;
    if (!seen.insert(key(entry)).second) continue;
    if (!entry.name.starts_with("libc.so.6"))
      kept.push_back(std::move(entry));
    else if (!libc || libc_version(libc->name) < libc_version(entry.name))
      libc = std::move(entry);
  }
  if (libc) kept.push_back(std::move(*libc));
  relations.entries[static_cast<std::size_t>(rpmmd::Relation::requirements)] = std::move(kept);
}

std::vector<rpmmd::Change> changes_of(const RpmHeader& header) {
  const auto times = header.numbers(kChangeTime);
  const auto names = header.texts(kChangeName);
  const auto texts = header.texts(kChangeText);
  check_count(names.size(), times.size(), "authors of changes");
  check_count(texts.size(), times.size(), "texts of changes");
  std::vector<rpmmd::Change> out;
  for (std::size_t i = 0; i < times.size(); ++i)
    out.push_back({.author = std::string(names[i].substr(0, names[i].find_last_not_of(' ') + 1)),
                   .date = static_cast<std::int64_t>(times[i]),
                   .text = std::string(texts[i])});
  return out;
}

bool is_source(const RpmHeader& header) { return !header.has(kSourceRpm); }

/// Those of a source package are unpacked where whoever builds it wants them: names alone.
void check_path(std::string_view path, bool source, const std::string& name) {
  if (source && path.find('/') != std::string_view::npos)
    throw Error(Code::denied, fmt::format("'{}' holds '{}'", name, path.substr(0, 256)))
        .because("a path in a source package");
  check_absolute(source ? fmt::format("/{}", path) : path, name);
}

/// Directory and name of each file.
std::vector<std::string> paths_of(const RpmHeader& header, const std::string& name) {
  const auto names = header.texts(kBaseNames);
  const auto directories = header.texts(kDirectoryNames);
  const auto indexes = header.numbers(kDirectoryIndexes);
  check_count(indexes.size(), names.size(), "directories of files");
  const bool source = is_source(header);
  std::vector<std::string> out;
  out.reserve(names.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (indexes[i] >= directories.size())
      throw bad_header(fmt::format("the file '{}' is in no directory", names[i].substr(0, 256)));
    out.push_back(fmt::format("{}{}", directories[static_cast<std::size_t>(indexes[i])], names[i]));
    check_path(out.back(), source, name);
    bytes += out.back().size();
    if (bytes > kMostPathBytes)
      throw Error(Code::too_large, "a header of rpm is larger than is allowed")
          .because(fmt::format("the names of its files have more than {}", human_bytes(kMostPathBytes)));
  }
  return out;
}

FileKind kind_of(std::uint64_t mode, bool ghost, std::string_view path, const std::string& name) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return FileKind::directory;
    case S_IFLNK:
      return FileKind::symlink;
    case S_IFREG:
      return FileKind::regular;
    default:
      // Something that a daemon makes, which rpm takes away when the package goes.
      if (ghost) return FileKind::regular;
      throw Error(Code::denied, fmt::format("'{}' holds '{}'", name, path))
          .because("neither a file nor a directory nor a link");
  }
}

std::vector<rpmmd::FileName> names_of(const std::vector<File>& files) {
  std::vector<rpmmd::FileName> out;
  out.reserve(files.size());
  for (const File& file : files)
    out.push_back({.path = file.path,
                   .kind = file.kind == FileKind::directory ? rpmmd::FileName::Kind::directory
                           : file.ghost                     ? rpmmd::FileName::Kind::ghost
                                                            : rpmmd::FileName::Kind::file});
  return out;
}

std::string text_at(const std::vector<std::string_view>& all, std::size_t i) {
  return i < all.size() ? std::string(all[i]) : std::string();
}

}  // namespace

std::vector<File> files_of(const RpmHeader& header, const std::string& name) {
  auto paths = paths_of(header, name);
  const auto modes = header.numbers(kFileModes), flags = header.numbers(kFileFlags);
  const auto sizes = header.numbers(header.has(kLongFileSizes) ? kLongFileSizes : kFileSizes);
  const auto links = header.texts(kFileLinks), users = header.texts(kFileUsers), groups = header.texts(kFileGroups);
  check_count(modes.size(), paths.size(), "modes of files");
  check_count(flags.size(), paths.size(), "flags of files");
  check_count(sizes.size(), paths.size(), "sizes of files");
  std::vector<File> out;
  out.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    File file;
    file.ghost = (flags[i] & kGhost) != 0;
    file.kind = kind_of(modes[i], file.ghost, paths[i], name);
    file.mode = static_cast<std::uint32_t>(modes[i] & 07777U);
    file.owner = text_at(users, i);
    file.group = text_at(groups, i);
    if (file.kind == FileKind::regular) file.size = sizes[i];
    if (file.kind == FileKind::symlink) file.target = text_at(links, i);
    file.path = std::move(paths[i]);
    out.push_back(std::move(file));
  }
  return out;
}

std::vector<std::string> scripts_of(const RpmHeader& header) {
  struct Script {
    std::uint32_t text, program;
    std::string_view name;
  };
  static constexpr std::array<Script, 8> kScripts = {{{1023, 1085, "pre"},
                                                      {1024, 1086, "post"},
                                                      {1025, 1087, "preun"},
                                                      {1026, 1088, "postun"},
                                                      {1151, 1153, "pretrans"},
                                                      {1152, 1154, "posttrans"},
                                                      {1065, 1092, "trigger"},
                                                      {1079, 1091, "verify"}}};
  std::vector<std::string> out;
  for (const Script& script : kScripts)
    if (header.has(script.text) || header.has(script.program)) out.emplace_back(script.name);
  return out;
}

rpmmd::Description describe(const RpmHeader& header, const RpmHeader& signatures, const std::vector<File>& files) {
  const auto text = [&](std::uint32_t tag) { return std::string(header.text(tag)); };
  rpmmd::Description out;
  const bool source = is_source(header);
  out.nevra = {.name = text(kName),
               .epoch = fmt::format("{}", header.number_or(kEpoch, 0)),
               .version = text(kVersion),
               .release = text(kRelease),
               .arch = source ? "src" : text(kArch)};
  rpmmd::check_word(out.nevra.name, "the package name");
  rpmmd::check_word(out.nevra.version, "the version");
  rpmmd::check_word(out.nevra.release, "the release");
  rpmmd::check_word(out.nevra.arch, "the architecture");
  out.summary = text(kSummary);
  out.description = text(kDescription);
  out.packager = text(kPackager);
  out.url = text(kUrl);
  out.license = text(kLicense);
  out.vendor = text(kVendor);
  out.group = text(kGroup);
  out.build_host = text(kBuildHost);
  out.source_rpm = text(kSourceRpm);
  out.build_time = static_cast<std::int64_t>(header.number_or(kBuildTime, 0));
  out.installed_size = header.number_or(kLongSize, header.number_or(kSize, 0));
  out.archive_size =
      signatures.number_or(kLongPayloadSize, signatures.number_or(kPayloadSize, header.number_or(kArchiveSize, 0)));
  for (const RelationTags& tags : kRelationTags)
    out.relations.entries[static_cast<std::size_t>(tags.relation)] = entries_of(header, tags);
  out.files = names_of(files);
  reduce_requirements(out.relations, out.files);
  out.changes = changes_of(header);
  return out;
}

}  // namespace underway::archive::detail
