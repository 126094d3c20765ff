#include "overlay/transfer/detail/copy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "overlay/transfer/detail/scan.hpp"

namespace underway::overlay {
namespace {

constexpr std::size_t kIndexLimit = std::size_t{1} << 34;

std::uint64_t inode_of(const std::string& path) {
  struct stat found = {};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

void unlink_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw errno_error(errno, fmt::format("cannot remove '{}'", path));
}

std::optional<Index> find_index(const std::string& path, IndexLimits limits) {
  auto text = os::find_file(path, kIndexLimit);
  if (!text || text->size() < 32) return std::nullopt;
  const auto body = std::string_view(*text).substr(32);
  if (crypto::sha256(body) != text->substr(0, 32)) return std::nullopt;
  try {
    limits.half_done = true;
    Inventory inventory(limits);
    FrameBuffer frames;
    frames.add(body);
    while (const auto frame = frames.next()) inventory.take(*frame);
    return inventory.finish();
  } catch (const Error&) {
    return std::nullopt;  // as good as lost
  }
}

}  // namespace

const describe::Structure& description(describe::Tag<CopyState>) {
  static const auto kStructure =
      describe::Builder<CopyState>("Copy", "A copy of an overlay.")
          .wire<&CopyState::version>("Version", "Of this form.")
          .wire<&CopyState::consistent>("Consistent", "Whether it is what the source was at one moment.")
          .wire<&CopyState::at>("At", "That moment, in nanoseconds since the epoch.")
          .wire<&CopyState::label>("Label", "What it is a copy of.")
          .wire<&CopyState::digest>("Digest", "Of names, attributes and content.")
          .wire<&CopyState::files>("Files", "Paths in it.")
          .wire<&CopyState::bytes>("Bytes", "Sizes of its files together.")
          .wire<&CopyState::applying>("Applying", "Whether a complete round is being put into the tree.")
          .wire<&CopyState::generation>("Generation", "Of the files beside the tree.")
          .wire<&CopyState::tree_inode>("TreeInode", "Of the tree: tells whether it was installed.")
          .done();
  return kStructure;
}

CopyPlaces::CopyPlaces(const std::string& at)
    : dir(at), tree(at + "/tree"), state(at + "/copy.json"), trash(at + "/trash"), lock(at + "/lock") {}
std::string CopyPlaces::index(std::int64_t generation) const { return fmt::format("{}/index.{}", dir, generation); }
std::string CopyPlaces::round(std::int64_t generation) const { return fmt::format("{}/round.{}", dir, generation); }

void Intake::take(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::remove: {
      const std::string path(frame.payload);
      file_ = nullptr;
      index_.remove(path);
      if (applier_ != nullptr) applier_->remove(path);
      return;
    }
    case FrameKind::put:
      return take_put(frame.payload);
    case FrameKind::data:
    case FrameKind::zeros:
      return take_bytes(frame);
    default:
      throw Error(Code::invalid, "what came over the pipe is no round of an overlay").because("a frame out of turn");
  }
}

void Intake::take_put(std::string_view payload) {
  Decoder decoder(payload);
  const bool fresh = decoder.u8() != 0;
  auto& entry = index_.put(read_entry(decoder), fresh);
  file_ = entry.type == EntryType::file ? &entry : nullptr;
  if (applier_ != nullptr) applier_->put(entry, fresh);
}

void Intake::take_bytes(const Frame& frame) {
  if (file_ == nullptr)
    throw Error(Code::invalid, "what came over the pipe is no round of an overlay").because("bytes of no file");
  Decoder decoder(frame.payload);
  const auto offset = decoder.u64();
  if (frame.kind == FrameKind::data) {
    const auto bytes = decoder.rest();
    index_.write(*file_, offset, bytes);
    if (applier_ != nullptr) applier_->write(offset, bytes);
    return;
  }
  const auto length = decoder.u64();
  decoder.end();
  index_.zero(*file_, offset, length);
  if (applier_ != nullptr) applier_->zero(offset, length);
}

std::optional<CopyState> find_copy_state(const CopyPlaces& places) {
  const auto text = os::find_file(places.state, 1U << 20);
  if (!text) return std::nullopt;
  auto state = json::decode_text<CopyState>(*text);
  if (state.version != 1)
    throw Error(Code::unsupported, fmt::format("the copy in '{}' is of a version that is not known", places.dir))
        .because(fmt::format("version {}", state.version))
        .advise("remove it: the next round makes it anew");
  // Exchanged with what it was to become, and a crash came in between.
  if (inode_of(places.tree) != static_cast<std::uint64_t>(state.tree_inode)) return std::nullopt;
  return state;
}

void write_copy_state(const CopyPlaces& places, const CopyState& state) {
  os::write_file(places.state, json::pretty(json::to_value(state)) + "\n", 0600);
}

Index load_index(const CopyPlaces& places, std::int64_t generation, IndexLimits limits) {
  if (auto index = find_index(places.index(generation), limits)) return std::move(*index);
  return read_index(places.tree);
}

void save_index(const CopyPlaces& places, std::int64_t generation, const Index& index) {
  std::string body;
  for (const auto& [path, entry] : index.entries()) put_have(entry, body);
  os::write_file(places.index(generation), crypto::sha256(body) + body, 0600);
}

