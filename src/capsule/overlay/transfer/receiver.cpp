#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/text.hpp"
#include "os/file.hpp"
#include "overlay/transfer/detail/copy.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kReceivedBatch = std::size_t{1} << 20;

[[noreturn]] void out_of_turn(FrameKind kind) {
  throw Error(Code::invalid, "what came over the pipe is no round of an overlay")
      .because(fmt::format("a frame '{}' out of turn", static_cast<char>(kind)));
}

os::FileLock take_lock(const std::string& dir) {
  os::make_directories(dir, 0700);
  return os::FileLock::acquire(CopyPlaces(dir).lock, "receiving an overlay");
}

}  // namespace

struct Receiver::State {
  enum class Phase { telling, beginning, taking, deciding, saying, done, failed };

  State(const std::string& dir, ReceiveLimits limits)
      : places(dir), lock(take_lock(dir)), index({.paths = limits.paths, .content_bytes = limits.content_bytes}) {
    open(limits);
    position = index.entries().begin();
  }
  State(const State&) = delete;
  ~State() {
    // A break in between costs nothing when what has arrived is on the disk and in the index.
    if (waiting || phase == Phase::done || !whole) return;
    try {
      settle();
    } catch (const std::exception&) {
      // Then the next round reads the tree.
    }
  }

  void open(ReceiveLimits limits);
  void tell();
  void take(const Frame& frame);
  void take_difference(const Frame& frame);
  void take_end(const Frame& frame);
  void commit();
  /// What has arrived is on the disk, and what the tree holds in the index.
  void settle();
  /// Once it has begun, putting differences into the tree must come to an end.
  void require_space() const;
  template <class Step>
  void guarded(Step step);

  CopyPlaces places;
  os::FileLock lock;
  CopyState state;
  Index index;
  Index::Map::const_iterator position;
  FrameBuffer in;
  std::string out;
  Phase phase = Phase::telling;
  bool greeted = false;
  bool failed_there = false;
  /// Differences wait, because the tree is a consistent copy that must stay one.
  bool waiting = false;
  /// In the tree is what the index says.
  bool whole = true;
  std::optional<Applier> applier;
  std::optional<Intake> intake;
  os::Fd round_file;
  Begin begin;
  Round round;
  steady_clock::time_point since = steady_clock::now();
};

