#pragma once
/// @file
/// An expression as a tree, and how it is read and asked.

#include <re2/re2.h>

#include <optional>

#include "filter/filter.hpp"

namespace underway::filter::detail {

/// Where to look. The fields that the parts were found to be are remembered: all rows of a list are of one type.
struct Selector {
  struct Seen {
    const describe::Structure* in = nullptr;
    const describe::Field* field = nullptr;
    std::size_t parts = 1;  ///< of the path that are its name
  };
  std::vector<std::string> path;
  mutable std::vector<Seen> seen;  ///< by part

  /// "/Meta/team": for messages.
  std::string pointer() const;
};

/// What something is compared with: the text of the expression, and what it is as another type.
struct Literal {
  std::string raw;
  std::optional<bool> boolean;
  std::optional<std::int64_t> integer;
  std::optional<double> number;
  std::optional<std::int64_t> duration;  ///< nanoseconds
  std::unique_ptr<re2::RE2> pattern;     ///< of `matches`
};
/// Everything that `raw` can be taken for, but a pattern.
Literal literal(std::string raw);

enum class Operator : std::uint8_t { equal, in, is_empty, matches };

struct Node {
  enum class Kind : std::uint8_t {
    all_of,    ///< `and`
    any_of,    ///< `or`
    negation,  ///< `not`
    match,
    every,  ///< `all … as … { … }`
    some,   ///< `any … as … { … }`
  };
  Kind kind = Kind::match;
  std::vector<Node> parts;  ///< of `not`, `all` and `any`: one

  Operator operation = Operator::equal;  ///< of a match
  bool negated = false;                  ///< `!=`, `not in`, …
  Selector selector;                     ///< of a match, `all` and `any`
  Literal value;                         ///< of a match
  std::string first, second;             ///< names of `all` and `any`; `second` is empty when there is one; "_" is none
};

Node parse(std::string_view text);

/// What is left of the steps.
class Budget {
 public:
  /// For one more row. Throws when there is nothing left for all of them.
  void begin_row();
  void spend(std::size_t steps);

 private:
  std::size_t row_ = 0;
  std::size_t all_ = kStepsInAll;
};

bool evaluate(const Node& node, const Datum& datum, Budget& budget);

}  // namespace underway::filter::detail
