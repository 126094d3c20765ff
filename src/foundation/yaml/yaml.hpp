#pragma once
/// @file
/// YAML 1.1 by libyaml: a text into trees of nodes, and events into a text. Go's readers of YAML are ports of the same
/// library, so what they read and write is what is read and written here.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::yaml {

enum class Style : std::uint8_t { plain, single_quoted, double_quoted, literal, folded };

struct Node {
  enum class Kind : std::uint8_t { scalar, sequence, mapping, alias };
  Kind kind = Kind::scalar;
  std::string tag{};     ///< long form ("tag:yaml.org,2002:str"); empty when none is written, and for "!"
  std::string anchor{};  ///< what it is named by `&`; of an alias, what it refers to
  std::string text{};    ///< of a scalar
  Style style = Style::plain;
  std::vector<Node> children{};  ///< items; of a mapping, key and value in turn
  std::size_t line = 0;          ///< from 1
  bool quoted() const { return style == Style::single_quoted || style == Style::double_quoted; }
};

struct Limits {
  std::size_t bytes = 16u << 20;
  std::size_t nodes = 1'000'000;
  unsigned depth = 180;
  std::size_t documents = SIZE_MAX;  ///< so many are read; what follows is not looked at
};

/// The documents of `text`; none when it is empty or holds comments alone. Throws Error(invalid) that names the line,
/// and Error(too_large) beyond `limits`.
std::vector<Node> parse(std::string_view text, const Limits& limits = {});

/// What a scalar is before anybody looks at its digits: by its tag, else by the words of YAML 1.1.
struct Scalar {
  enum class Kind : std::uint8_t {
    text,
    null,
    boolean,
    infinity,  ///< `negative` says which
    not_a_number,
    timestamp,  ///< `text` is it in RFC 3339, whole seconds
    merge,      ///< `<<` as a key; elsewhere a text
    number,     ///< it begins like one: its reader tries, else it is a text
  };
  Kind kind = Kind::text;
  bool truth = false;
  bool negative = false;
  std::string text{};
};

/// Throws Error(invalid) for a tag that the text does not fit, and for an unknown tag.
Scalar scalar_of(const Node& node);
/// Of the formats of YAML 1.1 those that go-yaml reads: in RFC 3339 with whole seconds, or nothing.
std::optional<std::string> timestamp(std::string_view text);

/// Writes one document.
class Emitter {
 public:
  /// Texts are folded at `width` columns; -1: never.
  explicit Emitter(int width = -1);
  ~Emitter();
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  void begin_sequence();
  void end_sequence();
  void begin_mapping();
  void end_mapping();
  /// `style` is a wish: what cannot be written that way is written as libyaml then does.
  void scalar(std::string_view text, Style style, std::string_view tag = {});
  /// Bytes written so far, for whoever limits them.
  std::size_t size() const;
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace underway::yaml