void Receiver::State::open(ReceiveLimits limits) {
  const IndexLimits bounds{.paths = limits.paths, .content_bytes = limits.content_bytes};
  auto found = find_copy(places.dir);
  if (!found) {
    os::remove_tree(places.tree);
    sweep(places, std::nullopt);
    os::make_directories(places.tree, 0700);
    struct stat tree = {};
    if (::stat(places.tree.c_str(), &tree) != 0)
      throw errno_error(errno, fmt::format("cannot look at '{}'", places.tree));
    state.tree_inode = static_cast<std::int64_t>(tree.st_ino);
    write_copy_state(places, state);
    index = Index(bounds);
  } else {
    state = std::move(*found);
    index = load_index(places, state.generation, bounds);
    sweep(places, state.generation);
  }
  waiting = state.consistent;
  if (!waiting) return;
  Intake known(index, nullptr);
  const auto whole_bytes = replay(places.round(state.generation), [&](const Frame& frame) { known.take(frame); });
  round_file = os::open_file(places.round(state.generation), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (::ftruncate(round_file.get(), static_cast<off_t>(whole_bytes)) != 0)
    throw errno_error(errno, fmt::format("cannot cut '{}'", places.round(state.generation)));
}

void Receiver::State::tell() {
  if (!greeted) put_hello(out);
  greeted = true;
  for (; position != index.entries().end() && out.size() < kReceivedBatch; ++position) put_have(position->second, out);
  if (position != index.entries().end()) return;
  Encoder().finish(FrameKind::all, out);
  phase = Phase::beginning;
}

void Receiver::State::take(const Frame& frame) {
  if (frame.kind == FrameKind::failed) {
    failed_there = true;
    throw_failed(frame.payload, "the source of the overlay");
  }
  if (phase == Phase::beginning && frame.kind == FrameKind::begin) {
    begin = read_begin(frame.payload);
    if (!waiting) {
      // From here on the tree runs ahead of what was written down about it.
      if (::unlink(places.index(state.generation).c_str()) != 0 && errno != ENOENT)
        throw errno_error(errno, fmt::format("cannot remove the index of '{}'", places.dir));
      applier.emplace(places.tree, places.trash);
    }
    intake.emplace(index, applier ? &*applier : nullptr);
    phase = Phase::taking;
  } else if (phase == Phase::taking && frame.kind == FrameKind::end) {
    take_end(frame);
  } else if (phase == Phase::taking) {
    take_difference(frame);
  } else if (phase == Phase::deciding && frame.kind == FrameKind::commit) {
    phase = Phase::saying;
  } else {
    out_of_turn(frame.kind);
  }
}

void Receiver::State::take_difference(const Frame& frame) {
  if (!waiting) {
    whole = false;
    intake->take(frame);
    whole = true;
    return;
  }
  intake->take(frame);
  std::string header;
  Encoder().raw(frame.payload).finish(frame.kind, header);
  os::write_all(round_file, header, fmt::format("'{}'", places.round(state.generation)));
}

void Receiver::State::take_end(const Frame& frame) {
  const auto end = read_end(frame.payload);
  const auto digest = index.digest();
  if (digest != end.digest) {
    // One of the two believes what is not so: the next round begins by reading the tree.
    whole = false;
    sweep(places, std::nullopt);
    throw Error(Code::internal, "the copy of the overlay is not what its source is")
        .because("the digests of both differ after the round");
  }
  const auto told = round.told_bytes;
  round = end.round;
  round.told_bytes = told;
  round.digest = hex(digest);
  // All is here. Writing it out can wait until the source's writers go on.
  Encoder().raw(digest).finish(FrameKind::verified, out);
  phase = Phase::deciding;
}

void Receiver::State::settle() {
  if (applier) {
    applier->finish(index);
    save_index(places, state.generation, index);
  } else if (waiting && ::fdatasync(round_file.get()) != 0) {
    throw errno_error(errno, fmt::format("cannot write out '{}'", places.round(state.generation)));
  }
}

void Receiver::State::require_space() const {
  struct stat differences = {};
  struct statvfs disk = {};
  if (::fstat(round_file.get(), &differences) != 0 || ::fstatvfs(round_file.get(), &disk) != 0)
    throw errno_error(errno, fmt::format("cannot look at '{}'", places.round(state.generation)));
  const auto need = static_cast<std::uint64_t>(differences.st_size), free = disk.f_bavail * disk.f_frsize;
  if (need <= free) return;
  throw Error(Code::exhausted, fmt::format("no space to put what was received into '{}'", places.tree))
      .because(fmt::format("needs up to {}, and {} are free", human_bytes(need), human_bytes(free)))
      .advise("make space there, or make the target's overlay larger");
}

void Receiver::State::commit() {
  settle();
  if (begin.consistent) {
    if (waiting) require_space();
    state.consistent = true;
    state.at = begin.at;
    state.label = begin.label;
    state.digest = round.digest;
    state.files = static_cast<std::int64_t>(index.entries().size());
    state.bytes = static_cast<std::int64_t>(index.content_bytes());
    state.applying = waiting;
    write_copy_state(places, state);
    if (waiting) apply_round(places, state);
  }
  Encoder().finish(FrameKind::committed, out);
  round.sent_bytes = in.taken();
  round.took = steady_clock::now() - since;
  phase = Phase::done;
}

template <class Step>
void Receiver::State::guarded(Step step) {
  try {
    step();
  } catch (const Error& e) {
    if (phase != Phase::failed && phase != Phase::done) put_failed(e, out);
    phase = Phase::failed;
    // Differences that fill the disk would keep the next round from having less.
    if (e.code() == Code::exhausted && !failed_there && waiting && !state.applying)
      static_cast<void>(::ftruncate(round_file.get(), 0));
    throw;
  }
}

Receiver::Receiver(const std::string& dir, ReceiveLimits limits) : state_(std::make_unique<State>(dir, limits)) {}
Receiver::~Receiver() = default;

std::string Receiver::next() {
  auto& state = *state_;
  state.guarded([&] {
    if (state.phase == State::Phase::telling) state.tell();
    if (state.phase == State::Phase::saying) state.commit();
  });
  state.round.told_bytes += state.out.size();
  return std::exchange(state.out, {});
}

void Receiver::receive(std::string_view bytes) {
  auto& state = *state_;
  if (state.phase == State::Phase::failed) return;
  state.guarded([&] {
    state.in.add(bytes);
    while (const auto frame = state.in.next()) state.take(*frame);
  });
}

bool Receiver::done() const { return state_->phase == State::Phase::done && state_->out.empty(); }
const Round& Receiver::round() const { return state_->round; }
bool Receiver::failed_there() const { return state_->failed_there; }

}  // namespace underway::overlay
