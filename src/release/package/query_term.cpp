#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/allowance.hpp"
#include "base/text.hpp"
#include "control/stanza.hpp"
#include "package/detail/query_tree.hpp"
#include "package/relation.hpp"
#include "rpmmd/relation.hpp"

namespace underway::package::detail {

namespace {

using control::same_name;

/// A field that is asked for by more than one name, or of rpm packages at all.
struct RpmField {
  std::string_view name;
  std::string_view element;              ///< whose text it is
  std::optional<RelationKind> relation;  ///< or what the package says of others
};

/// Both the words of Debian and those of rpm, so that one query fits a site that has both.
constexpr std::array<RpmField, 22> kRpmFields = {{{"License", "rpm:license", {}},
                                                  {"Summary", "summary", {}},
                                                  {"Description", "description", {}},
                                                  {"Url", "url", {}},
                                                  {"Homepage", "url", {}},
                                                  {"Vendor", "rpm:vendor", {}},
                                                  {"Packager", "packager", {}},
                                                  {"Maintainer", "packager", {}},
                                                  {"Buildhost", "rpm:buildhost", {}},
                                                  {"Sourcerpm", "rpm:sourcerpm", {}},
                                                  {"Requires", "", RelationKind::depends},
                                                  {"Depends", "", RelationKind::depends},
                                                  {"Pre-Depends", "", RelationKind::pre_depends},
                                                  {"Recommends", "", RelationKind::recommends},
                                                  {"Suggests", "", RelationKind::suggests},
                                                  {"Enhances", "", RelationKind::enhances},
                                                  {"Supplements", "", RelationKind::supplements},
                                                  {"Conflicts", "", RelationKind::conflicts},
                                                  {"Obsoletes", "", RelationKind::replaces},
                                                  {"Replaces", "", RelationKind::replaces},
                                                  {"Provides", "", RelationKind::provides},
                                                  {"Breaks", "", RelationKind::breaks}}};

/// What every package has, whichever its format. Nothing: the field is no such.
std::optional<std::string> common_field(const Package& package, std::string_view name) {
  if (same_name(name, "Name") || same_name(name, "Package")) return package.name;
  if (same_name(name, "Architecture")) return package.architecture;
  if (same_name(name, "Section") || same_name(name, "Group")) return package.section;
  if (same_name(name, "Filename")) return package.file;
  if (same_name(name, "Size")) return std::to_string(package.size);
  if (same_name(name, "SHA256")) return hex_digest(package.digest);
  return std::nullopt;
}

/// As aptly shows fields: those of several lines as written, the others on one line.
std::string deb_field(const Package& package, std::string_view name) {
  const auto value = control::Stanza{package.description}.find(name);
  if (!value) return "";
  constexpr std::array<std::string_view, 7> kLines = {
      "Description", "Files", "Changes", "Checksums-Sha1", "Checksums-Sha256", "Checksums-Sha512", "Package-List"};
  if (std::any_of(kLines.begin(), kLines.end(), [&](auto lines) { return same_name(lines, name); }))
    return std::string(*value);
  constexpr std::array<std::string_view, 5> kLists = {"Depends", "Pre-Depends", "Recommends", "Suggests", "Provides"};
  std::string line = control::join_lines(*value);
  if (std::none_of(kLists.begin(), kLists.end(), [&](auto list) { return same_name(list, name); })) return line;
  return join(split_list(line), ", ");
}

const RpmField* find_rpm_field(std::string_view name) {
  const auto* found = std::find_if(kRpmFields.begin(), kRpmFields.end(),
                                   [&](const RpmField& field) { return same_name(field.name, name); });
  return found == kRpmFields.end() ? nullptr : found;
}

/// Nothing: rpm packages have no such field.
std::optional<std::string> rpm_field(const Package& package, std::string_view name) {
  if (same_name(name, "Source")) return package.source;
  const RpmField* field = find_rpm_field(name);
  if (field == nullptr) return std::nullopt;
  if (!field->relation) return rpmmd::find_text(package.description, field->element).value_or("");
  std::vector<std::string> out;
  for (const auto& alternatives : relations(package, *field->relation)) out.push_back(to_string(alternatives.front()));
  return join(out, ", ");
}

/// Names that a deb package provides, also with versions. Without reading the field as relations: a query is no place
/// to refuse a package in.
bool deb_provides(const Package& package, std::string_view name) {
  const auto value = control::Stanza{package.description}.find("Provides");
  if (!value) return false;
  const auto provided = split(*value, ',');
  return std::any_of(provided.begin(), provided.end(),
                     [&](std::string_view one) { return trim(one.substr(0, one.find('('))) == name; });
}

bool provides(const Package& package, std::string_view name) {
  // Most packages do not even mention it, and need not be read. In XML five characters are written otherwise.
  const bool as_written = package.format == Format::deb || name.find_first_of("&<>\"'") == std::string_view::npos;
  if (as_written && package.description.find(name) == std::string_view::npos) return false;
  if (package.format == Format::deb) return deb_provides(package, name);
  const auto entries = rpmmd::parse_relations(package.description).of(rpmmd::Relation::provides);
  return std::any_of(entries.begin(), entries.end(), [&](const rpmmd::Entry& entry) { return entry.name == name; });
}

bool fits_architecture(const Package& package, std::string_view architecture) {
  if (is_for_all(package)) return architecture != "source" && architecture != "src";
  if (architecture == "source") return type_of(package) == "source";
  return package.architecture == architecture;
}

/// What is no version is ordered like one all the same, so that 9 comes before 10; but it is equal only as text, as "a"
/// and "a-0" are the same version.
bool holds_as_text(const Condition& condition, std::string_view text) {
  if (condition.pattern) return condition.pattern->matches(text);
  if (condition.comparison == Comparison::any) return !text.empty();
  if (condition.comparison == Comparison::equal) return text == condition.value;
  return satisfies(Format::deb, text, condition.comparison, condition.value);
}

bool holds_as_version(const Condition& condition, Format format, std::string_view version) {
  if (condition.pattern) return condition.pattern->matches(version);
  return satisfies(format, version, condition.comparison, condition.value);
}

bool matches_name(const Term& term, const Package& package) {
  const bool named = package.name == term.word;
  if (term.condition.comparison == Comparison::any) return named || provides(package, term.word);
  return named && holds_as_version(term.condition, package.format, package.version);
}

/// "5.1-6.el9" of "bash-5.1-6.el9.src.rpm".
std::string version_of_source_rpm(std::string_view file) {
  file = file.substr(0, file.rfind(".src.rpm"));
  file = file.substr(0, file.rfind(".nosrc.rpm"));
  const std::size_t release = file.rfind('-');
  if (release == std::string_view::npos || release == 0) return "";
  const std::size_t version = file.rfind('-', release - 1);
  return version == std::string_view::npos ? "" : std::string(file.substr(version + 1));
}

std::string source_version(const Package& package) {
  if (type_of(package) == "source") return "";
  if (package.format == Format::rpm)
    return version_of_source_rpm(rpmmd::find_text(package.description, "rpm:sourcerpm").value_or(""));
  const std::string_view source = control::Stanza{package.description}.find("Source").value_or("");
  const std::size_t open = source.find('('), close = source.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return package.version;
  return std::string(trim(source.substr(open + 1, close - open - 1)));
}

bool matches_special(const Term& term, const Package& package) {
  const Condition& condition = term.condition;
  if (term.word == "$Version") return holds_as_version(condition, package.format, package.version);
  if (term.word == "$SourceVersion") {
    const std::string version = source_version(package);
    return !version.empty() && holds_as_version(condition, package.format, version);
  }
  if (term.word == "$PackageType") return holds_as_text(condition, type_of(package));
  if (term.word == "$Source")
    return holds_as_text(condition, type_of(package) == "source" ? std::string_view() : package.source);
  if (condition.comparison == Comparison::equal && !condition.pattern)
    return fits_architecture(package, condition.value);
  return holds_as_text(condition, package.architecture);
}

bool matches_field(const Term& term, const Package& package) {
  if (same_name(term.word, "Version")) return holds_as_version(term.condition, package.format, package.version);
  if (const auto value = common_field(package, term.word)) return holds_as_text(term.condition, *value);
  if (package.format == Format::deb) return holds_as_text(term.condition, deb_field(package, term.word));
  const auto value = rpm_field(package, term.word);
  return value ? holds_as_text(term.condition, *value) : matches_name(term, package);
}

}  // namespace

const std::vector<std::string>& special_fields() {
  static const std::vector<std::string> kFields = {"$Architecture", "$PackageType", "$Source", "$SourceVersion",
                                                   "$Version"};
  return kFields;
}

bool matches(const Term& term, const Package& package) {
  Allowance::spend();
  if (term.kind == TermKind::reference) {
    // Names of rpm packages have such signs: mod_auth_mellon.
    return package.reference() == term.word || (package.format == Format::rpm && matches_name(term, package));
  }
  if (!term.architecture.empty() && !fits_architecture(package, term.architecture)) return false;
  switch (term.kind) {
    case TermKind::special:
      return matches_special(term, package);
    case TermKind::field:
      return matches_field(term, package);
    default:
      return matches_name(term, package);
  }
}

}  // namespace underway::package::detail
