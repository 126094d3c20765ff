// A repository of 30,000 packages: read, half of it written again, compressed; beside mergerepo_c, which does all of
// that to the same files. Its dependencies are those of a large distribution: 30 relations and 40 files each.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "rpmmd/element.hpp"
#include "rpmmd/write.hpp"

namespace {

using namespace underway;
using Steady = std::chrono::steady_clock;

constexpr int kPackages = 30'000;
constexpr int kRelations = 30;
constexpr int kFiles = 40;
constexpr int kRounds = 3;

struct Texts {
  std::string primary, filelists, other;
};

Texts make_texts() {
  std::vector<rpmmd::Elements> all;
  for (int i = 0; i < kPackages; ++i) {
    rpmmd::Description d;
    d.nevra = {fmt::format("package-{}-{}", i % 977, i), "0", fmt::format("{}.{}", i % 13, i % 7), "4.el9", "x86_64"};
    d.summary = fmt::format("What package {} does for whom", i);
    for (int line = 0; line < 8; ++line)
      d.description += fmt::format("Line {} of {}, of words that say what it is.\n", line, i * 31 % 1009);
    d.license = "GPL-2.0-or-later";
    d.source_rpm = d.nevra.name + ".src.rpm";
    auto& provided = d.relations.entries[static_cast<std::size_t>(rpmmd::Relation::provides)];
    auto& required = d.relations.entries[static_cast<std::size_t>(rpmmd::Relation::requirements)];
    for (int r = 0; r < kRelations / 3; ++r)
      provided.push_back({fmt::format("lib{}.so.{}()(64bit)", i, r), "EQ", "0", "1.0", "4.el9", false});
    for (int r = 0; r < kRelations * 2 / 3; ++r)
      required.push_back({fmt::format("lib{}.so.{}()(64bit)", (i * 7 + r) % kPackages, r % 10), "", "", "", "", false});
    for (int f = 0; f < kFiles; ++f)
      d.files.push_back({fmt::format("/usr/share/package-{}/{}/file-{}", i, f % 5, f), rpmmd::FileName::Kind::file});
    for (int c = 0; c < 10; ++c)
      d.changes.push_back({"A B <a@b.c> - 1.0", 1700000000 - c * 86400, fmt::format("- change {} of {}", c, i)});
    all.push_back(write_package(d, {.location = fmt::format("Packages/{}.rpm", d.nevra.name),
                                    .checksum = {"sha256", hex(crypto::sha256(d.nevra.name))},
                                    .size = 4711,
                                    .timestamp = 1700000000}));
  }
  const auto write = [&](rpmmd::Document document, std::string rpmmd::Elements::* member) {
    std::vector<std::string_view> elements;
    for (const auto& each : all) elements.emplace_back(each.*member);
    return write_elements(document, elements);
  };
  return {write(rpmmd::Document::primary, &rpmmd::Elements::primary),
          write(rpmmd::Document::filelists, &rpmmd::Elements::filelists),
          write(rpmmd::Document::other, &rpmmd::Elements::other)};
}

template <class Body>
void time(const char* what, Body body) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = Steady::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Steady::now() - start).count());
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:52} {:7.3f} s   at most {} MiB so far\n", what, best, usage.ru_maxrss >> 10);
}

std::vector<rpmmd::Part> parts_of(const std::vector<rpmmd::Package>& packages) {
  std::vector<rpmmd::Part> parts;
  for (const auto document : {rpmmd::Document::primary, rpmmd::Document::filelists, rpmmd::Document::other})
    parts.push_back(
        {std::string(name_of(document)), fmt::format("{}.xml", name_of(document)), write_document(document, packages)});
  return parts;
}

void measure_mergerepo(const std::string& directory) {
  if (std::system("command -v mergerepo_c >/dev/null") != 0) {
    fmt::print("mergerepo_c is not installed\n");
    return;
  }
  const auto command =
      fmt::format("mergerepo_c --no-database --repo file://{0}/repository --omit-baseurl -o {0}/merged", directory);
  const auto start = Steady::now();
  if (std::system(command.c_str()) != 0) fmt::print("mergerepo_c fails\n");
  fmt::print("{:52} {:7.3f} s\n", "mergerepo_c: reads and writes all, gzip",
             std::chrono::duration<double>(Steady::now() - start).count());
}

/// In a process of its own, so that what it takes is not counted as ours.
void make_files(const std::string& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto texts = make_texts();
    os::write_file(directory + "/primary", texts.primary, 0644, {}, os::Durability::cached);
    os::write_file(directory + "/filelists", texts.filelists, 0644, {}, os::Durability::cached);
    os::write_file(directory + "/other", texts.other, 0644, {}, os::Durability::cached);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

std::shared_ptr<const std::string> read(const std::string& path) {
  return std::make_shared<const std::string>(os::read_file(path, rpmmd::kIndexLimit));
}

void measure(const std::string& directory) {
  make_files(directory);
  const rpmmd::Documents documents{.primary = read(directory + "/primary"),
                                   .filelists = read(directory + "/filelists"),
                                   .other = read(directory + "/other")};
  fmt::print("{} packages: primary {}, filelists {}, other {}\n", kPackages, human_bytes(documents.primary->size()),
             human_bytes(documents.filelists->size()), human_bytes(documents.other->size()));
  time("read primary alone", [&] { static_cast<void>(rpmmd::Index::read({documents.primary, nullptr, nullptr})); });
  rpmmd::Index index;
  time("read primary, filelists and other", [&] { index = rpmmd::Index::read(documents); });
  time("write primary alone", [&] { static_cast<void>(write_document(rpmmd::Document::primary, index.packages())); });
  std::vector<rpmmd::Part> parts;
  time("write all three", [&] { parts = parts_of(index.packages()); });
  std::vector<rpmmd::RepositoryFile> files;
  time("compress all three, zstd, and repomd.xml", [&] { files = write_repository(parts, {}); });
  std::size_t size = 0;
  for (const auto& file : files) size += file.bytes.size();
  fmt::print("{:52} {}\n", "", human_bytes(size));
  time("the same, gzip", [&] {
    files = write_repository(parts, {.compression = rpmmd::Compression::gzip, .revision = "1", .tags = {}});
  });
  os::make_directories(directory + "/repository/repodata");
  for (const auto& file : files)
    os::write_file(directory + "/repository/" + file.path, file.bytes, 0644, {}, os::Durability::cached);
  time("unpack primary, gzip", [&] { static_cast<void>(rpmmd::unpack(files[0].bytes, "primary")); });
  measure_mergerepo(directory);
}

}  // namespace

int main() {
  char directory[] = "/tmp/underway-bench-XXXXXX";
  if (::mkdtemp(directory) == nullptr) return 1;
  try {
    measure(directory);
  } catch (const Error& e) {
    fmt::print(stderr, "{}", e.text());
  }
  os::remove_tree(directory);
  return 0;
}
