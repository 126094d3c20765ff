#pragma once
/// @file
/// XML by expat: events with the places in the text that they were read from.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace underway::rpmmd::detail {

class Attributes {
 public:
  explicit Attributes(const char** pairs) : pairs_(pairs) {}
  std::optional<std::string_view> find(std::string_view name) const;
  /// Empty when there is none.
  std::string get(std::string_view name) const { return std::string(find(name).value_or("")); }

 private:
  const char** pairs_;
};

/// What somebody makes of the elements. Depth 1 is the root.
class Handler {
 public:
  virtual ~Handler() = default;
  /// `offset` is where its '<' stands.
  virtual void begin(unsigned depth, std::string_view name, const Attributes& attributes, std::size_t offset) = 0;
  /// `offset` is behind its end.
  virtual void end(unsigned depth, std::string_view name, std::size_t offset) = 0;

  /// The text that comes is added to `sink`, until told otherwise.
  void collect(std::string* sink) { sink_ = sink; }
  std::string* sink() const { return sink_; }

 private:
  std::string* sink_ = nullptr;
};

/// Errors, of `what` and with the line: invalid for what is not well-formed, has a document type (entities grow) or a
/// prefix other than `rpm` and `xml`, which would mean nothing when the element is written into another document, and
/// what `handler` throws.
void read_xml(std::string_view text, std::string_view what, Handler& handler);

/// For text between tags.
std::string escape(std::string_view text);
/// For values of attributes in double quotes: where a line ends in one, the parser of XML would read a blank.
std::string escape_attribute(std::string_view text);

}  // namespace underway::rpmmd::detail
