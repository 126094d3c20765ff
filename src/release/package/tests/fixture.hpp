#pragma once
/// @file
/// Indexes of a few packages, for tests.

#include <memory>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "package/list.hpp"

#include <fmt/format.h>

namespace underway::package {

/// What a stanza says, where it matters.
struct Sample {
  std::string name, version, architecture = "amd64";
  std::string more{};  ///< further lines
  std::string file{};  ///< empty: of the name
  char digest = '0';   ///< the digit that its SHA256 consists of
};

inline std::string text_of(const Sample& s) {
  const std::string file =
      s.file.empty() ? fmt::format("pool/{}_{}_{}.deb", s.name, s.version, s.architecture) : s.file;
  return fmt::format("Package: {}\nVersion: {}\nArchitecture: {}\n{}Filename: {}\nSize: 10\nSHA256: {}\n\n", s.name,
                     s.version, s.architecture, s.more, file, std::string(64, s.digest));
}

inline PackageList read_list(const std::string& text) {
  return PackageList::of_packages_index(std::make_shared<const std::string>(text));
}

inline PackageList list_of(const std::vector<Sample>& stanzas) {
  std::string text;
  for (const auto& stanza : stanzas) text += text_of(stanza);
  return read_list(text);
}

/// As the element of one package of primary says it, with these inside of it.
inline std::shared_ptr<const std::string> rpm_element(std::string_view name, std::string_view inner) {
  return std::make_shared<const std::string>(
      fmt::format("<package type=\"rpm\"><name>{}</name>{}</package>", name, inner));
}

inline PackageList rpm_list(const std::string& name, const std::string& version, const std::string& architecture,
                            std::string_view inner = "") {
  const auto text = rpm_element(name, inner);
  Package package;
  package.format = Format::rpm;
  package.name = name;
  package.version = version;
  package.architecture = architecture;
  package.source = name;
  package.file = "Packages/" + name + ".rpm";
  package.description = *text;
  return PackageList::of({package}, {text});
}

/// "name_version_architecture …" of all.
inline std::string references(const PackageList& list) {
  std::vector<std::string> out;
  for (const auto& package : list.packages()) out.push_back(package.reference());
  return join(out, " ");
}

}  // namespace underway::package
