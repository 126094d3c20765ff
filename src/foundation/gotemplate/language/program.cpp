#include "gotemplate/language/program.hpp"

#include "gotemplate/format.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

void write(std::string& out, const Node& node);

void write_operand(std::string& out, const Node& node) {
  const bool nested = node.kind == NodeKind::pipeline;
  if (nested) out += '(';
  write(out, node);
  if (nested) out += ')';
}

void write_pipeline(std::string& out, const PipelineNode& pipeline) {
  for (std::size_t i = 0; i < pipeline.variables.size(); ++i) {
    if (i > 0) out += ", ";
    out += pipeline.variables[i];
  }
  if (!pipeline.variables.empty()) out += pipeline.assigns ? " = " : " := ";
  for (std::size_t i = 0; i < pipeline.commands.size(); ++i) {
    if (i > 0) out += " | ";
    write(out, *pipeline.commands[i]);
  }
}

void write_names(std::string& out, const std::vector<std::string>& names, bool leading_dot) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 || leading_dot) out += '.';
    out += names[i];
  }
}

void write_list(std::string& out, const NodeList& list) {
  for (const auto& node : list) write(out, *node);
}

void write_branch(std::string& out, const BranchNode& branch, std::string_view word) {
  out += fmt::format("{{{{{} ", word);
  write(out, *branch.pipeline);
  out += "}}";
  write_list(out, branch.body);
  if (!branch.otherwise.empty()) {
    out += "{{else}}";
    write_list(out, branch.otherwise);
  }
  out += "{{end}}";
}

void write(std::string& out, const Node& node) {
  switch (node.kind) {
    case NodeKind::text:
      out += static_cast<const TextNode&>(node).text;
      return;
    case NodeKind::action:
      out += "{{";
      write(out, *static_cast<const ActionNode&>(node).pipeline);
      out += "}}";
      return;
    case NodeKind::branch_if:
      return write_branch(out, static_cast<const BranchNode&>(node), "if");
    case NodeKind::branch_with:
      return write_branch(out, static_cast<const BranchNode&>(node), "with");
    case NodeKind::branch_range:
      return write_branch(out, static_cast<const BranchNode&>(node), "range");
    case NodeKind::call_template: {
      const auto& call = static_cast<const CallNode&>(node);
      out += "{{template " + gotemplate::quote(call.name);
      if (call.pipeline) {
        out += ' ';
        write(out, *call.pipeline);
      }
      out += "}}";
      return;
    }
    case NodeKind::break_loop:
      out += "{{break}}";
      return;
    case NodeKind::continue_loop:
      out += "{{continue}}";
      return;
    case NodeKind::pipeline:
      return write_pipeline(out, static_cast<const PipelineNode&>(node));
    case NodeKind::command: {
      const auto& operands = static_cast<const CommandNode&>(node).operands;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i > 0) out += ' ';
        write_operand(out, *operands[i]);
      }
      return;
    }
    case NodeKind::identifier:
      out += static_cast<const IdentifierNode&>(node).function.name;
      return;
    case NodeKind::field:
      return write_names(out, static_cast<const PathNode&>(node).names, true);
    case NodeKind::variable:
      return write_names(out, static_cast<const PathNode&>(node).names, false);
    case NodeKind::chain: {
      const auto& chain = static_cast<const ChainNode&>(node);
      write_operand(out, *chain.base);
      return write_names(out, chain.names, true);
    }
    case NodeKind::dot:
      out += '.';
      return;
    case NodeKind::nil:
      out += "nil";
      return;
    case NodeKind::boolean:
    case NodeKind::number:
    case NodeKind::string:
      out += static_cast<const ConstantNode&>(node).source;
      return;
  }
}

}  // namespace

std::string to_source(const Node& node) {
  std::string out;
  write(out, node);
  return out;
}

unsigned line_of(std::string_view text, std::size_t position) {
  return 1 + static_cast<unsigned>(std::ranges::count(text.substr(0, position), '\n'));
}

std::size_t column_of(std::string_view text, std::size_t position) {
  const std::size_t newline = text.substr(0, position).rfind('\n');
  return newline == std::string_view::npos ? position : position - newline - 1;
}

namespace {

/// The nearest place at or before `at` where no character is cut in two.
std::size_t boundary(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

}  // namespace

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 200;
  if (text.size() > kLongest) text = text.substr(0, boundary(text, kLongest)) + "...";
  return text;
}

std::string excerpt(std::string_view text, std::size_t position, std::size_t size) {
  constexpr std::size_t kWidth = 60;  // of what is shown on each side
  position = std::min(position, text.size());
  const std::size_t column = column_of(text, position);
  const std::string_view line = text.substr(position - column, text.find('\n', position) - (position - column));
  const std::size_t begin = boundary(line, column > kWidth ? column - kWidth : 0);
  const std::size_t mark_end = boundary(line, column + std::min({size, line.size() - column, kWidth}));
  const std::size_t end = boundary(line, mark_end + kWidth);
  return fmt::format("line {}: {}{}>>>{}<<<{}{}", line_of(text, position), begin > 0 ? "…" : "",
                     line.substr(begin, column - begin), line.substr(column, mark_end - column),
                     line.substr(mark_end, end - mark_end), end < line.size() ? "…" : "");
}

}  // namespace underway::gotemplate
