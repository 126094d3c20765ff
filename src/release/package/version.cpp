#include "package/version.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::package {

namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr int sign(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

/// Takes the digits off the front of `text`, without the zeros that they begin with.
std::string_view take_number(std::string_view& text) {
  std::size_t zeros = 0;
  while (zeros < text.size() && text[zeros] == '0') ++zeros;
  std::size_t end = zeros;
  while (end < text.size() && is_digit(text[end])) ++end;
  const std::string_view number = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return number;
}

/// Of numbers of any length, without zeros before them.
int compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return sign(a.compare(b));
}

int compare_epochs(std::string_view a, std::string_view b) { return compare_numbers(take_number(a), take_number(b)); }

struct Parts {
  std::string_view epoch;  // digits, maybe none
  std::string_view version;
  std::string_view revision;  // the release of an rpm
  bool has_revision = false;
};

Parts parts_of(std::string_view text) {
  Parts out;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos &&
      std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), is_digit)) {
    out.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const std::size_t dash = text.rfind('-');
  out.version = text.substr(0, dash);
  if (dash != std::string_view::npos) {
    out.revision = text.substr(dash + 1);
    out.has_revision = true;
  }
  return out;
}

/// Where a character stands among those that are no digits; 0 is the end of the text, and a digit.
int deb_order(char c) {
  if (is_digit(c)) return 0;
  if (is_letter(c)) return static_cast<unsigned char>(c);
  if (c == '~') return -1;
  return static_cast<unsigned char>(c) + 256;
}

int compare_deb_part(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    while ((!a.empty() && !is_digit(a.front())) || (!b.empty() && !is_digit(b.front()))) {
      const int order = (a.empty() ? 0 : deb_order(a.front())) - (b.empty() ? 0 : deb_order(b.front()));
      if (order != 0) return sign(order);
      if (!a.empty()) a.remove_prefix(1);
      if (!b.empty()) b.remove_prefix(1);
    }
    if (const int order = compare_numbers(take_number(a), take_number(b)); order != 0) return order;
  }
  return 0;
}

std::string_view take_letters(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_letter(text[end])) ++end;
  const std::string_view letters = text.substr(0, end);
  text.remove_prefix(end);
  return letters;
}

bool begins_with(std::string_view text, char c) { return !text.empty() && text.front() == c; }

void skip_separators(std::string_view& text) {
  while (!text.empty() && !is_digit(text.front()) && !is_letter(text.front()) && text.front() != '~' &&
         text.front() != '^')
    text.remove_prefix(1);
}

/// What '~' and '^' at the front of either decide: '~' is older than the end, '^' newer than the end and older than all
/// else. Nothing is decided when both have the same, which is taken off.
int compare_marks(std::string_view& a, std::string_view& b, bool& again) {
  again = false;
  if (begins_with(a, '~') || begins_with(b, '~')) {
    if (!begins_with(a, '~')) return 1;
    if (!begins_with(b, '~')) return -1;
    again = true;
  } else if (begins_with(a, '^') || begins_with(b, '^')) {
    if (a.empty()) return -1;
    if (b.empty()) return 1;
    if (!begins_with(a, '^')) return 1;
    if (!begins_with(b, '^')) return -1;
    again = true;
  }
  if (again) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return 0;
}

/// rpmvercmp of librpm.
int compare_rpm_part(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  while (!a.empty() || !b.empty()) {
    skip_separators(a);
    skip_separators(b);
    bool again = false;
    if (const int order = compare_marks(a, b, again); order != 0) return order;
    if (again) continue;
    if (a.empty() || b.empty()) break;
    int order = 0;
    if (is_digit(a.front())) {
      // A number is newer than letters.
      if (!is_digit(b.front())) return 1;
      order = compare_numbers(take_number(a), take_number(b));
    } else {
      if (is_digit(b.front())) return -1;
      order = sign(take_letters(a).compare(take_letters(b)));
    }
    if (order != 0) return order;
  }
  if (a.empty() && b.empty()) return 0;
  return a.empty() ? -1 : 1;
}

int compare_parts(Format format, const Parts& a, const Parts& b) {
  if (const int order = compare_epochs(a.epoch, b.epoch); order != 0) return order;
  const auto compare = format == Format::deb ? compare_deb_part : compare_rpm_part;
  if (const int order = compare(a.version, b.version); order != 0) return order;
  if (format == Format::rpm && a.has_revision != b.has_revision) return a.has_revision ? 1 : -1;
  return compare(a.revision, b.revision);
}

}  // namespace

int compare_versions(Format format, std::string_view a, std::string_view b) {
  return compare_parts(format, parts_of(a), parts_of(b));
}

std::string_view to_string(Comparison comparison) {
  constexpr std::array<std::string_view, 6> kSpellings = {"", "<<", "<=", "=", ">=", ">>"};
  return kSpellings.at(static_cast<std::size_t>(comparison));
}

bool satisfies(Format format, std::string_view version, Comparison comparison, std::string_view wanted) {
  if (comparison == Comparison::any) return true;
  Parts a = parts_of(version);
  const Parts b = parts_of(wanted);
  if (format == Format::rpm && !b.has_revision) {
    a.has_revision = false;
    a.revision = {};
  }
  const int order = compare_parts(format, a, b);
  switch (comparison) {
    case Comparison::less:
      return order < 0;
    case Comparison::less_equal:
      return order <= 0;
    case Comparison::equal:
      return order == 0;
    case Comparison::greater_equal:
      return order >= 0;
    case Comparison::greater:
      return order > 0;
    case Comparison::any:
      break;
  }
  return true;
}

}  // namespace underway::package
