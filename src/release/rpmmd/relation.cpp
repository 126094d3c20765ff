#include "rpmmd/relation.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "rpmmd/detail/xml.hpp"

namespace underway::rpmmd {
namespace {

constexpr std::array<std::string_view, kRelations> kNames = {"provides",   "requires", "conflicts",   "obsoletes",
                                                             "recommends", "suggests", "supplements", "enhances"};

std::optional<std::size_t> relation_named(std::string_view name) {
  if (!name.starts_with("rpm:")) return std::nullopt;
  const auto at = std::find(kNames.begin(), kNames.end(), name.substr(4));
  if (at == kNames.end()) return std::nullopt;
  return static_cast<std::size_t>(at - kNames.begin());
}

/// package > format > rpm:requires > rpm:entry
class RelationReader final : public detail::Handler {
 public:
  Relations relations;

  void begin(unsigned depth, std::string_view name, const detail::Attributes& attributes,
             std::size_t /*offset*/) override {
    if (depth == 3) current_ = relation_named(name);
    if (depth != 4 || !current_ || name != "rpm:entry") return;
    relations.entries[*current_].push_back({.name = attributes.get("name"),
                                            .flags = attributes.get("flags"),
                                            .epoch = attributes.get("epoch"),
                                            .version = attributes.get("ver"),
                                            .release = attributes.get("rel"),
                                            .pre = attributes.get("pre") == "1"});
  }
  void end(unsigned depth, std::string_view /*name*/, std::size_t /*offset*/) override {
    if (depth == 3) current_.reset();
  }

 private:
  std::optional<std::size_t> current_;
};

class TextReader final : public detail::Handler {
 public:
  explicit TextReader(std::string_view name) : name_(name) {}
  std::optional<std::string> text;

  void begin(unsigned /*depth*/, std::string_view name, const detail::Attributes& /*attributes*/,
             std::size_t /*offset*/) override {
    if (text || name != name_) return;
    collect(&text.emplace());
  }
  void end(unsigned /*depth*/, std::string_view name, std::size_t /*offset*/) override {
    if (name == name_) collect(nullptr);
  }

 private:
  std::string_view name_;
};

class FileReader final : public detail::Handler {
 public:
  std::vector<FileName> files;

  void begin(unsigned /*depth*/, std::string_view name, const detail::Attributes& attributes,
             std::size_t /*offset*/) override {
    if (name != "file") return;
    const auto type = attributes.find("type").value_or("");
    files.push_back({.path = {},
                     .kind = type == "dir"     ? FileName::Kind::directory
                             : type == "ghost" ? FileName::Kind::ghost
                                               : FileName::Kind::file});
    path_.clear();
    collect(&path_);
  }
  void end(unsigned /*depth*/, std::string_view name, std::size_t /*offset*/) override {
    if (name == "file") files.back().path = path_;
    collect(nullptr);
  }

 private:
  std::string path_;
};

}  // namespace

std::string_view name_of(Relation relation) { return kNames[static_cast<std::size_t>(relation)]; }

Relations parse_relations(std::string_view element) {
  RelationReader reader;
  detail::read_xml(element, "the relations of a package", reader);
  return std::move(reader.relations);
}

std::optional<std::string> find_text(std::string_view element, std::string_view name) {
  TextReader reader(name);
  detail::read_xml(element, "the description of a package", reader);
  return std::move(reader.text);
}

std::vector<FileName> parse_file_names(std::string_view element) {
  FileReader reader;
  detail::read_xml(element, "the files of a package", reader);
  return std::move(reader.files);
}

}  // namespace underway::rpmmd
