// What a template calls, without running it.
#include "gotemplate/language/program.hpp"
#include "gotemplate/parse.hpp"

#include <algorithm>

namespace underway::gotemplate {

namespace {

/// Each function with its place in the text. The parser bounds the depth.
class Finder {
 public:
  void look(const NodeList& nodes) {
    for (const auto& node : nodes) look(*node);
  }
  std::vector<std::pair<std::size_t, const Function*>> found;

 private:
  void look(const PipelineNode* pipeline) {
    if (pipeline == nullptr) return;
    for (const auto& command : pipeline->commands) look(command->operands);
  }

  void look(const Node& node) {
    switch (node.kind) {
      case NodeKind::action:
        return look(static_cast<const ActionNode&>(node).pipeline.get());
      case NodeKind::call_template:
        return look(static_cast<const CallNode&>(node).pipeline.get());
      case NodeKind::branch_if:
      case NodeKind::branch_with:
      case NodeKind::branch_range: {
        const auto& branch = static_cast<const BranchNode&>(node);
        look(branch.pipeline.get());
        look(branch.body);
        return look(branch.otherwise);
      }
      case NodeKind::pipeline:
        return look(&static_cast<const PipelineNode&>(node));
      case NodeKind::command:
        return look(static_cast<const CommandNode&>(node).operands);
      case NodeKind::chain:
        return look(*static_cast<const ChainNode&>(node).base);
      case NodeKind::identifier:
        found.emplace_back(node.position, &static_cast<const IdentifierNode&>(node).function);
        return;
      default:
        return;
    }
  }
};

}  // namespace

std::vector<FunctionUse> functions_in(const Template& entry) {
  const Program& program = entry.program();
  Finder finder;
  for (const auto& [name, nodes] : program.templates) finder.look(nodes);
  std::ranges::sort(finder.found, {}, [](const auto& use) { return use.first; });
  std::vector<FunctionUse> uses;
  std::size_t line = 1, begin = 0, at = 0;
  for (const auto& [position, function] : finder.found) {
    for (; at < position; ++at) {
      if (program.text[at] != '\n') continue;
      ++line;
      begin = at + 1;
    }
    uses.push_back({function, line, position - begin + 1});
  }
  return uses;
}

}  // namespace underway::gotemplate
