#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "os/file.hpp"
#include "overlay/transfer/detail/frame.hpp"
#include "overlay/transfer/detail/scan.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kSentBatch = std::size_t{1} << 20;
/// What is read for later while the writers stand still. Of more than this, they wait until it has been sent.
constexpr std::uint64_t kKept = std::uint64_t{64} << 20;
/// A receiver may say that it has this much; what it says costs memory here.
constexpr IndexLimits kInventoryLimits{.paths = 4'000'000, .content_bytes = std::uint64_t{1} << 40, .half_done = true};

[[noreturn]] void out_of_turn_here(FrameKind kind) {
  throw Error(Code::invalid, "what came over the pipe is no round of an overlay")
      .because(fmt::format("a frame '{}' out of turn", static_cast<char>(kind)));
}

[[noreturn]] void throw_changed(const std::string& path, std::string_view what) {
  throw Error(Code::conflict, fmt::format("'/{}' {} in a round that was to be consistent", path, what))
      .because("something writes to the overlay");
}

/// Since it was looked at.
bool is_changed(const FileReader& reader, const Entry& entry) {
  const auto now = reader.look();
  return nanos(now.st_ctim) != entry.changed_ns || now.st_ino != entry.inode;
}

std::uint64_t bytes_in(const Entry& entry, std::uint64_t block) {
  return std::min(kBlockSize, entry.size - block * kBlockSize);
}

}  // namespace

struct Sender::State {
  enum class Phase {
    hearing,
    looking,
    sending,
    reading,
    linking,
    ending,
    hearing_digest,
    releasing,
    hearing_end,
    done,
    failed
  };

  State(const std::string& upper, SendOptions how) : tree(upper), options(std::move(how)) {}

  void take(const Frame& frame);
  /// Does a little more; false: waits for the receiver, or is done.
  bool step();
  void look();
  /// The receiver's entry of what has not changed since; null: it may have.
  const Entry* find_unchanged(const Entry& entry) const;
  void keep();
  void check_hold() const;
  bool keep_file(const Entry& entry, std::uint64_t& room);
  void send_removed();
  void send_next();
  void begin_file(Entry& entry);
  std::optional<FileReader::Piece> next_piece();
  void send_piece();
  void send_blocks(const FileReader::Piece& piece);
  void end_file();
  void forget(const std::string& path);
  void send_links();
  void end();
  void count_left();
  template <class Step>
  void guarded(Step what);

  /// Of a file, as it was while the writers stood still.
  struct Kept {
    std::uint64_t offset, length;
    std::string bytes;  ///< empty: a hole
  };
  /// A file that is compared and sent.
  struct Open {
    Entry* entry;
    std::optional<FileReader> reader;  ///< nothing: it was read before
    std::vector<Kept> kept;
    const Entry* had;  ///< what the receiver has of it; null: nothing that counts
    bool put = false;  ///< told to the receiver
    std::size_t next = 0;
  };

  Tree tree;
  SendOptions options;
  FrameBuffer in;
  std::string out;
  Phase phase = Phase::hearing;
  bool greeted = false;
  Inventory inventory{kInventoryLimits};
  Index have;    ///< at the receiver, when the round began
  Index source;  ///< what the receiver has after it
  std::vector<Entry> found;
  std::string looked;
  std::size_t position = 0;
  std::vector<Entry> links;
  std::optional<Open> open;
  std::map<std::string, std::vector<Kept>, std::less<>> kept;
  bool released = false;  ///< the writers go on
  steady_clock::time_point held_since{};
  /// When each file was last changed, as the round saw it.
  std::map<std::string, std::int64_t, std::less<>> seen;
  std::int64_t at = 0;
  Round round;
  std::uint64_t batch_bytes = 0;
  steady_clock::time_point since = steady_clock::now();
};

void Sender::State::take(const Frame& frame) {
  if (frame.kind == FrameKind::failed) throw_failed(frame.payload, "the receiver of the overlay");
  switch (phase) {
    case Phase::hearing:
      if (!greeted) {
        if (frame.kind != FrameKind::hello) out_of_turn_here(frame.kind);
        since = steady_clock::now();
        check_hello(frame.payload);
        greeted = true;
      } else if (frame.kind == FrameKind::all) {
        have = inventory.finish();
        phase = Phase::looking;
      } else {
        inventory.take(frame);
      }
      return;
    case Phase::hearing_digest:
      if (frame.kind != FrameKind::verified) out_of_turn_here(frame.kind);
      if (hex(frame.payload) != round.digest)
        throw Error(Code::internal, "the receiver of the overlay has verified something else")
            .because("the digests differ");
      phase = Phase::releasing;
      return;
    case Phase::hearing_end:
      if (frame.kind != FrameKind::committed) out_of_turn_here(frame.kind);
      round.took = steady_clock::now() - since;
      phase = Phase::done;
      return;
    default:
      out_of_turn_here(frame.kind);
  }
}

