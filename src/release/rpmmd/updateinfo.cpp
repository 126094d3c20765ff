#include "rpmmd/updateinfo.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "rpmmd/detail/xml.hpp"

namespace underway::rpmmd {
namespace {

using detail::Attributes;

constexpr std::string_view kBlanks = " \t\r\n";

/// updates > update > pkglist > collection > package > filename
class UpdateReader final : public detail::Handler {
 public:
  explicit UpdateReader(std::string_view text) : text_(text) {}
  std::vector<Advisory> advisories;

  void begin(unsigned depth, std::string_view name, const Attributes& attributes, std::size_t offset) override {
    if (depth == 1 && name != "updates")
      throw Error(Code::invalid, "it is another document")
          .because(fmt::format("its root is '{}', not 'updates'", name));
    if (depth == 2) {
      in_update_ = name == "update";
      if (!in_update_) return;
      advisories.emplace_back();
      advisories.back().type = attributes.get("type");
      begin_ = offset;
    }
    if (!in_update_) return;
    if (depth == 3) begin_member(name, attributes);
    if (depth == 4) begin_inner(name, attributes, offset);
    if (depth == 5) begin_package(name, attributes, offset);
    if (depth == 6 && in_package_ && name == "filename") collect(&package().file);
  }

  void end(unsigned depth, std::string_view /*name*/, std::size_t offset) override {
    collect(nullptr);
    if (!in_update_) return;
    if (depth == 5 && in_package_) {
      package().cut.end = offset - begin_;
      in_package_ = false;
    }
    if (depth == 4 && in_collection_) {
      advisory().collections.back().end = offset - begin_;
      in_collection_ = false;
    }
    if (depth == 3) in_packages_ = in_references_ = false;
    if (depth != 2) return;
    in_update_ = false;
    advisory().element = text_.substr(begin_, offset - begin_);
    if (advisory().id.empty()) throw Error(Code::invalid, "an advisory has no id");
  }

 private:
  Advisory& advisory() { return advisories.back(); }
  AdvisoryPackage& package() { return advisory().packages.back(); }

  void begin_member(std::string_view name, const Attributes& attributes) {
    if (name == "id") collect(&advisory().id);
    if (name == "title") collect(&advisory().title);
    if (name == "severity") collect(&advisory().severity);
    if (name == "issued") advisory().issued = attributes.get("date");
    if (name == "updated") advisory().updated = attributes.get("date");
    in_packages_ = name == "pkglist";
    in_references_ = name == "references";
  }

  void begin_inner(std::string_view name, const Attributes& attributes, std::size_t offset) {
    if (in_references_ && name == "reference")
      advisory().references.push_back({attributes.get("type"), attributes.get("id"), attributes.get("href")});
    in_collection_ = in_packages_ && name == "collection";
    if (in_collection_) advisory().collections.push_back({.begin = before(offset), .end = 0});
  }

  void begin_package(std::string_view name, const Attributes& attributes, std::size_t offset) {
    in_package_ = in_collection_ && name == "package";
    if (!in_package_) return;
    const auto epoch = attributes.get("epoch");
    advisory().packages.push_back(
        {.nevra = {attributes.get("name"), epoch.empty() ? "0" : epoch, attributes.get("version"),
                   attributes.get("release"), attributes.get("arch")},
         .file = {},
         .collection = advisory().collections.size() - 1,
         .cut = {.begin = before(offset), .end = 0}});
    const Nevra& nevra = package().nevra;
    check_word(nevra.name, "the package name");
    check_word(nevra.version, "the version");
    check_word(nevra.release, "the release");
    check_word(nevra.arch, "the architecture");
    if (!parse_number<std::uint32_t>(nevra.epoch))
      throw Error(Code::invalid, fmt::format("the epoch of '{}' is no number", nevra.name));
  }

  /// Where the blanks before `offset` begin, counted from the advisory's first byte.
  std::size_t before(std::size_t offset) const {
    const auto last = text_.substr(begin_, offset - begin_).find_last_not_of(kBlanks);
    return last == std::string_view::npos ? 0 : last + 1;
  }

  std::string_view text_;
  std::size_t begin_ = 0;
  bool in_update_ = false, in_packages_ = false, in_references_ = false, in_collection_ = false, in_package_ = false;
};

/// What of an advisory goes, in the order of its bytes; nothing when the whole of it goes.
std::optional<std::vector<Cut>> cuts_of(const Advisory& advisory, const std::function<bool(const Nevra&)>& keep) {
  std::vector<bool> kept(advisory.packages.size()), filled(advisory.collections.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i] = keep(advisory.packages[i].nevra);
    if (kept[i]) filled[advisory.packages[i].collection] = true;
  }
  if (std::find(filled.begin(), filled.end(), true) == filled.end()) return std::nullopt;
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < filled.size(); ++i)
    if (!filled[i]) cuts.push_back(advisory.collections[i]);
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (!kept[i] && filled[advisory.packages[i].collection]) cuts.push_back(advisory.packages[i].cut);
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.begin < b.begin; });
  return cuts;
}

}  // namespace

std::vector<Advisory> parse_updateinfo(std::string_view text) {
  UpdateReader reader(text);
  detail::read_xml(text, "updateinfo", reader);
  return std::move(reader.advisories);
}

std::string write_updateinfo(const std::vector<Advisory>& advisories, const std::function<bool(const Nevra&)>& keep) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<updates>\n";
  for (const Advisory& advisory : advisories) {
    const auto cuts = cuts_of(advisory, keep);
    if (!cuts) continue;
    out += "  ";
    std::size_t from = 0;
    for (const Cut& cut : *cuts) {
      out += advisory.element.substr(from, cut.begin - from);
      from = cut.end;
    }
    out += advisory.element.substr(from);
    out += '\n';
  }
  return out + "</updates>\n";
}

}  // namespace underway::rpmmd
