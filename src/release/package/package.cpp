#include "package/package.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "control/stanza.hpp"

namespace underway::package {

namespace {

constexpr bool is_alphanumeric(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Printable ASCII without the blank.
constexpr bool is_graphic(char c) { return c > ' ' && c <= '~'; }

constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

/// Text of a stranger, as it may stand in an error.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += is_control(c) ? '?' : c;
  if (text.size() > 80) out += "…";
  return is_utf8(out) ? out : "(bytes that are no text)";
}

[[noreturn]] void refuse(const Package& package, Code code, std::string why) {
  throw Error(code, fmt::format("the index describes a package that is not taken: '{}' {}", shown(package.name),
                                shown(package.version)))
      .because(std::move(why));
}

void check_size(const Package& package, std::string_view what, std::string_view text, std::size_t most) {
  if (text.size() > most)
    refuse(package, Code::too_large, fmt::format("its {} has {} bytes, {} are allowed", what, text.size(), most));
}

void check_name(const Package& package) {
  const std::string_view name = package.name;
  check_size(package, "name", name, kMaxName);
  const auto allowed = [](char c) { return is_alphanumeric(c) || c == '+' || c == '-' || c == '.' || c == '_'; };
  const auto begins = [&](char c) { return is_alphanumeric(c) || (package.format == Format::rpm && c == '_'); };
  if (name.empty() || !begins(name.front()) || !std::all_of(name.begin(), name.end(), allowed))
    refuse(package, Code::invalid,
           "a name has letters, digits, '+', '-', '.' and '_', and begins with a letter or a digit");
}

/// Of rpm more is let through, since its build has become stricter over the years; nothing that ends a word or a path.
void check_version(const Package& package) {
  const std::string_view version = package.version;
  check_size(package, "version", version, kMaxName);
  const auto allowed = [&](char c) {
    if (package.format == Format::rpm) return is_graphic(c) && c != '/';
    return is_alphanumeric(c) || std::string_view(".+-~:_").find(c) != std::string_view::npos;
  };
  if (version.empty() || !std::all_of(version.begin(), version.end(), allowed))
    refuse(package, Code::invalid, fmt::format("'{}' is no version", shown(version)));
}

void check_architecture(const Package& package) {
  const std::string_view text = package.architecture;
  check_size(package, "architecture", text, kMaxArchitecture);
  const auto allowed = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), allowed))
    refuse(package, Code::invalid, fmt::format("'{}' is no architecture", shown(text)));
}

/// "..", also as URLs may write it: an index escapes nothing, and a server may take the escapes back.
bool is_parent(std::string_view component) {
  int dots = 0;
  while (!component.empty()) {
    const bool escaped = component.starts_with("%2e") || component.starts_with("%2E");
    if (!escaped && component.front() != '.') return false;
    component.remove_prefix(escaped ? 3 : 1);
    ++dots;
  }
  return dots == 2;
}

void check_file(const Package& package) {
  const std::string_view file = package.file;
  check_size(package, "path", file, kMaxFile);
  const auto wrong = [&](std::string_view why) {
    refuse(package, Code::invalid, fmt::format("its path '{}' {}", shown(file), why));
  };
  if (file.empty() || file.ends_with('/')) wrong("names no file");
  if (file.front() == '/') wrong("is absolute");
  if (std::any_of(file.begin(), file.end(), is_control)) wrong("has a control character");
  std::size_t begin = 0;
  while (begin <= file.size()) {
    const std::size_t end = std::min(file.find('/', begin), file.size());
    if (is_parent(file.substr(begin, end - begin))) wrong("has '..' in it");
    begin = end + 1;
  }
}

void check_line(const Package& package, std::string_view what, std::string_view text) {
  check_size(package, what, text, kMaxName);
  if (std::any_of(text.begin(), text.end(), is_control) || !is_utf8(text))
    refuse(package, Code::invalid, fmt::format("its {} is no line of text", what));
}

/// "name" of "name (version)".
std::string_view source_name(std::string_view source) { return trim(source.substr(0, source.find('('))); }

/// What of_stanza() looks for.
struct Found {
  std::optional<std::string_view> name, version, architecture, source, section, file, size, digest;

  std::optional<std::string_view>* place(std::string_view field) {
    using control::same_name;
    switch (field.size()) {
      case 4:
        return same_name(field, "Size") ? &size : nullptr;
      case 6:
        return same_name(field, "SHA256") ? &digest : same_name(field, "Source") ? &source : nullptr;
      case 7:
        return same_name(field, "Package")   ? &name
               : same_name(field, "Version") ? &version
               : same_name(field, "Section") ? &section
                                             : nullptr;
      case 8:
        return same_name(field, "Filename") ? &file : nullptr;
      case 12:
        return same_name(field, "Architecture") ? &architecture : nullptr;
      default:
        return nullptr;
    }
  }
};

std::string_view get(const std::optional<std::string_view>& value, std::string_view field) {
  if (!value || value->empty())
    throw Error(Code::invalid, "the index describes a package that is not taken").because(fmt::format("no {}", field));
  return *value;
}

Package read(const control::Stanza& stanza) {
  Found found;
  control::FieldCursor cursor(stanza.text);
  for (control::Field field; cursor.next(field);) {
    if (auto* place = found.place(field.name)) *place = field.value;
  }
  Package out;
  out.name = get(found.name, "Package");
  out.version = get(found.version, "Version");
  out.architecture = get(found.architecture, "Architecture");
  out.file = get(found.file, "Filename");
  out.source = found.source ? source_name(*found.source) : std::string_view();
  if (out.source.empty()) out.source = out.name;
  out.section = found.section.value_or("");
  const std::string_view size = get(found.size, "Size");
  const auto bytes = parse_number<std::uint64_t>(size);
  if (!bytes) refuse(out, Code::invalid, fmt::format("its Size '{}' is no number of bytes", shown(size)));
  out.size = *bytes;
  out.digest = parse_digest(get(found.digest, "SHA256"));
  out.description = stanza.text;
  check(out);
  return out;
}

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string_view to_string(Format format) { return format == Format::deb ? "deb" : "rpm"; }

std::string hex_digest(const Digest& digest) {
  return hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

Digest parse_digest(std::string_view text) {
  Digest out;
  bool good = text.size() == 2 * out.size();
  for (std::size_t i = 0; good && i < out.size(); ++i) {
    const int high = hexadecimal(text[2 * i]), low = hexadecimal(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    if (good) out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  if (!good)
    throw Error(Code::invalid, fmt::format("'{}' is no SHA-256", shown(text)))
        .because("it is written as 64 hexadecimal digits");
  return out;
}

std::string Package::reference() const { return fmt::format("{}_{}_{}", name, version, architecture); }

Package of_stanza(const control::Stanza& stanza) {
  try {
    return read(stanza);
  } catch (Error& error) {
    error.while_doing(fmt::format("reading the stanza in line {}", stanza.line));
    throw;
  }
}

void check(const Package& package) {
  check_name(package);
  check_version(package);
  check_architecture(package);
  check_file(package);
  check_line(package, "source", package.source);
  check_line(package, "section", package.section);
}

bool is_for_all(const Package& package) {
  return package.architecture == (package.format == Format::deb ? "all" : "noarch");
}

std::string_view type_of(const Package& package) {
  if (package.format == Format::rpm)
    return package.architecture == "src" || package.architecture == "nosrc" ? "source" : "rpm";
  if (package.architecture == "source") return "source";
  return package.file.ends_with(".udeb") ? "udeb" : "deb";
}

}  // namespace underway::package
