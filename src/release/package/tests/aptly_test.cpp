// Queries beside aptly's own answers, over a repository of real packages; and where ours are others on purpose.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"
#include "package/query.hpp"

namespace underway::package {
namespace {

using Found = std::set<std::string>;

/// What is made of it, as `DEBIAN/control` says it.
const std::vector<std::string> kControls = {
    R"(Package: nginx
Version: 1:1.2-1
Architecture: amd64
Section: httpd
Priority: optional
Provides: httpd, www
Depends: libc6 (>= 2.3),
 zlib1g | zlib
)",
    R"(Package: nginx
Version: 1:1.10-1
Architecture: i386
Section: non-free/httpd
Priority: required
Source: nginx-src (1.9-1)
Provides: www (= 2)
)",
    R"(Package: nginx-doc
Version: 1.10~rc1-1
Architecture: all
Priority: optional
Source: nginx
)",
    R"(Package: apache2
Version: 2.4.10
Architecture: amd64
Priority: standard
Provides: httpd
X-Number: 9
X-Site: a b
)",
    R"(Package: lib.c++6
Version: 1-2-3
Architecture: amd64
Section: libs
Multi-Arch: same
Essential: yes
)",
    R"(Package: zz
Version: 1.00
Architecture: i386
X-Number: 10
Homepage: http://h/(x)
)"};

class AptlyRepository : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/underway-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    if (!os::exists("/usr/bin/aptly") || !os::exists("/usr/bin/dpkg-scanpackages")) return;
    int number = 0;
    for (const auto& control : kControls) {
      const std::string tree = directory_ + "/" + std::to_string(number++);
      os::make_directories(tree + "/DEBIAN");
      os::write_file(tree + "/DEBIAN/control", control + "Maintainer: M <m@example.org>\nDescription: short\n long\n");
      run({"dpkg-deb", "--build", "-Znone", tree, directory_ + "/debs/"}, true);
    }
    run({"aptly", "-config=aptly.conf", "repo", "create", "site"}, true);
    run({"aptly", "-config=aptly.conf", "repo", "add", "site", "debs"}, true);
    const auto index = run({"dpkg-scanpackages", "--multiversion", "debs"}, true);
    list_ = PackageList::of_packages_index(std::make_shared<const std::string>(index.out));
  }
  static void TearDownTestSuite() {
    list_ = PackageList();
    os::remove_tree(directory_);
  }
  void SetUp() override {
    if (list_.empty()) GTEST_SKIP() << "needs aptly and dpkg-scanpackages";
  }

  static os::Output run(std::vector<std::string> argv, bool must) {
    os::make_directories(directory_ + "/debs");
    os::write_file(directory_ + "/aptly.conf", "{\"rootDir\": \"" + directory_ + "/aptly\"}");
    os::SpawnSpec spec;
    spec.argv = std::move(argv);
    spec.env = {"PATH=/usr/bin:/bin", "HOME=" + directory_};
    spec.cwd = directory_;
    auto output = os::run_program(std::move(spec), std::chrono::minutes(1));
    if (must && !output.status.success()) throw std::runtime_error(output.out + output.err);
    return output;
  }

  /// Nothing: it was refused.
  static std::optional<Found> of_aptly(const std::string& query) {
    const auto output = run({"aptly", "-config=aptly.conf", "repo", "search", "site", query}, false);
    if (output.err.find("no results") != std::string::npos) return Found();
    if (!output.status.success()) return std::nullopt;
    Found out;
    std::istringstream lines(output.out);
    for (std::string line; std::getline(lines, line);) out.insert(line);
    return out;
  }

  static std::optional<Found> of_ours(const std::string& query) {
    Found out;
    try {
      const PackageList found = select(list_, parse_query(query));
      for (const auto& package : found.packages()) out.insert(package.reference());
    } catch (const Error&) {
      return std::nullopt;
    }
    return out;
  }

  static std::string shown(const std::optional<Found>& found) {
    if (!found) return "refused";
    std::string out;
    for (const auto& one : *found) out += (out.empty() ? "" : " ") + one;
    return out;
  }

  static std::string directory_;
  static PackageList list_;
};

std::string AptlyRepository::directory_;
PackageList AptlyRepository::list_;

