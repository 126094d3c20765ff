// The canonical style, by the rules of Go's hclwrite: what it writes is written here, byte by byte.
#include "hcl/format.hpp"

#include "hcl/detail/format_tokens.hpp"
#include "unicode/unicode.hpp"

#include <span>
#include <vector>

namespace underway::hcl {
namespace {

using detail::FormatToken;
using Tokens = std::span<FormatToken>;

/// A line's tokens: what stands before the `=` of an attribute, from there on, and the comment behind it.
struct Line {
  Tokens lead{};
  Tokens assign{};
  Tokens comment{};
};

/// +1 for what opens, -1 for what closes.
int bracket(const FormatToken& token) {
  switch (token.kind) {
    case '{':
    case '[':
    case '(':
    case detail::kOpenSequence:
      return 1;
    case '}':
    case ']':
    case ')':
    case detail::kCloseSequence:
      return -1;
    default:
      return 0;
  }
}

int net_brackets(Tokens tokens, bool to_heredoc = false) {
  int net = 0;
  for (const auto& token : tokens) {
    net += bracket(token);
    if (to_heredoc && token.kind == detail::kOpenHeredoc) break;
  }
  return net;
}

bool ends_line(const FormatToken& token) {
  return token.kind == detail::kNewline || (token.kind == detail::kComment && token.text.ends_with('\n'));
}

Line line_of(Tokens tokens) {
  Line line{.lead = tokens};
  if (line.lead.size() > 1 && line.lead.back().kind == detail::kComment) {
    line.comment = line.lead.last(1);
    line.lead = line.lead.first(line.lead.size() - 1);
  }
  for (std::size_t i = 1; i < line.lead.size(); ++i) {
    if (line.lead[i].kind != '=') continue;
    // Aligned is only what ends on its line.
    if (net_brackets(line.lead.subspan(i)) == 0) {
      line.assign = line.lead.subspan(i);
      line.lead = line.lead.first(i);
    }
    break;
  }
  return line;
}

std::vector<Line> lines_of(Tokens tokens) {
  std::vector<Line> lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!ends_line(tokens[i])) continue;
    lines.push_back(line_of(tokens.subspan(begin, i + 1 - begin)));
    begin = i + 1;
  }
  lines.push_back(line_of(tokens.subspan(begin)));
  return lines;
}

/// A line that opens several brackets goes one level deeper, not several; what closes them comes back in one step.
void indent(std::vector<Line>& lines) {
  std::vector<int> open;
  for (auto& line : lines) {
    if (line.lead.empty()) continue;
    if (line.lead[0].kind == detail::kNewline) {
      line.lead[0].spaces = 0;
      continue;
    }
    const int net = net_brackets(line.lead, true) + net_brackets(line.assign);
    for (int closed = -net; closed > 0 && !open.empty();) {
      const int here = std::min(closed, open.back());
      open.back() -= here;
      closed -= here;
      if (open.back() == 0) open.pop_back();
    }
    line.lead[0].spaces = 2 * open.size();
    if (net > 0) open.push_back(net);
  }
}

/// Whether `-` behind `before` is a sign.
bool expects_operand(const FormatToken& before) {
  constexpr std::string_view kBefore = "({[=:,?+*/%-<>!";
  return before.kind == detail::kNothing || before.kind == detail::kOperator ||
         (before.kind < 256 && kBefore.find(static_cast<char>(before.kind)) != std::string_view::npos);
}

bool is_template_edge(const FormatToken& subject, const FormatToken& after) {
  return subject.kind == detail::kText || subject.kind == detail::kOpenQuote || subject.kind == detail::kOpenHeredoc ||
         after.kind == detail::kText || after.kind == detail::kCloseQuote || after.kind == detail::kCloseHeredoc;
}

/// Whether a blank belongs between `subject` and `after`; `before` stands in front of `subject`.
bool spaced(const FormatToken& before, const FormatToken& subject, const FormatToken& after) {
  if (after.kind == detail::kNewline || after.kind == detail::kNothing) return false;
  if (subject.kind == detail::kIdentifier && after.kind == '(') return false;
  if (subject.kind == '.' || after.kind == '.') return false;
  if (after.kind == ',' || after.kind == detail::kEllipsis) return false;
  if (subject.kind == ',') return true;
  if (is_template_edge(subject, after)) return false;
  if (subject.kind == detail::kIdentifier && subject.text == "in" && before.kind == detail::kIdentifier) return true;
  if (after.kind == '[' &&
      (subject.kind == detail::kIdentifier || subject.kind == detail::kNumber || bracket(subject) < 0))
    return false;
  if (subject.kind == '!') return false;
  if (subject.kind == '-') return !expects_operand(before);
  if (subject.kind == '{' || after.kind == '}') return !(subject.kind == '{' && after.kind == '}');
  if (subject.kind == detail::kOpenSequence && after.kind == '{') return true;
  if (subject.kind == '}' && after.kind == detail::kCloseSequence) return true;
  if (subject.kind == detail::kCloseSequence && after.kind == detail::kOpenSequence) return false;
  return bracket(subject) <= 0 && bracket(after) >= 0;
}

void set_spaces(Tokens tokens) {
  const FormatToken nothing;
  for (std::size_t i = 1; i < tokens.size(); ++i)
    tokens[i].spaces = spaced(i >= 2 ? tokens[i - 2] : nothing, tokens[i - 1], tokens[i]) ? 1 : 0;
}

std::size_t columns(Tokens tokens) {
  std::size_t count = 0;
  for (const auto& token : tokens) count += token.spaces + unicode::count_clusters(token.text);
  return count;
}

/// Sets the first token of `cell` of neighbouring lines below each other, behind what `before` measures.
template <class Cell, class Before>
void align(std::vector<Line>& lines, Cell cell, Before before) {
  for (std::size_t begin = 0; begin < lines.size();) {
    std::size_t end = begin;
    std::size_t widest = 0;
    for (; end < lines.size() && !cell(lines[end]).empty(); ++end) widest = std::max(widest, before(lines[end]));
    for (std::size_t i = begin; i < end; ++i) cell(lines[i])[0].spaces = widest - before(lines[i]) + 1;
    begin = std::max(end, begin + 1);
  }
}

}  // namespace

std::string format(std::string_view text) {
  std::vector<FormatToken> tokens = detail::format_tokens(text);
  std::vector<Line> lines = lines_of(Tokens(tokens).first(tokens.size() - 1));
  indent(lines);
  for (auto& line : lines) {
    set_spaces(line.lead);
    set_spaces(line.assign);
    if (!line.assign.empty()) line.assign[0].spaces = 1;
  }
  align(lines, [](const Line& line) { return line.assign; }, [](const Line& line) { return columns(line.lead); });
  align(
      lines, [](const Line& line) { return line.comment; },
      [](const Line& line) { return columns(line.lead) + columns(line.assign); });
  std::string out;
  out.reserve(text.size());
  for (const auto& token : tokens) {
    out.append(token.spaces, ' ');
    out += token.text;
  }
  return out;
}

}  // namespace underway::hcl
