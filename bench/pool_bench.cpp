// A pool with as many files as Debian has packages, all of them small: what a sync, a publication and a collection ask
// of it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "pool/pool.hpp"

namespace {

using namespace underway;
using Steady = std::chrono::steady_clock;

constexpr int kFiles = 63'000;
constexpr int kAdded = 500;

template <class Body>
void measure(const char* what, int count, Body&& body) {
  const auto start = Steady::now();
  body();
  const double took = std::chrono::duration<double>(Steady::now() - start).count();
  fmt::print("{:44} {:7} {:8.3f} s {:9.2f} µs each\n", what, count, took, took / count * 1e6);
}

void run(const std::string& directory) {
  const pool::Pool p(directory + "/pool", {.reserve = 0});
  std::vector<pool::Digest> digests;
  // Not by the pool, which flushes each.
  for (int i = 0; i < kFiles; ++i) {
    const auto text = fmt::format("package {}", i);
    digests.push_back(pool::digest_of_sha256(crypto::sha256(text)));
    os::write_file(p.path_of(digests.back()), text, 0444, {}, os::Durability::cached);
  }
  measure("add_bytes, each flushed to disk", kAdded, [&] {
    for (int i = 0; i < kAdded; ++i) p.add_bytes(fmt::format("new {}", i));
  });
  int found = 0;
  measure("has", kFiles, [&] {
    for (const auto& digest : digests) found += p.has(digest);
  });
  measure("hold, one by one", kFiles, [&] {
    for (const auto& digest : digests) found += p.hold(digest);
  });
  std::ranges::sort(digests);
  measure("hold, all of them, sorted", kFiles, [&] { found += static_cast<int>(kFiles - p.hold(digests).size()); });
  if (found != 3 * kFiles) throw Error(Code::internal, "files are missing");
  os::make_directories(directory + "/tree");
  measure("link_into, 20 in each directory", kFiles, [&] {
    for (int i = 0; i < kFiles; ++i)
      p.link_into(digests[static_cast<std::size_t>(i)], directory + "/tree",
                  fmt::format("pool/main/{}/{}/package_{}.deb", i / 20 % 26, i / 20, i));
  });
  measure("collect, of which nothing is to go", kFiles, [&] { p.collect(digests, {}, os::file_clock_now()); });
  measure("fsck", kFiles, [&] { p.fsck(); });
  measure("collect, all of them", kFiles, [&] { p.collect({}, {}, os::file_clock_now() + std::chrono::hours(1)); });
}

}  // namespace

int main() {
  char name[] = "/tmp/underway-bench-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  int code = 0;
  try {
    run(directory);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = 1;
  }
  os::remove_tree(directory);
  return code;
}