bool Sender::State::step() {
  switch (phase) {
    case Phase::looking:
      look();
      send_removed();
      phase = Phase::sending;
      return true;
    case Phase::sending:
      if (position == found.size())
        phase = Phase::linking;
      else
        send_next();
      return true;
    case Phase::reading:
      send_piece();
      return true;
    case Phase::linking:
      send_links();
      phase = Phase::ending;
      return true;
    case Phase::ending:
      end();
      if (options.release && !released) options.release();
      phase = Phase::hearing_digest;
      return true;
    case Phase::releasing:
      Encoder().finish(FrameKind::commit, out);
      phase = Phase::hearing_end;
      return true;
    default:
      return false;
  }
}

void Sender::State::look() {
  held_since = steady_clock::now();
  if (options.hold) options.hold();
  at = unix_nanos(os::file_clock_now());
  auto scanned = scan(tree, {.sync = !options.consistent, .quick = options.quick, .known = &have});
  looked = std::move(scanned.look);
  found = std::move(scanned.entries);
  round.left_out = scanned.left_out;
  for (const auto& entry : found) {
    if (entry.type == EntryType::file) seen.emplace(entry.path, entry.changed_ns);
  }
  put_begin({.consistent = options.consistent, .at = at, .label = options.label}, out);
  if (options.release) keep();
}

const Entry* Sender::State::find_unchanged(const Entry& entry) const {
  const auto* had = have.find(entry.path);
  const bool same = had != nullptr && had->type == EntryType::file && entry.settled && had->settled &&
                    had->inode == entry.inode && had->changed_ns == entry.changed_ns && alike(*had, entry);
  return same ? had : nullptr;
}

/// Only for reading need the writers stand still; what it is compared with, and where it goes, can wait.
void Sender::State::keep() {
  std::uint64_t room = kKept;
  for (const auto& entry : found) {
    if (entry.type != EntryType::file || find_unchanged(entry) != nullptr) continue;
    if (keep_file(entry, room)) continue;
    kept.clear();
    if (!options.brief) return;
    throw Error(Code::too_large, "more has changed than is read while writers stand still")
        .because(fmt::format("it is more than {}", human_bytes(kKept)));
  }
  options.release();
  released = true;
}

void Sender::State::check_hold() const {
  if (!options.release || released || options.longest_hold == Duration{0}) return;
  if (steady_clock::now() - held_since < options.longest_hold) return;
  throw Error(Code::timeout, "writers would stand still for too long")
      .because(fmt::format("{} are allowed, and not all has been read", human_duration(options.longest_hold)));
}

/// False: there is no room for it.
bool Sender::State::keep_file(const Entry& entry, std::uint64_t& room) {
  auto reader = open_reader(tree, entry);
  if (!reader) throw_changed(entry.path, "vanished");
  auto& pieces = kept[entry.path];
  while (const auto piece = reader->next()) {
    check_hold();
    if (piece->bytes.size() > room) return false;
    room -= piece->bytes.size();
    pieces.push_back({piece->offset, piece->length, std::string(piece->bytes)});
  }
  if (is_changed(*reader, entry)) throw_changed(entry.path, "changed");
  return true;
}

void Sender::State::send_removed() {
  const auto by_path = [](const Entry& entry, std::string_view path) { return entry.path < path; };
  std::string gone;  // what lies below it goes with it
  for (const auto& [path, entry] : have.entries()) {
    if (!gone.empty() && path.starts_with(gone)) continue;
    const auto there = std::lower_bound(found.begin(), found.end(), path, by_path);
    if (there != found.end() && there->path == path) continue;
    Encoder().raw(path).finish(FrameKind::remove, out);
    ++round.removed;
    if (entry.type == EntryType::directory) gone = path + "/";
  }
}

void Sender::State::send_next() {
  auto& entry = found[position++];
  if (entry.type == EntryType::hard_link) {
    links.push_back(std::move(entry));
    return;
  }
  const auto* had = have.find(entry.path);
  if (had != nullptr && had->type != entry.type) had = nullptr;
  if (entry.type == EntryType::file) return begin_file(source.put(std::move(entry), true));
  if (had == nullptr || !alike(*had, entry)) {
    put_entry(entry, had == nullptr, out);
    ++round.files;
  }
  source.put(std::move(entry), true);
}

void Sender::State::begin_file(Entry& entry) {
  if (const auto* same = find_unchanged(entry)) {
    entry.blocks = same->blocks;
    round.skipped_bytes += entry.size;
    return;
  }
  const auto* had = have.find(entry.path);
  if (had != nullptr && had->type != EntryType::file) had = nullptr;
  phase = Phase::reading;
  if (auto before = kept.extract(entry.path)) {
    open.emplace(Open{.entry = &entry, .reader = std::nullopt, .kept = std::move(before.mapped()), .had = had});
    return;
  }
  auto reader = open_reader(tree, entry);
  if (reader) {
    open.emplace(Open{.entry = &entry, .reader = std::move(reader), .kept = {}, .had = had});
    return;
  }
  phase = Phase::sending;
  const auto path = entry.path;
  forget(path);
}

std::optional<FileReader::Piece> Sender::State::next_piece() {
  if (open->reader) return open->reader->next();
  if (open->next == open->kept.size()) return std::nullopt;
  const auto& piece = open->kept[open->next++];
  return FileReader::Piece{.offset = piece.offset, .length = piece.length, .bytes = piece.bytes};
}

