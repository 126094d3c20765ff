#include "package/relation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "control/stanza.hpp"
#include "rpmmd/relation.hpp"

namespace underway::package {

namespace {

constexpr std::size_t kMaxRelations = 65536;

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Reads a field of relations from the left.
class RelationReader {
 public:
  explicit RelationReader(std::string_view text) : text_(text) {}

  Relations read() {
    Relations out;
    while (true) {
      skip();
      // What generates them leaves commas without anything between them at times, which dpkg and apt let pass.
      if (at_ == text_.size()) return out;
      if (take(',')) continue;
      if (out.size() == kMaxRelations) refuse(fmt::format("more than {} relations", kMaxRelations));
      out.push_back(alternatives());
      skip();
      if (at_ < text_.size() && !take(',')) refuse(fmt::format("',' or '|' is missing before '{}'", rest()));
    }
  }

 private:
  std::vector<Relation> alternatives() {
    std::vector<Relation> out;
    do {
      skip();
      out.push_back(relation());
      skip();
    } while (take('|'));
    return out;
  }

  Relation relation() {
    Relation out;
    out.name = word("a package's name is missing", "");
    if (take(':')) out.architecture_qualifier = word("an architecture is missing behind ':'", "");
    skip();
    if (take('(')) read_version(out);
    skip();
    if (take('[')) out.architectures = words_until(']');
    skip();
    while (at_ < text_.size() && text_[at_] == '<') {
      const std::size_t begin = at_++;
      words_until('>');
      if (!out.profiles.empty()) out.profiles += ' ';
      out.profiles += text_.substr(begin, at_ - begin);
      skip();
    }
    return out;
  }

  void read_version(Relation& out) {
    skip();
    out.comparison = comparison();
    skip();
    out.version = word("a version is missing", ":~");
    skip();
    if (!take(')')) refuse("')' is missing behind the version");
  }

  Comparison comparison() {
    if (take('=')) return Comparison::equal;
    for (const auto& [first, equal, strict] : {std::tuple('<', Comparison::less_equal, Comparison::less),
                                               std::tuple('>', Comparison::greater_equal, Comparison::greater)}) {
      if (!take(first)) continue;
      if (take(first)) return strict;
      take('=');
      return equal;
    }
    refuse("one of '<<', '<=', '=', '>=' and '>>' is missing");
  }

  std::vector<std::string> words_until(char end) {
    std::vector<std::string> out;
    while (true) {
      skip();
      if (take(end)) break;
      if (at_ == text_.size()) refuse(fmt::format("'{}' is missing", end));
      out.push_back(word(fmt::format("a word is missing before '{}'", end), "!"));
    }
    if (out.empty()) refuse(fmt::format("a word is missing before '{}'", end));
    return out;
  }

  std::string word(std::string_view missing, std::string_view more) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || more.find(text_[at_]) != std::string_view::npos)) ++at_;
    if (at_ == begin) refuse(std::string(missing));
    if (at_ - begin > kMaxName) refuse(fmt::format("a word of more than {} bytes", kMaxName));
    return std::string(text_.substr(begin, at_ - begin));
  }

  static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '.' ||
           c == '_';
  }

  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string rest() const {
    std::string out;
    for (const char c : text_.substr(at_, 20)) out += c >= ' ' && c <= '~' ? c : '?';
    return out;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Code::invalid, "cannot read what a package needs").because(fmt::format("column {}: {}", at_ + 1, why));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Comparison comparison_of(const rpmmd::Entry& entry) {
  constexpr std::array<std::pair<std::string_view, Comparison>, 5> kFlags = {{{"EQ", Comparison::equal},
                                                                              {"LT", Comparison::less},
                                                                              {"LE", Comparison::less_equal},
                                                                              {"GT", Comparison::greater},
                                                                              {"GE", Comparison::greater_equal}}};
  for (const auto& [flags, comparison] : kFlags) {
    if (flags == entry.flags) return comparison;
  }
  throw Error(Code::invalid, fmt::format("cannot read what a package needs of '{}'", entry.name))
      .because(fmt::format("flags '{}' are none of EQ, LT, LE, GT and GE", entry.flags));
}

Relation relation_of(const rpmmd::Entry& entry) {
  Relation out;
  out.name = entry.name;
  out.is_rich = entry.name.starts_with('(');
  if (out.is_rich || entry.flags.empty()) return out;
  out.comparison = comparison_of(entry);
  if (!entry.epoch.empty()) out.version = entry.epoch + ":";
  out.version += entry.version;
  if (!entry.release.empty()) out.version += "-" + entry.release;
  return out;
}

Relations rpm_relations(const Package& package, RelationKind kind) {
  Relations out;
  const bool scripts_alone = kind == RelationKind::pre_depends;
  const auto all = rpmmd::parse_relations(package.description);
  for (std::size_t i = 0; i < rpmmd::kRelations; ++i) {
    const auto relation = static_cast<rpmmd::Relation>(i);
    if (rpmmd::name_of(relation) != field_of(kind, Format::rpm)) continue;
    for (const auto& entry : all.of(relation)) {
      if (entry.pre || !scripts_alone) out.push_back({relation_of(entry)});
    }
  }
  return out;
}

}  // namespace

std::string_view field_of(RelationKind kind, Format format) {
  struct Names {
    std::string_view deb, rpm;
  };
  constexpr std::array<Names, 10> kNames = {{{"Depends", "requires"},
                                             {"Pre-Depends", "requires"},
                                             {"Recommends", "recommends"},
                                             {"Suggests", "suggests"},
                                             {"Enhances", "enhances"},
                                             {"", "supplements"},
                                             {"Conflicts", "conflicts"},
                                             {"Breaks", ""},
                                             {"Replaces", "obsoletes"},
                                             {"Provides", "provides"}}};
  const auto& names = kNames.at(static_cast<std::size_t>(kind));
  return format == Format::deb ? names.deb : names.rpm;
}

std::string to_string(const Relation& relation) {
  std::string out = relation.name;
  if (!relation.architecture_qualifier.empty()) out += ":" + relation.architecture_qualifier;
  if (relation.comparison != Comparison::any)
    out += fmt::format(" ({} {})", to_string(relation.comparison), relation.version);
  if (!relation.architectures.empty()) out += fmt::format(" [{}]", fmt::join(relation.architectures, " "));
  if (!relation.profiles.empty()) out += " " + relation.profiles;
  return out;
}

Relations parse_relations(std::string_view value) { return RelationReader(value).read(); }

Relations relations(const Package& package, RelationKind kind) {
  const std::string_view field = field_of(kind, package.format);
  if (field.empty()) return {};
  try {
    if (package.format == Format::rpm) return rpm_relations(package, kind);
    const auto value = control::Stanza{package.description}.find(field);
    return value ? parse_relations(*value) : Relations();
  } catch (Error& error) {
    error.while_doing(fmt::format("reading {} of {}", field, package.reference()));
    throw;
  }
}

}  // namespace underway::package
