// Reads indexes as large as that of Debian 12 (63,000 packages, 48 MiB), whose fields are made up with the lengths that
// they have there, and compares two of them, of which one package in fifty differs. Usage: package_bench [Packages
// [Packages]]
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/error.hpp"
#include "control/stanza.hpp"
#include "package/difference.hpp"
#include "package/list.hpp"
#include "package/query.hpp"

namespace {

using namespace underway;
using Steady = std::chrono::steady_clock;
using Text = package::PackageList::Text;

constexpr int kPackages = 63'000;
constexpr int kRounds = 5;

std::string words(std::mt19937& random, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ' ';
    for (std::size_t size = 2 + random() % 8; size > 0; --size) out += static_cast<char>('a' + random() % 26);
  }
  return out;
}

std::string hexadecimal(std::mt19937& random, std::size_t digits) {
  std::string out;
  while (out.size() < digits) out += fmt::format("{:08x}", random());
  return out.substr(0, digits);
}

std::string needs(std::mt19937& random) {
  std::string out = "libc6 (>= 2.34)";
  for (std::size_t count = random() % 9; count > 0; --count)
    out += fmt::format(", lib{}{} (>= {}.{})", words(random, 1), random() % 10, random() % 9, random() % 30);
  return out;
}

/// One package, whose version is another one when `changed`; all else depends on the number alone.
std::string stanza(int number, bool changed) {
  std::mt19937 random(static_cast<unsigned>(number));
  const std::string name = fmt::format("{}-{:05}", words(random, 1), number);
  const std::string version = fmt::format("{}.{}.{}-{}", random() % 12, random() % 30, random() % 10, changed ? 2 : 1);
  std::string out = fmt::format("Package: {}\n", name);
  if (random() % 2 == 0) out += fmt::format("Source: {}-src\n", name);
  out +=
      fmt::format("Version: {}\nInstalled-Size: {}\nMaintainer: {} <{}@lists.example.org>\nArchitecture: {}\n", version,
                  random() % 100'000, words(random, 3), words(random, 1), random() % 3 == 0 ? "all" : "amd64");
  out += fmt::format("Depends: {}\nDescription: {}\nHomepage: https://{}.example.org/\nDescription-md5: {}\n",
                     needs(random), words(random, 6), words(random, 1), hexadecimal(random, 32));
  if (random() % 2 == 0)
    out += fmt::format("Tag: {}::{}, {}::{}\n", words(random, 1), words(random, 1), words(random, 1), words(random, 1));
  out += fmt::format(
      "Section: {}\nPriority: optional\nFilename: pool/main/{}/{}/{}_{}_amd64.deb\nSize: {}\nMD5sum: {}\nSHA256: {}\n",
      words(random, 1), name[0], name, name, version, random(), hexadecimal(random, 32),
      hexadecimal(random, 63) + (changed ? "1" : "0"));
  return out + "\n";
}

Text make_index(bool second) {
  std::string out;
  for (int number = 0; number < kPackages; ++number) out += stanza(number, second && number % 50 == 0);
  return std::make_shared<const std::string>(std::move(out));
}

Text read_index(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Code::not_found, fmt::format("cannot read '{}'", path));
  return std::make_shared<const std::string>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

template <class Body>
void measure(std::string_view what, Body&& body) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = Steady::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Steady::now() - start).count());
  }
  fmt::print("{:44} {:8.1f} ms\n", what, best * 1000);
}

/// What this process has in memory now, or at most had ("VmRSS", "VmHWM").
double memory_mib(std::string_view what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what)) return std::strtod(line.c_str() + what.size() + 1, nullptr) / 1024;
  }
  return 0;
}

void run(const Text& first, const Text& second) {
  const double before = memory_mib("VmRSS");
  const auto from = package::PackageList::of_packages_index(first);
  fmt::print("# {} packages, {:.1f} MiB of text; a list takes {:.1f} MiB beside it; best of {}\n", from.size(),
             static_cast<double>(first->size()) / (1 << 20), memory_mib("VmRSS") - before, kRounds);
  measure("stanzas alone", [&] { control::each_stanza(*first, [](const control::Stanza&) {}); });
  measure("an index is read", [&] { (void)package::PackageList::of_packages_index(first); });
  measure("its digest", [&] { (void)from.filter([](const package::Package&) { return true; }).digest(); });
  const auto to = package::PackageList::of_packages_index(second);
  measure("two that were read are compared", [&] { (void)package::diff(from, to); });
  measure("two are read and compared", [&] {
    (void)package::diff(package::PackageList::of_packages_index(first),
                        package::PackageList::of_packages_index(second));
  });
  const auto difference = package::diff(from, to);
  fmt::print("# {} changes\n", difference.changes.size());
  for (const char* query :
       {"nginx", "$Version (>= 2.0), Priority (optional)", "Name (~ ^lib.*-dev$)", "Depends (% *libssl*)"}) {
    const auto parsed = package::parse_query(query);
    measure(fmt::format("query {}", query), [&] { (void)package::select(from, parsed); });
  }
  fmt::print("# peak {:.0f} MiB\n", memory_mib("VmHWM"));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Text first = argc > 1 ? read_index(argv[1]) : make_index(false);
    run(first, argc > 2 ? read_index(argv[2]) : argc > 1 ? first : make_index(true));
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.text());
    return 1;
  }
  return 0;
}
