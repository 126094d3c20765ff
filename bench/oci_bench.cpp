// Pull of an image of 512 MiB in four layers from docker-registry on this machine, unpacked, beside what others take
// for it: `skopeo copy` into a layout and `umoci unpack`, and `podman pull`. From the page cache; the best of three
// rounds.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "../src/engine/oci/tests/maker.hpp"
#include "../src/engine/oci/tests/real_registry.hpp"
#include "harness/places.hpp"
#include "oci/store.hpp"
#include "os/process/process.hpp"

namespace {

using namespace underway;
using Steady = std::chrono::steady_clock;

constexpr int kLayers = 4;
constexpr std::size_t kFiles = 512;
constexpr std::size_t kFileSize = 256U << 10;
constexpr int kRounds = 3;

/// Half of each file is noise and half is text, as programs with their data are packed to about half.
std::string file_text(std::uint64_t seed) {
  std::string out = oci::noise(kFileSize / 2, seed);
  while (out.size() < kFileSize)
    out += fmt::format("{:x} the quick brown fox jumps over the lazy dog\n", ++seed * 2654435761U);
  out.resize(kFileSize);
  return out;
}

void run(const std::vector<std::string>& argv, const std::string& home) {
  const auto out = os::run_program({.argv = argv, .env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + home}},
                                   std::chrono::minutes(10));
  if (!out.status.success()) throw Error(Code::internal, argv.front() + " failed").because(out.err);
}

template <class Body>
double best_of_rounds(const char* what, const std::function<void()>& clear, Body&& body) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    clear();
    const auto start = Steady::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Steady::now() - start).count());
  }
  constexpr double kMegabytes = kLayers * kFiles * static_cast<double>(kFileSize) / 1e6;
  fmt::print("{:34} {:7.2f} s {:7.0f} MB/s unpacked\n", what, best, kMegabytes / best);
  return best;
}

void measure(const std::string& directory, const std::string& compression) {
  const auto at = [&](const char* name) { return directory + "/" + name; };
  {
    std::vector<std::string> tars;
    for (std::uint64_t layer = 0; layer < kLayers; ++layer) {
      std::vector<oci::Entry> entries;
      for (std::uint64_t i = 0; i < kFiles; ++i)
        entries.push_back({.path = fmt::format("layer{}/file{}", layer, i), .text = file_text(layer * kFiles + i + 1)});
      tars.push_back(oci::tar_of(entries));
    }
    oci::write_layout(at("layout"), oci::make_image(tars, "{}", compression));
  }
  const oci::RealRegistry registry(at("registry"));
  const std::string reference = "docker://" + registry.host() + "/bench:1";
  run({"skopeo", "--insecure-policy", "copy", "--quiet", "--dest-tls-verify=false", "oci:" + at("layout") + ":v1",
       reference},
      directory);
  fmt::print("# {} layers, {}\n", kLayers, compression);
  const auto clear = [&] {
    for (const char* name : {"store", "copy", "bundle", "podman"}) os::remove_tree(at(name));
    ::sync();
  };
  const std::string program = binary_dir() + "/bin/underway-pull";
  const double ours = best_of_rounds("underway", clear,
                                     [&] { oci::Store(at("store"), program).pull(oci::parse_reference(reference)); });
  // Debian 12's umoci knows no other layers.
  const bool umoci = compression == "gzip";
  const double skopeo =
      best_of_rounds(umoci ? "skopeo copy, umoci unpack" : "skopeo copy (unpacks nothing)", clear, [&] {
        run({"skopeo", "--insecure-policy", "copy", "--quiet", "--src-tls-verify=false", reference,
             "oci:" + at("copy") + ":1"},
            directory);
        if (umoci) run({"umoci", "unpack", "--image", at("copy") + ":1", at("bundle")}, directory);
      });
  const double podman = best_of_rounds("podman pull", clear, [&] {
    run({"podman", "--root", at("podman/root"), "--runroot", at("podman/run"), "--storage-driver", "overlay", "pull",
         "--quiet", "--tls-verify=false", reference},
        directory);
  });
  fmt::print("ratio to the quicker that unpacks: {:.2f}\n", ours / (umoci ? std::min(skopeo, podman) : podman));
  clear();
}

}  // namespace

int main() {
  char name[] = "/var/tmp/underway-oci-bench-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  int result = 0;
  try {
    for (const char* compression : {"gzip", "zstd"}) {
      measure(directory, compression);
      os::remove_tree(directory + "/layout");
      os::remove_tree(directory + "/registry");
    }
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.text());
    result = 1;
  }
  os::remove_tree(directory);
  return result;
}
