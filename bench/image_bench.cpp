// Verification of a capsule image of about 512 MiB, all of it, from the page cache, beside `sha256sum`
// of the same file.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "image/pack.hpp"
#include "image/verified.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace {

using namespace underway;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kFiles = 64;
constexpr std::size_t kFileSize = 8U << 20;
constexpr int kRounds = 5;

double seconds(Steady::duration span) { return std::chrono::duration<double>(span).count(); }

/// Bytes that lz4 cannot make smaller: the image is as large as its files.
void make_tree(const std::string& tree) {
  os::make_directories(tree);
  std::string noise(kFileSize, '\0');
  std::uint64_t state = 88172645463325252;
  for (std::size_t i = 0; i < kFiles; ++i) {
    for (std::size_t at = 0; at + 8 <= noise.size(); at += 8) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      noise.replace(at, 8, reinterpret_cast<const char*>(&state), 8);
    }
    os::write_file(fmt::format("{}/file{}", tree, i), noise, 0644, {}, os::Durability::cached);
  }
}

template <class Body>
double best_of_rounds(Body&& body) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = Steady::now();
    body();
    best = std::min(best, seconds(Steady::now() - start));
  }
  return best;
}

void print(const char* what, double took, std::int64_t bytes) {
  fmt::print("{:34} {:7.3f} s {:8.2f} GB/s\n", what, took, static_cast<double>(bytes) / took / 1e9);
}

void measure(const std::string& directory) {
  const TimePoint now = SystemClock().now();
  const auto trusted = image::generate_key(directory + "/key", "bench", now + std::chrono::hours(1));
  const auto key = image::read_private_key(directory + "/key");
  make_tree(directory + "/tree");
  image::Manifest manifest;
  manifest.name = "bench";
  manifest.version = "1";
  const std::string path = directory + "/bench.capsule";
  const auto start = Steady::now();
  const auto packed = image::pack(directory + "/tree", manifest, path, {.all_root = true, .key = &key});
  fmt::print("# an image of {:.0f} MB, {} threads; best of {}\n", static_cast<double>(packed.size) / 1e6,
             std::thread::hardware_concurrency(), kRounds);
  print("pack (mkfs.erofs, digests)", seconds(Steady::now() - start), packed.size);
  print("verify, all of it", best_of_rounds([&] { image::open_verified(path, {trusted}, now); }), packed.size);
  print("sha256sum (peer)", best_of_rounds([&] {
          os::SpawnSpec spec;
          spec.argv = {"sha256sum", path};
          spec.env = {fmt::format("PATH={}", os::kDefaultPath)};
          os::run_program(std::move(spec), std::chrono::minutes(1));
        }),
        packed.size);
}

}  // namespace

int main() {
  char name[] = "/tmp/underway-bench-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  int code = 0;
  try {
    measure(directory);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.text());
    code = 1;
  }
  os::remove_tree(directory);
  return code;
}
