// An index comes from anybody who runs a repository. What is taken of it lies within its text, is in order, and has no
// path that leaves the repository.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "package/difference.hpp"
#include "package/list.hpp"
#include "package/relation.hpp"

namespace {

using namespace underway;

void expect_holds(bool holds) {
  if (!holds) __builtin_trap();
}

void look_at(const package::Package& one) {
  expect_holds(!one.name.empty() && one.name.find('/') == std::string::npos);
  expect_holds(!one.file.starts_with('/') && !one.file.starts_with("../") &&
               one.file.find("/../") == std::string::npos);
  expect_holds(one.description.ends_with('\n'));
  for (int kind = 0; kind <= static_cast<int>(package::RelationKind::provides); ++kind) {
    try {
      for (const auto& alternatives : package::relations(one, static_cast<package::RelationKind>(kind))) {
        expect_holds(!alternatives.empty());
        for (const auto& relation : alternatives)
          expect_holds(package::parse_relations(package::to_string(relation)).front().front() == relation);
      }
    } catch (const Error&) {
      // A field that says nothing is refused when it is asked for.
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  try {
    const auto list = package::PackageList::of_packages_index(text);
    std::string again;
    for (const auto& one : list.packages()) {
      look_at(one);
      again += std::string(one.description) + "\n";
    }
    const auto same = package::PackageList::of_packages_index(std::make_shared<const std::string>(again));
    expect_holds(same.digest() == list.digest());
    expect_holds(package::diff(list, same).empty());
    const auto all = package::diff(package::PackageList(), list);
    expect_holds(all.changes.size() == list.size());
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}
