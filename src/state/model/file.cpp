#include "model/file.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

/// Octal, at most 07777; nothing when it is no mode.
std::optional<std::int64_t> parse_mode(std::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  std::int64_t mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    mode = mode * 8 + (c - '0');
  }
  return mode <= 07777 ? std::optional(mode) : std::nullopt;
}

/// As in passwd(5): what useradd(8) takes, or a number.
bool is_user(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '$';
  };
  return !name.empty() && name.size() <= 32 && name.front() != '-' && std::ranges::all_of(name, fits);
}

/// Its bytes are another node's.
void check_from(const FileDeclaration& file, bool may, std::vector<std::string>& out) {
  if (!may) out.push_back(fmt::format("a file of type {} is `from` nowhere", describe::spell(file.type)));
  if (file.content || file.sent)
    out.push_back(fmt::format("its bytes are those of node '{}': change it there", file.from));
  if (may && !file.source.starts_with('/'))
    out.push_back(fmt::format("`source`: the path on node '{}' is not absolute", file.from));
}

void check_size(const FileDeclaration& file, std::vector<std::string>& out) {
  const auto given = file.content ? static_cast<std::int64_t>(file.content->size()) : file.size;
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(0, file.sent ? file.sent->size : given));
  const bool rendered = file.templating != FileTemplate::none || file.type == FileType::part;
  if (rendered && size > kPieceBytes)
    out.push_back(fmt::format("its content is {}, and a template or a part of one has {} at most", human_bytes(size),
                              human_bytes(kPieceBytes)));
  if (size > kFileBytes)
    out.push_back(
        fmt::format("its content is {}, and {} at most are synchronised: put it into the image or on a "
                    "shared file system, and synchronise what names it",
                    human_bytes(size), human_bytes(kFileBytes)));
}

void check_sent(const SentBytes& sent, std::vector<std::string>& out) {
  const bool is_digest =
      sent.digest.size() == 64 && sent.digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_digest) out.emplace_back("the digest of the bytes that were sent is none");
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(0, sent.size));
  const std::size_t pieces = sent.pieces.size();
  if (size == 0 || (pieces != 0 && (size > kFileBytes || pieces != (size + kPieceBytes - 1) / kPieceBytes)))
    out.push_back(fmt::format("{} bytes are not sent in {} pieces", sent.size, pieces));
}

void check_content(const FileDeclaration& file, std::vector<std::string>& out) {
  const bool has_bytes = file.content || file.sent || !file.content_id.empty();
  const bool may = file.type == FileType::file || file.type == FileType::part;
  if (may && !has_bytes && file.from.empty()) out.emplace_back("it has neither `source` nor `content`");
  if (!file.from.empty()) check_from(file, may, out);
  if (!may && has_bytes) out.push_back(fmt::format("a file of type {} has no content", describe::spell(file.type)));
  if (file.content && file.sent) out.emplace_back("it has bytes of its own and bytes that went ahead");
  if (file.sent) check_sent(*file.sent, out);
  check_size(file, out);
  if (file.type == FileType::symlink && file.link.empty()) out.emplace_back("a symbolic link needs `link`");
  if (file.type != FileType::symlink && !file.link.empty()) out.emplace_back("`link` is of type = \"symlink\" only");
  if (!may && file.templating != FileTemplate::none) out.emplace_back("only a file can be a template");
  if (!may && file.secret) out.emplace_back("only a file can be secret");
}

void check_hook(std::string_view name, const std::optional<FileHook>& hook, std::vector<std::string>& out) {
  if (!hook) return;
  if (hook->command.empty() || hook->command.front().empty()) out.push_back(fmt::format("{}: it has no command", name));
  if (hook->timeout <= Duration{0} || hook->timeout > std::chrono::hours(1))
    out.push_back(fmt::format("{}: timeout {} is not between 0 and 1h", name, format_duration(hook->timeout)));
}

constexpr std::size_t kMostXattrBytes = 65536;  // XATTR_SIZE_MAX of linux/limits.h

