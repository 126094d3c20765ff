// Overlays: how long writers wait for a snapshot, and how fast a copy is made. Needs root.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "overlay/snapshot/snapshot.hpp"
#include "overlay/tests/writer.hpp"
#include "overlay/transfer/transfer.hpp"

namespace {

using namespace underway;
using namespace underway::overlay;
using std::chrono::steady_clock;

constexpr std::uint64_t kMiB = 1U << 20;

double ms(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

void fill(const std::string& upper, std::uint64_t files, std::uint64_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 88172645463325252ULL;
  for (std::uint64_t i = 0; i < files; ++i) {
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      std::copy_n(reinterpret_cast<const char*>(&state), 8, bytes.data() + at);
    }
    os::write_file(fmt::format("{}/{}", upper, i), bytes, 0644, {}, os::Durability::cached);
  }
}

/// 64 MiB of data, and a writer that has every line on the disk before the next.
void freeze(const char* name, Mounted& overlay, const std::string& snapshots, std::unique_ptr<Writer>& writer) {
  fill(overlay.upper(), 64, kMiB);
  writer = std::make_unique<Writer>(overlay.upper());
  writer->more(50);
  Duration longest{};
  const char* method = "";
  for (int i = 0; i < 5; ++i) {
    const auto snapshot = take_snapshot(overlay, snapshots, {.now = SystemClock().now()});
    longest = std::max(longest, snapshot.frozen);
    method = describe::spell(snapshot.method).data();
    const SnapshotView view(overlay, snapshots, snapshot);
    if (lines_in(view.upper()) < 0) throw Error(Code::internal, "a snapshot has a gap");
    writer->more(50);
  }
  writer->stop();
  fmt::print("{:<28} {:<10} {:>10.1f} ms {:>18.1f} ms\n", name, method, ms(longest), ms(writer->longest()));
  for (const auto& snapshot : list_snapshots(snapshots)) remove_snapshot(overlay, snapshots, snapshot.id);
  writer.reset();
}

void freezes(const std::string& place) {
  fmt::print("snapshots of 64 MiB under a writer that syncs each line; the longest of 5 (budget 150 ms)\n");
  fmt::print("{:<28} {:<10} {:>13} {:>21}\n", "overlay", "method", "frozen", "longest write");
  const auto run = [&](const char* name, const Spec& spec, Options options, std::unique_ptr<Writer>& writer) {
    auto overlay = open_overlay(spec, place + "/" + name, options);
    freeze(name, overlay, place + "/" + name + "-snapshots", writer);
    overlay.close();
    remove_overlay(place + "/" + name);
  };
  std::unique_ptr<Writer> writer;
  Options stopping;
  stopping.stop_writers = [&](bool stop) {
    if (writer) writer->hold(stop);
  };
  run("directory", {.kind = Kind::directory}, stopping, writer);
  run("ext4", {.kind = Kind::ext4, .size_bytes = 256 * kMiB}, {}, writer);
  run("btrfs", {.kind = Kind::btrfs, .size_bytes = 512 * kMiB}, {}, writer);
  auto disk = open_overlay({.kind = Kind::xfs, .size_bytes = 1600 * kMiB}, place + "/disk");
  run("ext4-on-xfs", {.kind = Kind::ext4, .size_bytes = 256 * kMiB, .paths = {disk.upper()}}, {}, writer);
  run("xfs-on-xfs", {.kind = Kind::xfs, .size_bytes = 400 * kMiB, .paths = {disk.upper()}}, {}, writer);
  disk.close();
  remove_overlay(place + "/disk");
}

void print_round(const char* name, const Round& round) {
  fmt::print("{:<34} {:>9.1f} ms {:>10} sent {:>8.0f} MiB/s\n", name, ms(round.took), human_bytes(round.sent_bytes),
             static_cast<double>(round.content_bytes + round.skipped_bytes) / kMiB / (ms(round.took) / 1000));
}

void copies(const std::string& place) {
  const auto upper = place + "/upper", copy = place + "/copy";
  os::make_directories(upper);
  fill(upper, 4, 64 * kMiB);
  for (int i = 0; i < 2000; ++i)
    os::write_file(fmt::format("{}/small{}", upper, i), "x", 0644, {}, os::Durability::cached);
  fmt::print("\ncopying 256 MiB in 4 files, and 2000 small ones\n");
  print_round("first round", copy_here(upper, copy));
  ::usleep(200'000);  // what was written a moment ago is read again
  print_round("nothing has changed", copy_here(upper, copy));
  const auto file = os::open_file(upper + "/0", O_WRONLY);
  for (off_t at = 0; at < 64; ++at) {
    if (::pwrite(file.get(), "changed", 7, at * static_cast<off_t>(kMiB)) != 7) std::abort();
  }
  print_round("64 of 8192 blocks have, consistent", copy_here(upper, copy, {.consistent = true}));
  const auto since = steady_clock::now();
  verify_copy(copy);
  fmt::print("{:<34} {:>9.1f} ms\n", "verified", ms(steady_clock::now() - since));
  for (const std::vector<std::string>& peer : {std::vector<std::string>{"cp", "-a", upper, place + "/cp"},
                                               std::vector<std::string>{"rsync", "-aHAX", upper, place + "/rsync"}}) {
    const auto begun = steady_clock::now();
    try {
      os::run_program({.argv = peer, .env = {"PATH=/usr/bin:/bin"}}, std::chrono::minutes{5});
    } catch (const Error&) {
      continue;  // not installed
    }
    fmt::print("{:<34} {:>9.1f} ms\n", "peer: " + peer[0] + " " + peer[1], ms(steady_clock::now() - begun));
  }
}

}  // namespace

int main() {
  if (::geteuid() != 0) {
    fmt::print("skipped: needs root\n");
    return 0;
  }
  char place[] = "/var/tmp/underway-overlay-bench-XXXXXX";
  if (::mkdtemp(place) == nullptr) return 1;
  try {
    freezes(place);
    copies(place);
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.text());
    return 1;
  }
  os::remove_tree(place);
  return 0;
}
