#include "rpmmd/index.hpp"

#include <unordered_map>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "rpmmd/compressed.hpp"
#include "rpmmd/detail/xml.hpp"

namespace underway::rpmmd {
namespace {

using detail::Attributes;

void check_root(std::string_view name, std::string_view wanted) {
  if (name != wanted)
    throw Error(Code::invalid, "it is another document")
        .because(fmt::format("its root is '{}', not '{}'", name, wanted));
}

class PrimaryReader final : public detail::Handler {
 public:
  explicit PrimaryReader(std::string_view text) : text_(text) {}
  std::vector<Package> packages;

  void begin(unsigned depth, std::string_view name, const Attributes& attributes, std::size_t offset) override {
    if (depth == 1) check_root(name, "metadata");
    if (depth == 2) in_package_ = name == "package";
    if (!in_package_) return;
    if (depth == 2) {
      packages.emplace_back();
      begin_ = offset;
    } else if (depth == 3) {
      begin_member(name, attributes, offset);
    } else if (depth == 4) {
      if (name == "rpm:sourcerpm") once(name, packages.back().source_rpm);
      if (name == "rpm:group") once(name, packages.back().group);
    }
  }

  void end(unsigned depth, std::string_view name, std::size_t offset) override {
    collect(nullptr);
    if (!in_package_) return;
    if (depth == 3 && name == "location") packages.back().location_at.end = offset - begin_;
    if (depth != 2) return;
    in_package_ = false;
    packages.back().primary = text_.substr(begin_, offset - begin_);
    check(packages.back());
  }

 private:
  /// What comes twice is read by one client as the first and by another as the last: then we promote what none
  /// installs.
  void once(std::string_view name, std::string& member) {
    if (!member.empty())
      throw Error(Code::invalid, fmt::format("the package '{}' has '{}' twice", packages.back().name, name));
    collect(&member);
  }

  void begin_member(std::string_view name, const Attributes& attributes, std::size_t offset) {
    Package& package = packages.back();
    if (name == "name") {
      once(name, package.name);
    } else if (name == "arch") {
      once(name, package.arch);
    } else if (name == "version") {
      once(name, package.version);
      if (const auto epoch = attributes.get("epoch"); !epoch.empty()) package.epoch = epoch;
      package.version = attributes.get("ver");
      package.release = attributes.get("rel");
      collect(nullptr);
    } else if (name == "checksum") {
      package.checksum.type = attributes.get("type");
      once(name, package.checksum.hex);
    } else if (name == "location") {
      once(name, package.location);
      package.location_at.begin = offset - begin_;
      package.location = attributes.get("href");
      package.location_base = attributes.get("xml:base");
      collect(nullptr);
    } else if (name == "size") {
      const auto size = parse_number<std::uint64_t>(attributes.find("package").value_or("0"));
      if (!size) throw Error(Code::invalid, fmt::format("the size of '{}' is no number", package.name));
      package.size = *size;
    }
  }

  static void check(const Package& package) {
    check_word(package.name, "the package name");
    check_word(package.version, "the version");
    check_word(package.release, "the release");
    check_word(package.arch, "the architecture");
    if (!parse_number<std::uint32_t>(package.epoch))
      throw Error(Code::invalid, fmt::format("the epoch of '{}' is no number", package.name));
    check_checksum(package.checksum, package.name);
    check_location(package.location);
  }

  std::string_view text_;
  std::size_t begin_ = 0;
  bool in_package_ = false;
};

/// `filelists` and `other`: which element is that of which package.
class ElementReader final : public detail::Handler {
 public:
  ElementReader(std::string_view text, std::string_view root) : text_(text), root_(root) {}
  std::unordered_map<std::string, std::string_view> elements;

  void begin(unsigned depth, std::string_view name, const Attributes& attributes, std::size_t offset) override {
    if (depth == 1) check_root(name, root_);
    if (depth != 2) return;
    begin_ = offset;
    id_ = attributes.get("pkgid");
  }
  void end(unsigned depth, std::string_view name, std::size_t offset) override {
    if (depth == 2 && name == "package") elements.try_emplace(std::move(id_), text_.substr(begin_, offset - begin_));
  }

 private:
  std::string_view text_, root_;
  std::string id_;
  std::size_t begin_ = 0;
};

void check_size(const std::shared_ptr<const std::string>& text, std::string_view what) {
  if (text && text->size() > kIndexLimit)
    throw Error(Code::too_large, fmt::format("{} is larger than is allowed", what))
        .because(fmt::format("it has {}, more than {}", human_bytes(text->size()), human_bytes(kIndexLimit)));
}

void join(std::vector<Package>& packages, const std::shared_ptr<const std::string>& text, std::string_view what,
          std::string_view root, std::string_view Package::* member) {
  if (!text) return;
  check_size(text, what);
  ElementReader reader(*text, root);
  detail::read_xml(*text, what, reader);
  for (Package& package : packages) {
    const auto it = reader.elements.find(package.checksum.hex);
    if (it == reader.elements.end())
      throw Error(Code::invalid, fmt::format("{} does not know the package '{}'", what, to_string(package.nevra())))
          .because(fmt::format("no element has its id {}", package.checksum.hex))
          .advise("mirror once more: the repository may have changed in between");
    package.*member = it->second;
  }
}

}  // namespace

Index Index::read(Documents documents) {
  Index out;
  out.documents_ = std::move(documents);
  const Documents& texts = out.documents_;
  check_size(texts.primary, "primary");
  PrimaryReader reader(*texts.primary);
  detail::read_xml(*texts.primary, "primary", reader);
  out.packages_ = std::move(reader.packages);
  join(out.packages_, texts.filelists, "filelists", "filelists", &Package::filelists);
  join(out.packages_, texts.other, "other", "otherdata", &Package::other);
  return out;
}

}  // namespace underway::rpmmd