TEST_F(AptlyRepository, SelectsTheSame) {
  const std::vector<std::string> queries = {
      "nginx", "httpd", "ngin", "nginx (>= 1:1.9)", "nginx (1:1.2-1)", "nginx (= 1:1.02-1)", "nginx (<< 1:1.10-1)",
      "nginx (< 1:1.10-1)", "nginx (> 1:1.2-1)", "nginx (>> 1:1.2-1)", "nginx (<= 1:1.2-1)", "nginx (% 1:1.?-1)",
      "nginx (% *)", "nginx (~ 1.2)", "nginx (~ ^1:1)", "httpd (>= 1)", "nginx {amd64}", "nginx {i386}",
      "nginx-doc {i386}", "nginx-doc {source}", "nginx (>= 1:1.9) {amd64}", "nginx_1:1.2-1_amd64",
      "nginx_1:1.02-1_amd64", "nginx_1:1.2-1", "nginx-doc_1.10~rc1-1_all", "zz (1.0)", "zz_1.0_i386", "zz_1.00_i386",
      "lib.c++6", "apache2 (>= 2.4.9)", "Priority", "Priority (optional)", "Priority (= optional)",
      "Priority (>= required)", "Priority (>> required)", "Priority (<= optional)", "Priority (<< optional)",
      "Priority (% *al)", "Priority (~ al$)", "Section (% *httpd)", "Section (% */*)", "Section (~ httpd)",
      "Section (% [^h]*)", "Section (% [g-i]*)", "Name (% nginx*)", "Name (nginx)", "Name (~ .*-doc)",
      "Name (>= nginx-a)", "Version (>= 1:1.2)", "Version (% 1:*)", "Architecture (all)", "Depends (~ zlib)",
      "Depends (= 'libc6 (>= 2.3), zlib1g | zlib')", "Depends", "Provides (% *www)", "Source", "Source (nginx)",
      "Source (= 'nginx-src (1.9-1)')", "X-Site (a)", "X-Site ('a b')", "X-Site (\"a b\")", R"(X-Site ('a\ b'))",
      "Multi-Arch (same)", "Essential (yes)", "Nothing", "Nothing (= '')", "!Nothing", "Description (~ short)",
      "Maintainer (~ '<m@')", R"(Homepage (= 'http://h/(x)'))", R"(Homepage (~ '\(x\)'))", "$Version (>= 1.9)",
      "$Version (<< 1.10)", "$Version (% 2*)", "$Version (~ ^1:)", "$Version", "$Architecture (amd64)",
      "$Architecture (source)", "$Architecture (all)", "$Architecture (% a*)", "$Architecture (~ 86$)",
      "$Source (nginx)", "$Source (% nginx-*)", "X-Number (>= 10)", "X-Number (<< 10)", "X-Number (= 10)",
      "Version (= 1.0)", "Version (>> 1.9)", "$SourceVersion (>= 1.9-1)", "$SourceVersion (<< 1:1)",
      "$SourceVersion (1.9-1)", "$SourceVersion (= 1:1.2-1)", "$PackageType (deb)", "$PackageType (udeb)",
      "$PackageType (~ e)", "nginx, Priority (optional)", "zz | apache2", "zz | nginx, Priority (required)",
      "(zz | nginx), Priority (required)", "!nginx", "!(nginx | zz)", "!!zz", "! zz, !nginx", "( ( zz ) )", "'zz'",
      "zz,apache2|nginx-doc", "!Name (~ .*-doc), httpd",
      // Refused by both.
      "(zz", "zz)", "zz,", "zz |", "zz nginx", "zz (>= )", "zz (>= 1", "zz (1 2)", "zz {}", "zz {i386", "'zz",
      "Name (~ '(')", "", " ", ", zz", "Name (== zz)", "!"};
  for (const auto& query : queries) EXPECT_EQ(shown(of_ours(query)), shown(of_aptly(query))) << query;
}

TEST_F(AptlyRepository, IsAskedForOtherThingsOnPurpose) {
  struct Case {
    std::string query, ours, aptly, why;
  };
  const std::vector<Case> cases = {
      {"www", "nginx_1:1.10-1_i386 nginx_1:1.2-1_amd64", "nginx_1:1.2-1_amd64",
       "what is provided with a version is provided"},
      {"nginx(>= 1:1.9)", "nginx_1:1.10-1_i386", "refused", "a parenthesis ends a name"},
      {"Homepage (~ a(b)", "refused", "refused", "a parenthesis in a value stands in quotes"},
      {"PRIORITY (required)", "nginx_1:1.10-1_i386", "", "names of fields have no case"},
      {"Package (zz)", "zz_1.00_i386", "", "every field can be asked for"},
      {"Filename (~ zz)", "zz_1.00_i386", "", "every field can be asked for"},
      {"$Nothing", "refused", "", "a mistake is told"},
      {"Name (% [a)", "refused", "", "a mistake is told"},
      {"zz_1.00_i386 {i386}", "", "refused", "an rpm package may be named so"},
      {"X-Number (= 010)", "", "zz_1.00_i386", "other texts are other values"}};
  for (const auto& [query, ours, aptly, why] : cases) {
    EXPECT_EQ(shown(of_ours(query)), ours) << query << ": " << why;
    EXPECT_EQ(shown(of_aptly(query)), aptly) << query << ": what aptly does has changed";
  }
}

}  // namespace
}  // namespace underway::package
