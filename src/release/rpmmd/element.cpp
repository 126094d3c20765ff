#include "rpmmd/element.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "rpmmd/detail/xml.hpp"

namespace underway::rpmmd {
namespace {

constexpr std::size_t kChanges = 10;

/// What XML 1.0 can hold of `text`.
std::string clean(std::string_view text) {
  const bool utf8 = is_utf8(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') continue;
    if (utf8 || byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0U | (byte >> 6U));
      out += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return out;
}

std::string content(std::string_view text) { return detail::escape(clean(text)); }
std::string value(std::string_view text) { return detail::escape_attribute(clean(text)); }

std::string leaf(std::string_view name, std::string_view text) {
  return fmt::format("<{0}>{1}</{0}>", name, content(text));
}

std::string version_of(const Nevra& nevra) {
  return fmt::format("<version epoch=\"{}\" ver=\"{}\" rel=\"{}\"/>", nevra.epoch, value(nevra.version),
                     value(nevra.release));
}

void write_entry(std::string& out, const Entry& entry) {
  out += fmt::format("      <rpm:entry name=\"{}\"", value(entry.name));
  const auto add = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) out += fmt::format(" {}=\"{}\"", name, value(text));
  };
  if (!entry.flags.empty()) {
    add("flags", entry.flags);
    add("epoch", entry.epoch);
    add("ver", entry.version);
    add("rel", entry.release);
  }
  if (entry.pre) out += " pre=\"1\"";
  out += "/>\n";
}

void write_relations(std::string& out, const Relations& relations) {
  static constexpr std::array<Relation, kRelations> kOrder = {
      Relation::provides, Relation::requirements, Relation::conflicts,  Relation::obsoletes,
      Relation::suggests, Relation::enhances,     Relation::recommends, Relation::supplements};
  for (const Relation relation : kOrder) {
    const auto& entries = relations.of(relation);
    if (entries.empty()) continue;
    out += fmt::format("    <rpm:{}>\n", name_of(relation));
    for (const Entry& entry : entries) write_entry(out, entry);
    out += fmt::format("    </rpm:{}>\n", name_of(relation));
  }
}

void write_file(std::string& out, const FileName& file, std::string_view indent) {
  const std::string_view type = file.kind == FileName::Kind::directory ? " type=\"dir\""
                                : file.kind == FileName::Kind::ghost   ? " type=\"ghost\""
                                                                       : "";
  out += fmt::format("{}<file{}>{}</file>\n", indent, type, content(file.path));
}

std::string write_primary(const Description& d, const PackageFile& file) {
  std::string out = "<package type=\"rpm\">\n";
  const auto line = [&](std::string_view text) { out += fmt::format("  {}\n", text); };
  line(leaf("name", d.nevra.name));
  line(leaf("arch", d.nevra.arch));
  line(version_of(d.nevra));
  line(fmt::format("<checksum type=\"{}\" pkgid=\"YES\">{}</checksum>", file.checksum.type, file.checksum.hex));
  line(leaf("summary", d.summary));
  line(leaf("description", d.description));
  line(leaf("packager", d.packager));
  line(leaf("url", d.url));
  line(fmt::format("<time file=\"{}\" build=\"{}\"/>", file.timestamp, d.build_time));
  line(fmt::format("<size package=\"{}\" installed=\"{}\" archive=\"{}\"/>", file.size, d.installed_size,
                   d.archive_size));
  line(fmt::format("<location href=\"{}\"/>", value(file.location)));
  line("<format>");
  line("  " + leaf("rpm:license", d.license));
  line("  " + leaf("rpm:vendor", d.vendor));
  line("  " + leaf("rpm:group", d.group));
  line("  " + leaf("rpm:buildhost", d.build_host));
  line("  " + leaf("rpm:sourcerpm", d.source_rpm));
  line(fmt::format("  <rpm:header-range start=\"{}\" end=\"{}\"/>", d.header_begin, d.header_end));
  write_relations(out, d.relations);
  for (const FileName& name : d.files)
    if (is_primary(name.path)) write_file(out, name, "    ");
  line("</format>");
  return out + "</package>";
}

std::string head(const Description& d, const PackageFile& file) {
  return fmt::format("<package pkgid=\"{}\" name=\"{}\" arch=\"{}\">\n  {}\n", file.checksum.hex, value(d.nevra.name),
                     value(d.nevra.arch), version_of(d.nevra));
}

std::string write_filelists(const Description& d, const PackageFile& file) {
  std::string out = head(d, file);
  for (const FileName& name : d.files) write_file(out, name, "  ");
  return out + "</package>";
}

/// The oldest comes first.
std::string write_other(const Description& d, const PackageFile& file) {
  std::string out = head(d, file);
  std::optional<std::int64_t> last;
  for (std::size_t i = std::min(d.changes.size(), kChanges); i-- > 0;) {
    const Change& change = d.changes[i];
    // Headers know days alone; clients sort by the date, and are to find the order of one day.
    last = last && change.date <= *last ? *last + 1 : change.date;
    out += fmt::format("  <changelog author=\"{}\" date=\"{}\">{}</changelog>\n", value(change.author), *last,
                       content(change.text));
  }
  return out + "</package>";
}

}  // namespace

bool is_primary(std::string_view path) {
  return path.starts_with("/etc/") || path == "/usr/lib/sendmail" || path.find("bin/") != std::string_view::npos;
}

Elements write_package(const Description& description, const PackageFile& file) {
  check_word(description.nevra.name, "the package name");
  check_word(description.nevra.version, "the version");
  check_word(description.nevra.release, "the release");
  check_word(description.nevra.arch, "the architecture");
  check_location(file.location);
  check_checksum(file.checksum, description.nevra.name);
  return {write_primary(description, file), write_filelists(description, file), write_other(description, file)};
}

}  // namespace underway::rpmmd
