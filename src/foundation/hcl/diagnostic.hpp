#pragma once
/// @file
/// Source texts, places in them, and what is wrong there. A Range keeps its Source alive, so a diagnostic can be
/// rendered with its source line long after the file was parsed.

#include "base/error.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace underway::hcl {

/// Line and column count from 1; columns count Unicode code points.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
  bool operator==(const Position&) const = default;
};

class Source {
 public:
  Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

  const std::string& name() const { return name_; }  ///< file name, or what stands for it: "<argument>"
  const std::string& text() const { return text_; }
  Position locate(std::size_t offset) const;
  /// The line that holds `offset`, without its line end.
  std::string_view line_at(std::size_t offset) const;

 private:
  std::string name_;
  std::string text_;
};
using SourcePtr = std::shared_ptr<const Source>;

/// Half-open, in bytes of the source's text. Without a source it is nowhere.
struct Range {
  SourcePtr source;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  explicit operator bool() const { return source != nullptr; }
  Position start() const { return source ? source->locate(begin) : Position{}; }
  std::string_view text() const;
  /// "jobs/web.hcl:12:3", or empty.
  std::string where() const;
};

enum class Severity : std::uint8_t { error, warning };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string summary;     ///< what is wrong, with the name in question: "unknown attribute 'prioriti' in job"
  std::string detail;      ///< why, with checkable facts; may be empty
  std::string suggestion;  ///< one next step; may be empty
  Range range;
};

enum class Style : std::uint8_t { plain, coloured };

/// What a person reads, in the style of underway::Error, ending in a newline:
///     error: unknown attribute 'prioriti' in job
///       at:    web.hcl:2:3
///          2 |   prioriti = 50
///            |   ^^^^^^^^
///       why:   …
///       do:    write 'priority'
std::string render(const Diagnostic& diagnostic, Style style = Style::plain);

class Diagnostics {
 public:
  /// At most this many are kept (a broken file would drown its first error); the rest are counted.
  static constexpr std::size_t kMax = 100;

  Diagnostic& error(Range range, std::string summary, std::string detail = {}, std::string suggestion = {});
  Diagnostic& warning(Range range, std::string summary, std::string detail = {}, std::string suggestion = {});
  void add(Diagnostic diagnostic);
  void append(Diagnostics other);

  bool has_errors() const { return errors_ > 0; }
  std::size_t error_count() const { return errors_; }
  bool empty() const { return all_.empty(); }
  const std::vector<Diagnostic>& all() const { return all_; }

  /// All of them, in source order per file, rendered one below the other.
  std::string render(Style style = Style::plain) const;
  /// Error(Code::invalid): `what` fails because of each error, "file:line:column: summary" per reason.
  Error to_error(std::string what) const;
  /// Throws to_error(what) if there are errors.
  void throw_errors(std::string what) const;

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
  std::size_t dropped_ = 0;
  Diagnostic overflow_;
};

/// "write 'priority'" for the candidate nearest to `word`, else empty: for Diagnostic::suggestion.
std::string suggest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace underway::hcl