void sweep(const CopyPlaces& places, std::optional<std::int64_t> keep) {
  for (const auto& entry : os::list_directory(places.dir)) {
    const auto path = places.dir + "/" + entry.name;
    const bool ours = entry.name.starts_with("index.") || entry.name.starts_with("round.");
    if (ours && (!keep || (path != places.index(*keep) && path != places.round(*keep)))) unlink_file(path);
  }
  os::remove_tree(places.trash);
}

std::uint64_t replay(const std::string& round, const std::function<void(const Frame&)>& take) {
  if (!os::exists(round)) return 0;
  const auto file = os::open_file(round, O_RDONLY);
  FrameBuffer frames;
  std::string piece;
  for (std::uint64_t at = 0;;) {
    piece.resize(kFrameLimit);
    const auto count = ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw errno_error(errno, fmt::format("cannot read '{}'", round));
    if (count == 0) return frames.taken();
    at += static_cast<std::uint64_t>(count);
    frames.add(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
    for (auto before = frames.taken();; before = frames.taken()) {
      try {
        const auto frame = frames.next();
        if (!frame) break;
        take(*frame);
      } catch (const Error& e) {
        if (e.code() != Code::invalid) throw;
        return before;  // the power went while it was written
      }
    }
  }
}

void apply_round(const CopyPlaces& places, CopyState& state) {
  auto index = load_index(places, state.generation, {});
  Applier applier(places.tree, places.trash);
  Intake intake(index, &applier);
  replay(places.round(state.generation), [&](const Frame& frame) { intake.take(frame); });
  applier.finish(index);
  if (hex(index.digest()) != state.digest)
    throw Error(Code::internal, fmt::format("the copy in '{}' is not what it should be", places.dir))
        .because("its digest differs from the source's")
        .advise("remove it: the next round makes it anew");
  save_index(places, state.generation + 1, index);
  ++state.generation;
  state.applying = false;
  write_copy_state(places, state);
  sweep(places, state.generation);
}

Round copy_here(const std::string& upper, const std::string& dir, SendOptions options) {
  Receiver receiver(dir);
  Sender sender(upper, std::move(options));
  while (!sender.done() || !receiver.done()) {
    const auto told = receiver.next();
    if (!told.empty()) sender.receive(told);
    const auto sent = sender.next();
    if (!sent.empty()) receiver.receive(sent);
  }
  return sender.round();
}

std::optional<CopyState> find_copy(const std::string& dir) {
  const CopyPlaces places(dir);
  auto state = find_copy_state(places);
  if (state && state->applying) apply_round(places, *state);
  return state;
}

void verify_copy(const std::string& dir) {
  const CopyPlaces places(dir);
  const auto state = find_copy(dir);
  if (!state) throw Error(Code::not_found, fmt::format("there is no copy in '{}'", dir));
  const auto index = load_index(places, state->generation, {});
  const auto found = read_index(places.tree);
  const auto differs = [&](const std::string& path) {
    throw Error(Code::internal, fmt::format("the copy in '{}' is damaged", dir))
        .because(fmt::format("'{}' is not what was received", path))
        .advise("remove it: the next round makes it anew");
  };
  for (const auto& [path, entry] : index.entries()) {
    const auto* other = found.find(path);
    if (other == nullptr || !alike(entry, *other) || entry.blocks != other->blocks) differs("/" + path);
  }
  for (const auto& [path, entry] : found.entries()) {
    if (index.find(path) == nullptr) differs("/" + path);
  }
}

void install_copy(const std::string& dir, const std::string& upper) {
  const CopyPlaces places(dir);
  const auto text = os::find_file(places.state, 1U << 20);
  if (!text) throw Error(Code::not_found, fmt::format("there is no copy in '{}'", dir));
  const auto recorded = static_cast<std::uint64_t>(json::decode_text<CopyState>(*text).tree_inode);
  if (inode_of(upper) != recorded) {
    const auto state = find_copy(dir);
    if (!state) throw Error(Code::not_found, fmt::format("there is no copy in '{}'", dir));
    if (!state->consistent)
      throw Error(Code::conflict, fmt::format("the copy in '{}' cannot be used", dir))
          .because("it is not what its source was at any moment: no round of it was consistent");
    const unsigned flags = os::exists(upper) ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (::renameat2(AT_FDCWD, places.tree.c_str(), AT_FDCWD, upper.c_str(), flags) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}' the overlay's upper layer", places.tree));
  }
  os::remove_tree(places.tree);
  sweep(places, std::nullopt);
  write_copy_state(places, {.tree_inode = static_cast<std::int64_t>(recorded)});
}

void keep_as_copy(const std::string& upper, const std::string& dir, const std::string& label, TimePoint at) {
  const CopyPlaces places(dir);
  if (find_copy(dir)) return;
  os::make_directories(dir, 0700);
  os::remove_tree(places.tree);
  sweep(places, std::nullopt);
  CopyState state{.consistent = true, .at = unix_nanos(at), .label = label};
  state.tree_inode = static_cast<std::int64_t>(inode_of(upper));
  write_copy_state(places, state);  // does not count before the tree is there
  if (::rename(upper.c_str(), places.tree.c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot keep '{}' as a copy", upper));
  os::make_directories(upper, 0755);
  const auto index = read_index(places.tree);
  save_index(places, state.generation, index);
  state.digest = hex(index.digest());
  state.files = static_cast<std::int64_t>(index.entries().size());
  state.bytes = static_cast<std::int64_t>(index.content_bytes());
  write_copy_state(places, state);
}

void remove_copy(const std::string& dir) { os::remove_tree(dir); }

}  // namespace underway::overlay
