#include "rpmmd/write.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "rpmmd/detail/xml.hpp"

namespace underway::rpmmd {
namespace {

struct Root {
  std::string_view type, element, attributes;
  std::string_view Package::* member;
};
constexpr std::array<Root, 3> kRoots = {{
    {"primary", "metadata",
     "xmlns=\"http://linux.duke.edu/metadata/common\" xmlns:rpm=\"http://linux.duke.edu/metadata/rpm\"",
     &Package::primary},
    {"filelists", "filelists", "xmlns=\"http://linux.duke.edu/metadata/filelists\"", &Package::filelists},
    {"other", "otherdata", "xmlns=\"http://linux.duke.edu/metadata/other\"", &Package::other},
}};
const Root& root_of(Document document) { return kRoots[static_cast<std::size_t>(document)]; }

auto order_of(const Package& p) {
  return std::tie(p.name, p.arch, p.epoch, p.version, p.release, p.checksum.hex, p.location);
}

/// Told of primary alone, which the others follow.
void check_locations(std::span<const Package* const> packages) {
  std::map<std::string_view, const Package*> there;
  for (const Package* package : packages) {
    if (!package->location_base.empty())
      throw Error(Code::invalid, fmt::format("cannot publish '{}'", to_string(package->nevra())))
          .because(fmt::format("its location is below '{}', outside of its repository", package->location_base))
          .advise("fetch the file, and write its element with a location of ours");
    const auto [it, added] = there.emplace(package->location, package);
    if (!added)
      throw Error(Code::invalid, fmt::format("cannot publish both '{}' and '{}'", to_string(it->second->nevra()),
                                             to_string(package->nevra())))
          .because(fmt::format("both lie at '{}'", package->location));
  }
}

}  // namespace

std::string_view name_of(Document document) { return root_of(document).type; }

std::string write_elements(Document document, std::span<const std::string_view> elements) {
  const Root& root = root_of(document);
  std::size_t size = 512;
  for (const auto element : elements) size += element.size() + 1;
  std::string out;
  out.reserve(size);
  out += fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{} {} packages=\"{}\">\n", root.element,
                     root.attributes, elements.size());
  for (const auto element : elements) {
    out += element;
    out += '\n';
  }
  return out += fmt::format("</{}>\n", root.element);
}

std::string write_document(Document document, std::span<const Package> packages) {
  const auto member = root_of(document).member;
  std::vector<const Package*> sorted;
  sorted.reserve(packages.size());
  for (const Package& package : packages) sorted.push_back(&package);
  std::sort(sorted.begin(), sorted.end(),
            [](const Package* a, const Package* b) { return order_of(*a) < order_of(*b); });
  const auto same = [](const Package* a, const Package* b) {
    return a->nevra() == b->nevra() && a->checksum == b->checksum;
  };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  if (document == Document::primary) check_locations(sorted);
  std::vector<std::string_view> elements;
  elements.reserve(sorted.size());
  for (const Package* package : sorted) {
    const std::string_view element = package->*member;
    if (element.empty())
      throw Error(Code::invalid,
                  fmt::format("cannot write '{}' into {}", to_string(package->nevra()), name_of(document)))
          .because("its repository says nothing of it there");
    elements.push_back(element);
  }
  return write_elements(document, elements);
}

std::string write_at(const Package& package, std::string_view location) {
  check_location(location);
  const Cut& at = package.location_at;
  return fmt::format("{}<location href=\"{}\"/>{}", package.primary.substr(0, at.begin),
                     detail::escape_attribute(location), package.primary.substr(at.end));
}

std::vector<RepositoryFile> write_repository(std::span<const Part> parts, const WriteOptions& options) {
  std::vector<RepositoryFile> out;
  Repomd repomd{.revision = options.revision, .tags = options.tags, .data = {}};
  for (const Part& part : parts) {
    check_word(part.type, "the type of a file");
    check_word(part.name, "the name of a file");
    if (repomd.find(part.type) != nullptr)
      throw Error(Code::invalid, fmt::format("the repository has two files of type '{}'", part.type));
    std::string bytes = pack(part.text, options.compression);
    const std::string digest = hex(crypto::sha256(bytes));
    std::string path = fmt::format("repodata/{}-{}{}", digest, part.name, suffix(options.compression));
    repomd.data.push_back({.type = part.type,
                           .checksum = {"sha256", digest},
                           .open_checksum = Checksum{"sha256", hex(crypto::sha256(part.text))},
                           .location = path,
                           .timestamp = options.timestamp,
                           .size = bytes.size(),
                           .open_size = part.text.size(),
                           .database_version = {}});
    out.push_back({std::move(path), std::move(bytes)});
  }
  out.push_back({"repodata/repomd.xml", write_repomd(repomd)});
  return out;
}

}  // namespace underway::rpmmd
