// The order of versions beside dpkg's and rpm's own, for many versions made at random.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <random>
#include <sstream>

#include "os/file.hpp"
#include "os/process/process.hpp"
#include "package/version.hpp"

namespace underway::package {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Versions that are alike, so that the end of them matters as well.
class Versions {
 public:
  Versions(unsigned seed, std::string_view characters) : random_(seed), characters_(characters) {}

  std::string part(std::size_t most) {
    std::string out;
    for (std::size_t size = below(most + 1); out.size() < size;) out += characters_[below(characters_.size())];
    return out;
  }

  /// A part with one character put in, taken out or changed, or as it was.
  std::string changed(std::string text) {
    const std::size_t at = below(text.size() + 1);
    switch (below(4)) {
      case 0:
        return text.insert(at, 1, characters_[below(characters_.size())]);
      case 1:
        return at < text.size() ? text.erase(at, 1) : text;
      case 2:
        if (at < text.size()) text[at] = characters_[below(characters_.size())];
        return text;
      default:
        return text;
    }
  }

  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }

 private:
  std::mt19937 random_;
  std::string characters_;
};

Pairs random_pairs(Versions versions, std::size_t count) {
  Pairs out;
  const auto whole = [&](const std::string& upstream, const std::string& revision) {
    std::string text = versions.below(4) == 0 ? std::to_string(versions.below(3)) + ":" : "";
    text += "1" + upstream;  // dpkg wants a digit first
    return revision.empty() ? text : text + "-" + revision;
  };
  while (out.size() < count) {
    const std::string upstream = versions.part(8), revision = versions.part(4);
    const std::string a = whole(upstream, revision), b = whole(versions.changed(upstream), versions.changed(revision));
    // dpkg takes no empty revision.
    if (!a.ends_with('-') && !b.ends_with('-')) out.emplace_back(a, b);
  }
  return out;
}

/// What `program` prints of the pairs, which it reads as lines: -1, 0 or 1 of each.
std::vector<int> told(const Pairs& pairs, std::vector<std::string> program) {
  char name[] = "/tmp/underway-test-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  std::string text;
  for (const auto& [a, b] : pairs) text += a + " " + b + "\n";
  os::write_file(directory + "/pairs", text);
  os::SpawnSpec spec;
  spec.argv = std::move(program);
  spec.env = {"PATH=/usr/bin:/bin", "HOME=" + directory};
  spec.cwd = directory;
  const auto output = os::run_program(std::move(spec), std::chrono::minutes(2));
  os::remove_tree(directory);
  EXPECT_TRUE(output.status.success()) << output.err;
  std::istringstream numbers(output.out);
  std::vector<int> out;
  for (int number = 0; numbers >> number;) out.push_back(number);
  return out;
}

int sign_of(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

void expect_as_told(Format format, const Pairs& pairs, const std::vector<int>& orders) {
  ASSERT_EQ(pairs.size(), orders.size());
  int equal = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [a, b] = pairs[i];
    EXPECT_EQ(sign_of(compare_versions(format, a, b)), orders[i]) << a << " and " << b;
    EXPECT_EQ(sign_of(compare_versions(format, b, a)), -orders[i]) << b << " and " << a;
    equal += orders[i] == 0 ? 1 : 0;
  }
  EXPECT_GT(equal, static_cast<int>(pairs.size() / 50)) << "too few of these are the same";
}

TEST(VersionOrder, IsThatOfDpkg) {
  if (!os::exists("/usr/bin/dpkg")) GTEST_SKIP() << "needs dpkg";
  const Pairs pairs = random_pairs(Versions(1, "0019aAzZ.+~-"), 1500);
  const std::string script =
      "while read -r a b; do if dpkg --compare-versions \"$a\" lt \"$b\"; then echo -1; "
      "elif dpkg --compare-versions \"$a\" eq \"$b\"; then echo 0; else echo 1; fi; done < pairs";
  expect_as_told(Format::deb, pairs, told(pairs, {"sh", "-ec", script}));
}

TEST(VersionOrder, IsThatOfRpm) {
  if (!os::exists("/usr/bin/rpm")) GTEST_SKIP() << "needs rpm";
  const Pairs pairs = random_pairs(Versions(2, "0019aAzZ.+~^_"), 50000);
  const std::string script =
      "%{lua: for line in io.lines('pairs') do local a, b = string.match(line, '(%S+) (%S+)') "
      "print(rpm.vercmp(a, b) .. '\\n') end}";
  expect_as_told(Format::rpm, pairs, told(pairs, {"rpm", "--eval", script}));
}

}  // namespace
}  // namespace underway::package