void check_xattrs(const FileDeclaration& file, std::vector<std::string>& out) {
  for (const auto& [name, value] : file.xattrs) {
    if (name.find('.') == std::string::npos || name.size() > 255)
      out.push_back(fmt::format("xattr '{}': the name has a namespace before a dot, as 'user.origin'", name));
    if (name.starts_with("trusted.overlay."))
      out.push_back(fmt::format("xattr '{}' belongs to the kernel's overlay file system", name));
    if (value.size() > kMostXattrBytes)
      out.push_back(fmt::format("xattr '{}': {} bytes are more than {}", name, value.size(), kMostXattrBytes));
  }
}

}  // namespace

std::string file_path_problem(std::string_view path) {
  if (path.size() < 2 || path.front() != '/') return "the path is not absolute";
  if (path.size() > 4000) return "the path has more than 4000 characters";
  if (path.find('\0') != std::string_view::npos || path.find('\n') != std::string_view::npos || !is_utf8(path))
    return "the path is not plain text";
  for (const auto& part : split(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") return "the path has an empty part, '.' or '..'";
    if (part.size() > 240) return "a part of the path has more than 240 characters";
  }
  constexpr std::array<std::string_view, 3> kNoFiles = {"/proc/", "/sys/", "/dev/"};
  for (const auto place : kNoFiles) {
    if (path.starts_with(place)) return fmt::format("below {} are no files that could be synchronised", place);
  }
  return {};
}

std::int64_t file_mode(const FileDeclaration& file) {
  if (const auto mode = parse_mode(file.mode)) return *mode;
  if (file.type == FileType::directory) return 0755;
  return file.secret ? 0600 : 0644;
}

std::vector<std::string> problems(const FileDeclaration& file) {
  std::vector<std::string> found;
  if (file.name.empty() || file.name.size() > 4000 || file.name.find('\0') != std::string::npos)
    found.emplace_back("its name is empty or too long");
  if (file.type != FileType::part) {
    if (auto wrong = file_path_problem(file.where()); !wrong.empty()) found.push_back(std::move(wrong));
  }
  check_content(file, found);
  if (!file.mode.empty() && !parse_mode(file.mode))
    found.push_back(fmt::format("mode '{}' is no octal mode, as 0644", file.mode));
  if (file.secret && (file_mode(file) & 07) != 0)
    found.push_back(fmt::format("mode {} lets everybody on the node at a secret", file.mode));
  if (!is_user(file.owner)) found.push_back(fmt::format("owner '{}' is no user's name", file.owner));
  if (!is_user(file.group)) found.push_back(fmt::format("group '{}' is no group's name", file.group));
  check_xattrs(file, found);
  check_hook("before", file.before, found);
  check_hook("after", file.after, found);
  for (const auto& reload : file.reloads) {
    if (reload.job.empty()) found.emplace_back("reload: it names no job");
    if (reload.signal.empty()) found.emplace_back("reload: it names no signal");
  }
  std::vector<std::string> out;
  for (auto& problem : found) out.push_back(fmt::format("file '{}': {}", file.name, problem));
  return out;
}

std::vector<std::string> problems(const std::vector<FileDeclaration>& files) {
  std::vector<std::string> out;
  std::set<std::string> names;
  for (const auto& file : files) {
    if (!names.insert(file.name).second) out.push_back(fmt::format("file '{}' is declared twice", file.name));
  }
  return out;
}

bool same_declaration(const FileDeclaration& a, const FileDeclaration& b) {
  FileDeclaration left = a, right = b;
  for (auto* file : {&left, &right}) {
    file->content.reset();
    file->sent.reset();
    file->modify_time = 0;
    file->create_index = file->modify_index = 0;
  }
  return describe::equal(left, right);
}

std::string file_key(std::string_view cluster, std::string_view name) { return fmt::format("{}/{}", cluster, name); }
std::string report_key(std::string_view node_id, std::string_view capsule) {
  return fmt::format("{}/{}", node_id, capsule);
}

const Enumeration& description(Tag<FileType>) {
  static const Enumeration e = describe::enumeration<FileType>("file type");
  return e;
}

const Enumeration& description(Tag<DriftPolicy>) {
  static const Enumeration e = describe::enumeration<DriftPolicy>("drift policy");
  return e;
}

const Enumeration& description(Tag<RemovedPolicy>) {
  static const Enumeration e = describe::enumeration<RemovedPolicy>("removed policy");
  return e;
}

const Enumeration& description(Tag<FileTemplate>) {
  static const Enumeration e = describe::enumeration<FileTemplate>("file template");
  return e;
}

const Enumeration& description(Tag<FileState>) {
  static const Enumeration e = describe::enumeration<FileState>("file state");
  return e;
}

const Structure& description(Tag<FileTargets>) {
  static const Structure s =
      Builder<FileTargets>("targets",
                           "Who gets the file: whoever any of these names; without the block every node of "
                           "the cluster. `*` stands for any run of characters.")
          .attribute<&FileTargets::pools>("pools", "Pools", "Pools of nodes.")
          .attribute<&FileTargets::nodes>("nodes", "Nodes", "Names of nodes.")
          .attribute<&FileTargets::classes>("classes", "Classes", "Node classes.")
          .attribute<&FileTargets::capsules>("capsules", "Capsules", "Capsules, wherever they run.")
          .done();
  return s;
}

const Structure& description(Tag<FileHook>) {
  static const Structure s =
      Builder<FileHook>("hook", "A command that runs as root where the file is.")
          .attribute<&FileHook::command>("command", "Command", "Program and arguments; no shell.")
          .required()
          .attribute<&FileHook::timeout>("timeout", "Timeout", "After which it is killed and has failed.")
          .done();
  return s;
}

const Structure& description(Tag<FileReload>) {
  static const Structure s =
      Builder<FileReload>("reload", "A task on the node that gets a signal once the file was replaced.")
          .attribute<&FileReload::job>("job", "Job", "Its job.")
          .required()
          .attribute<&FileReload::task>("task", "Task", "The task; all of the job's when not given.")
          .attribute<&FileReload::signal>("signal", "Signal", "The signal.")
          .done();
  return s;
}

const Structure& description(Tag<FileDeclaration>) {
  static const Structure s =
      Builder<FileDeclaration>("file",
                               "A file that is the same wherever it is wanted. A block beside `cluster`, in "
                               "`cluster.hcl` or in any `*.files.hcl`.")
          .label<&FileDeclaration::name>("name", "Name", "Its path on the nodes; or a name of its own, beside `path`.")
          .wire<&FileDeclaration::cluster>("Cluster", "The cluster whose nodes get it; empty: nodes that are in none.")
          .attribute<&FileDeclaration::path>("path", "Path", "Where it is put, when the label does not say it.")
          .attribute<&FileDeclaration::type>(
              "type", "Type",
              "`file`, `symlink`, `directory`, `absent` (removed where it is) or `part` (only "
              "for templates to include).")
          .attribute<&FileDeclaration::source>(
              "source", "Source",
              "File with its bytes, beside the cluster's directory or absolute. Of type `directory`: a "
              "directory with all that lies in it; what is taken out of it goes everywhere.")
          .attribute<&FileDeclaration::from>(
              "from", "From",
              "Node on whose disk `source` lies (the path itself, when not given): a change of "
              "it there is taken over; while the node is off, changes wait.")
          .attribute<&FileDeclaration::content>("content", "", "Its bytes, in place of `source`.")
          .attribute<&FileDeclaration::link>("link", "Link", "What a symbolic link says.")
          .attribute<&FileDeclaration::owner>("owner", "Owner", "User that owns it: a name of the node's, or a number.")
          .attribute<&FileDeclaration::group>("group", "Group", "Group that owns it.")
          .attribute<&FileDeclaration::mode>("mode", "Mode", "Octal; 0644, 0755 for a directory, 0600 for a secret.")
          .block_or_attribute<&FileDeclaration::xattrs>("xattr", "Xattrs", "Extended attributes, by name.")
          .attribute<&FileDeclaration::templating>(
              "template", "Template", "`go`: a Go template with Warewulf's variables, rendered for each target.")
          .attribute<&FileDeclaration::secret>("secret", "Secret",
                                               "Sealed on the server, sent to its targets only, never shown.")
          .block<&FileDeclaration::targets>("targets", "Targets", "Who gets it.")
          .block<&FileDeclaration::before>("before", "Before", "Runs before it is replaced; when it fails, nothing is.")
          .block<&FileDeclaration::after>("after", "After", "Runs once after it was replaced.")
          .block<&FileDeclaration::reloads>("reload", "Reloads", "Tasks that are told.")
          .attribute<&FileDeclaration::drift>(
              "drift", "Drift", "What becomes of a local edit: `correct` puts the master back, `report` does not.")
          .attribute<&FileDeclaration::when_removed>("when_removed", "WhenRemoved",
                                                     "Where it is not declared any more: `keep` or `remove` it.")
          .wire<&FileDeclaration::content_id>("ContentID", "Where its bytes are kept.")
          .wire<&FileDeclaration::size>("Size", "Bytes of its master.")
          .wire<&FileDeclaration::from_directory>("FromDirectory", "Whether the cluster's directory declares it.")
          .wire<&FileDeclaration::modify_time>("ModifyTime", "When it was last changed.")
          .time()
          .wire<&FileDeclaration::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&FileDeclaration::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<SentBytes>) {
  static const Structure s = Builder<SentBytes>("sent bytes", "Bytes that were sent ahead, in pieces.")
                                 .wire<&SentBytes::digest>("Digest", "Of all of them: SHA-256, hexadecimal.")
                                 .wire<&SentBytes::size>("Size", "How many they are.")
                                 .wire<&SentBytes::pieces>("Pieces",
                                                           "IDs of the pieces, in order, each but the last of 1 MiB; "
                                                           "none: the server has these bytes.")
                                 .done();
  return s;
}

const Structure& description(Tag<FileContent>) {
  static const Structure s =
      Builder<FileContent>("file content", "The bytes of a file.")
          .wire<&FileContent::id>("ID", "`sha256-<hex>` of plain bytes; of secret ones a name that says nothing.")
          .wire<&FileContent::key_id>("KeyID", "ID of the root key under which Data is sealed; empty: it is plain.")
          .wire<&FileContent::data>("Data", "Base64.")
          .wire<&FileContent::pieces>("Pieces", "IDs of the pieces, in order; none: Data has all of it.")
          .wire<&FileContent::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&FileContent::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<FilePiece>) {
  static const Structure s =
      Builder<FilePiece>("file piece", "A part of the bytes of a large file.")
          .wire<&FilePiece::id>("ID", "`sha256-<hex>` of plain bytes; of secret ones a name that says nothing.")
          .wire<&FilePiece::key_id>("KeyID", "ID of the root key under which Data is sealed; empty: it is plain.")
          .wire<&FilePiece::data>("Data", "Base64.")
          .wire<&FilePiece::at>("At", "When it was last sent; one that no file names goes an hour later.")
          .time()
          .wire<&FilePiece::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&FilePiece::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<FileProblem>) {
  static const Structure s =
      Builder<FileProblem>("file problem", "A file that is not as its master.")
          .wire<&FileProblem::path>("Path", "Where the file is; empty: it is about all of them.")
          .wire<&FileProblem::state>("State", "`pending`, `drifted` (changed where it is) or `failed`.")
          .wire<&FileProblem::reason>("Reason", "Why, for people.")
          .wire<&FileProblem::since>("Since", "Since when it is so.")
          .time()
          .done();
  return s;
}

const Structure& description(Tag<FileEvent>) {
  static const Structure s =
      Builder<FileEvent>("file event", "What a node did with a file, or found.")
          .wire<&FileEvent::at>("At", "When.")
          .time()
          .wire<&FileEvent::path>("Path", "Where the file is.")
          .wire<&FileEvent::what>(
              "What",
              "`created`, `replaced`, `removed`, `corrected`, `drifted`, `failed`, `before`, `after` or `reload`.")
          .wire<&FileEvent::detail>("Detail", "More about it, for people; empty: there is nothing to say.")
          .done();
  return s;
}

const Structure& description(Tag<FileReport>) {
  static const Structure s =
      Builder<FileReport>("file report", "What a node says of its files.")
          .wire<&FileReport::node_id>("NodeID", "ID of the node.")
          .wire<&FileReport::node>("Node", "Name of the node.")
          .wire<&FileReport::capsule>("Capsule",
                                      "The capsule on the node whose files it is about; empty: the node's own.")
          .wire<&FileReport::epoch>("Epoch", "Epoch of the manifest that was applied.")
          .wire<&FileReport::revision>("Revision", "Revision of the manifest that was applied.")
          .wire<&FileReport::manifest>("Manifest", "Digest of that manifest.")
          .wire<&FileReport::refused>("Refused", "Why a newer manifest was not taken; empty: it was.")
          .wire<&FileReport::key_serial>("KeySerial", "Serial of the newest step of keys that the node follows.")
          .wire<&FileReport::files>("Files", "How many files that manifest has.")
          .wire<&FileReport::applied_at>("AppliedAt", "When something last changed there.")
          .time()
          .wire<&FileReport::problems>("Problems", "Files that are not as their masters.")
          .wire<&FileReport::events>("Events", "The newest last, at most 40.")
          .wire<&FileReport::create_index>("CreateIndex", "Revision in which it was first told.")
          .wire<&FileReport::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

const Enumeration& description(Tag<FileKeyAction>) {
  static const Enumeration e = describe::enumeration<FileKeyAction>("file key action");
  return e;
}

const Structure& description(Tag<FileKey>) {
  static const Structure s = Builder<FileKey>("file key", "A key that signs manifests.")
                                 .wire<&FileKey::key>("Key", "Its public half, in base64.")
                                 .wire<&FileKey::key_id>("KeyID", "ID of the root key under which Seed is sealed.")
                                 .wire<&FileKey::seed>("Seed", "Its private half, sealed, in base64; never shown.")
                                 .wire<&FileKey::since>("Since", "Since when there is this key.")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<FileKeyStep>) {
  static const Structure s =
      Builder<FileKeyStep>("file key step", "What becomes of the keys that sign manifests.")
          .wire<&FileKeyStep::serial>("Serial", "Counts the steps, from 1 without a gap.")
          .wire<&FileKeyStep::action>(
              "Action", "`introduce`: To is believed beside From; `withdraw`: From is not believed any more.")
          .wire<&FileKeyStep::from>("From", "Public half of the key that is believed before, in base64.")
          .wire<&FileKeyStep::to>("To", "Public half of the key that is believed after, in base64.")
          .wire<&FileKeyStep::by_from>("ByFrom", "Signature of the step by From, in base64; of an introduction only.")
          .wire<&FileKeyStep::by_to>("ByTo", "Signature of the step by To, in base64.")
          .done();
  return s;
}

const Structure& description(Tag<FileSettings>) {
  static const Structure s =
      Builder<FileSettings>("file settings", "What signs manifests.")
          .wire<&FileSettings::key>("Key", "Public half of the key that signs now, in base64.")
          .wire<&FileSettings::key_id>("KeyID", "ID of the root key under which Seed is sealed.")
          .wire<&FileSettings::seed>("Seed", "Private half of the key that signs now, sealed, in base64; never shown.")
          .wire<&FileSettings::key_since>("KeySince", "Since when that key signs; none: from the beginning.")
          .time()
          .wire<&FileSettings::next>("Next", "The key that nodes learn to believe, and that signs then; absent: none.")
          .wire<&FileSettings::steps>("Steps", "What became of the keys so far, in order.")
          .wire<&FileSettings::epoch>(
              "Epoch", "Raised when an older store was restored, and nodes shall follow it nevertheless; from 1.")
          .wire<&FileSettings::create_index>("CreateIndex", "Revision in which it was first written.")
          .wire<&FileSettings::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