void Sender::State::forget(const std::string& path) {
  if (options.consistent) throw_changed(path, "vanished");
  source.remove(path);
  if (have.find(path) == nullptr) return;
  Encoder().raw(path).finish(FrameKind::remove, out);
  ++round.removed;
}

void Sender::State::send_piece() {
  check_hold();
  const auto piece = next_piece();
  if (!piece) return end_file();
  auto& entry = *open->entry;
  if (piece->bytes.empty())
    source.zero(entry, piece->offset, piece->length);
  else
    source.write(entry, piece->offset, piece->bytes);
  send_blocks(*piece);
}

void Sender::State::send_blocks(const FileReader::Piece& piece) {
  auto& entry = *open->entry;
  const auto first = piece.offset / kBlockSize;
  const auto last = blocks_of(piece.offset + piece.length);
  const BlockDigest hole{};
  const auto* had = open->had;
  const auto differs = [&](std::uint64_t block) {
    if (had == nullptr || block >= had->blocks.size()) return entry.blocks[block] != hole;
    return entry.blocks[block] != had->blocks[block];
  };
  for (auto block = first; block < last;) {
    if (!differs(block)) {
      round.skipped_bytes += bytes_in(entry, block++);
      continue;
    }
    const auto begin = block;
    const bool zero = entry.blocks[block] == hole;
    while (block < last && differs(block) && (entry.blocks[block] == hole) == zero) ++block;
    const auto offset = begin * kBlockSize;
    const auto length = std::min(block * kBlockSize, entry.size) - offset;
    // Its stamp comes when all of it has been sent: it says that nothing is missing.
    if (!open->put) put_entry(entry, had == nullptr, out, false);
    open->put = true;
    if (zero)
      Encoder().u64(offset).u64(length).finish(FrameKind::zeros, out);
    else
      Encoder().u64(offset).raw(piece.bytes.substr(offset - piece.offset, length)).finish(FrameKind::data, out);
    round.content_bytes += zero ? 0 : length;
  }
}

void Sender::State::end_file() {
  auto& entry = *open->entry;
  const bool changed = open->reader && is_changed(*open->reader, entry);
  if (changed && options.consistent) throw_changed(entry.path, "changed");
  if (changed) entry.settled = false;
  const auto* had = open->had;
  const bool differs = open->put || had == nullptr || !alike(*had, entry);
  const bool stamped =
      had != nullptr && !open->put && had->settled && had->changed_ns == entry.changed_ns && had->inode == entry.inode;
  if ((differs && !open->put) || (entry.settled && !stamped)) put_entry(entry, had == nullptr && !open->put, out);
  if (differs) ++round.files;
  open.reset();
  phase = Phase::sending;
}

void Sender::State::send_links() {
  for (auto& entry : links) {
    const auto* file = source.find(entry.target);
    const auto* had = have.find(entry.path);
    if (file == nullptr || file->type != EntryType::file) {
      if (had == nullptr) continue;
      Encoder().raw(entry.path).finish(FrameKind::remove, out);
      ++round.removed;
      continue;
    }
    // Always told: the file may be another one now. The receiver looks whether they are one already.
    put_entry(entry, true, out);
    if (had == nullptr || !alike(*had, entry)) ++round.files;
    source.put(std::move(entry), true);
  }
}

void Sender::State::count_left() {
  tree.walk([&](const Tree::Item& item) {
    if (!S_ISREG(item.stat.st_mode)) return true;
    const auto known = seen.find(item.path);
    if (known != seen.end() && known->second == nanos(item.stat.st_ctim)) return true;
    ++round.left_files;
    round.left_bytes += static_cast<std::uint64_t>(item.stat.st_size);
    return true;
  });
}

void Sender::State::end() {
  if (!options.consistent) count_left();
  const auto digest = source.digest();
  round.digest = hex(digest);
  put_end({.digest = digest, .round = round}, out);
}

template <class Step>
void Sender::State::guarded(Step what) {
  try {
    what();
  } catch (const Error& e) {
    if (phase != Phase::failed && phase != Phase::done) put_failed(e, out);
    phase = Phase::failed;
    throw;
  }
}

Sender::Sender(const std::string& upper, SendOptions options)
    : state_(std::make_unique<State>(upper, std::move(options))) {}
Sender::~Sender() = default;

std::string Sender::next() {
  auto& state = *state_;
  state.guarded([&] {
    while (state.out.size() < kSentBatch && state.step()) {
    }
  });
  state.round.sent_bytes += state.out.size();
  return std::exchange(state.out, {});
}

void Sender::receive(std::string_view bytes) {
  auto& state = *state_;
  if (state.phase == State::Phase::failed) return;
  state.guarded([&] {
    state.in.add(bytes);
    while (const auto frame = state.in.next()) state.take(*frame);
    state.round.told_bytes = state.in.taken();
  });
}

bool Sender::done() const { return state_->phase == State::Phase::done; }
const std::string& Sender::looked() const { return state_->looked; }
const Round& Sender::round() const { return state_->round; }

}  // namespace underway::overlay
