#include "acl/policy.hpp"

#include "hcl/parse/parser.hpp"
#include "jobspec/decode.hpp"

namespace underway::acl {

using describe::Builder;
using describe::Structure;
using describe::Tag;

// The language, as it is written.
namespace {

struct PathBlock {
  std::string path;
  std::vector<std::string> capabilities;
};
struct VariablesBlock {
  std::vector<PathBlock> paths;
};
struct NamespaceBlock {
  std::string name;
  std::string policy;
  std::vector<std::string> capabilities;
  std::optional<VariablesBlock> variables;
};
/// A node pool or a host volume.
struct NamedBlock {
  std::string name;
  std::string policy;
  std::vector<std::string> capabilities;
};
/// node, agent, operator, quota or plugin.
struct LevelBlock {
  std::string policy;
  std::vector<std::string> capabilities;
};

const Structure& description(Tag<PathBlock>) {
  static const Structure s =
      Builder<PathBlock>("path", "Variables below a path.")
          .label<&PathBlock::path>("path", "path", "With `*` for any run of characters.")
          .attribute<&PathBlock::capabilities>("capabilities", "capabilities", "read, write, list, destroy, deny.")
          .required()
          .done();
  return s;
}
const Structure& description(Tag<VariablesBlock>) {
  static const Structure s = Builder<VariablesBlock>("variables", "What may be done with variables.")
                                 .block<&VariablesBlock::paths>("path", "path", "A path, or a pattern of paths.")
                                 .done();
  return s;
}
const Structure& description(Tag<NamespaceBlock>) {
  static const Structure s =
      Builder<NamespaceBlock>("namespace", "What may be done in a namespace.")
          .label<&NamespaceBlock::name>("name", "name", "With `*` for any run of characters.")
          .attribute<&NamespaceBlock::policy>("policy", "policy", "read, write, scale or deny.")
          .attribute<&NamespaceBlock::capabilities>("capabilities", "capabilities", "Single capabilities.")
          .block<&NamespaceBlock::variables>("variables", "variables", "What may be done with variables.")
          .done();
  return s;
}
const Structure& description(Tag<NamedBlock>) {
  static const Structure s =
      Builder<NamedBlock>("named rule", "A node pool or a host volume.")
          .label<&NamedBlock::name>("name", "name", "With `*` for any run of characters.")
          .attribute<&NamedBlock::policy>("policy", "policy", "read, write or deny.")
          .attribute<&NamedBlock::capabilities>("capabilities", "capabilities", "Single capabilities.")
          .done();
  return s;
}
const Structure& description(Tag<LevelBlock>) {
  static const Structure s =
      Builder<LevelBlock>("rule", "Something that has levels only.")
          .attribute<&LevelBlock::policy>("policy", "policy", "list, read, write or deny.")
          .attribute<&LevelBlock::capabilities>("capabilities", "capabilities", "Single capabilities.")
          .done();
  return s;
}

constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*";

class Reader {
 public:
  Reader(Policy& policy, hcl::Diagnostics& diagnostics) : policy_(policy), diagnostics_(diagnostics) {}

  void read(const hcl::Body& body) {
    const hcl::Schema schema{.blocks = {{"namespace", {"name"}},
                                        {"node_pool", {"name"}},
                                        {"host_volume", {"name"}},
                                        {"agent"},
                                        {"node"},
                                        {"operator"},
                                        {"quota"},
                                        {"plugin"}}};
    const auto content = body.content(schema, diagnostics_, "a policy");
    std::map<std::string, std::size_t, std::less<>> counts;
    for (const auto& block : content.blocks) {
      if (++counts[block.type] > kMaxRules) {
        diagnostics_.error(block.range, fmt::format("more than {} '{}' blocks", kMaxRules, block.type));
        return;
      }
      if (block.type == "namespace")
        read_namespace(block);
      else if (block.type == "node_pool")
        read_named(block, policy_.node_pools);
      else if (block.type == "host_volume")
        read_named(block, policy_.host_volumes);
      else
        read_level(block);
    }
  }

 private:
  template <class Rule>
  Rule decode(const hcl::Block& block) {
    Rule rule;
    jobspec::decode(block, describe::structure_of<Rule>(), &rule, context_, diagnostics_);
    return rule;
  }

  /// The name of a block; empty, and reported, when it is none.
  std::string name_of(const hcl::Block& block) {
    const std::string& name = block.label(0);
    const bool good =
        !name.empty() && name.size() <= 128 && name.find_first_not_of(kNameCharacters) == std::string::npos;
    if (good) return name;
    diagnostics_.error(block.range, fmt::format("'{}' is no name of a {}", name.substr(0, 128), block.type),
                       "1 to 128 letters, digits, '-', '_', and '*' for any run of characters");
    return {};
  }

  void unknown(const hcl::Block& block, const char* attribute, const std::string& what, const std::string& word,
               const std::vector<std::string>& known) {
    hcl::Diagnostics ignored;  // the block is decoded, with all its errors
    const auto content = block.body.partial_content({.attributes = {{attribute, false}}}, ignored).first;
    const auto* found = content.find(attribute);
    diagnostics_.error(found != nullptr ? found->range : block.range,
                       fmt::format("unknown {} '{}' in {}", what, word, block.type), "", hcl::suggest(word, known));
  }

  void read_namespace(const hcl::Block& block) {
    const std::string name = name_of(block);
    const auto rule = decode<NamespaceBlock>(block);
    auto& rules = policy_.namespaces[name];
    if (!rule.policy.empty()) {
      if (const auto expanded = expand_policy(rule.policy))
        rules.capabilities.add(*expanded);
      else
        unknown(block, "policy", "policy", rule.policy, {"read", "write", "scale", "deny"});
    }
    for (const auto& word : rule.capabilities) {
      if (const auto capability = parse_capability(word))
        rules.capabilities.add(*capability);
      else
        unknown(block, "capabilities", "capability", word, capability_names());
    }
    if (rule.variables) read_variables(block, *rule.variables, rules);
  }

  void read_variables(const hcl::Block& block, const VariablesBlock& variables, NamespaceRules& rules) {
    if (variables.paths.empty()) diagnostics_.error(block.range, "variables names no path");
    if (variables.paths.size() > kMaxRules)
      diagnostics_.error(block.range, fmt::format("more than {} paths", kMaxRules));
    for (const auto& path : variables.paths) {
      if (path.path.empty() || path.path.starts_with('/')) {
        diagnostics_.error(block.range, fmt::format("'{}' is no path of variables", path.path),
                           "paths are not empty and do not begin with '/'");
        continue;
      }
      AccessSet& access = rules.variables[path.path];
      for (const auto& word : path.capabilities) {
        const auto parsed = parse_access(word);
        if (!parsed) unknown(block, "variables", "capability of variables", word, access_names());
        if (parsed) access |= static_cast<AccessSet>(*parsed);
        if (parsed == Access::read) access |= static_cast<AccessSet>(Access::list);
      }
    }
  }

  static std::optional<Level> level_of(const hcl::Block& block, const std::string& word) {
    if (word == "deny") return Level::deny;
    if (word == "read") return Level::read;
    if (word == "write") return Level::write;
    if (word == "list" && block.type == "plugin") return Level::list;
    return std::nullopt;
  }

  Level policy_level(const hcl::Block& block, const std::string& word) {
    if (const auto level = level_of(block, word)) return *level;
    std::vector<std::string> known{"read", "write", "deny"};
    if (block.type == "plugin") known.emplace_back("list");
    unknown(block, "policy", "policy", word, known);
    return Level::none;
  }

  /// The single capabilities, as the level that has them; an operator's grant no level, but what they name.
  Level capability_level(const hcl::Block& block, const std::string& word) {
    using Known = std::map<std::string, Level, std::less<>>;
    static const std::map<std::string, Known, std::less<>> kinds = {
        {"node_pool",
         {{"read", Level::read}, {"write", Level::write}, {"delete", Level::write}, {"deny", Level::deny}}},
        {"host_volume", {{"mount-readonly", Level::read}, {"mount-readwrite", Level::write}, {"deny", Level::deny}}},
        {"operator", {{"snapshot-save", Level::none}, {"license-read", Level::none}, {"deny", Level::deny}}}};
    const auto kind = kinds.find(block.type);
    const Known& known = kind == kinds.end() ? Known{} : kind->second;
    if (block.type == "operator" && word == "snapshot-save") policy_.snapshots = true;
    if (const auto it = known.find(word); it != known.end()) return it->second;
    std::vector<std::string> names;
    for (const auto& [name, level] : known) names.push_back(name);
    unknown(block, "capabilities", "capability", word, names);
    return Level::none;
  }

  template <class Rule>
  void raise(Level& level, const hcl::Block& block, const Rule& rule) {
    if (!rule.policy.empty()) level = std::max(level, policy_level(block, rule.policy));
    for (const auto& word : rule.capabilities) level = std::max(level, capability_level(block, word));
    if (rule.policy.empty() && rule.capabilities.empty())
      diagnostics_.error(block.range, fmt::format("{} has neither policy nor capabilities", block.type));
  }

  void read_named(const hcl::Block& block, std::map<std::string, Level>& levels) {
    const std::string name = name_of(block);
    raise(levels[name], block, decode<NamedBlock>(block));
  }

  void read_level(const hcl::Block& block) {
    Level& level = block.type == "agent"      ? policy_.agent
                   : block.type == "node"     ? policy_.node
                   : block.type == "operator" ? policy_.operators
                   : block.type == "quota"    ? policy_.quota
                                              : policy_.plugin;
    raise(level, block, decode<LevelBlock>(block));
  }

  Policy& policy_;
  hcl::Diagnostics& diagnostics_;
  const hcl::Context context_;
};

}  // namespace

bool Policy::empty() const {
  return namespaces.empty() && node_pools.empty() && host_volumes.empty() && agent == Level::none &&
         node == Level::none && operators == Level::none && quota == Level::none && plugin == Level::none && !snapshots;
}

Policy parse_policy(std::string rules, std::string name, hcl::Diagnostics& diagnostics) {
  Policy policy;
  if (rules.empty()) return policy;  // of who attaches it first, and says later what it grants
  if (rules.size() > kMaxRulesBytes) {
    diagnostics.error({}, fmt::format("the rules have {} bytes; at most {} are read", rules.size(), kMaxRulesBytes));
    return policy;
  }
  const auto body = hcl::parse(std::move(rules), std::move(name), diagnostics);
  if (diagnostics.has_errors()) return policy;
  Reader(policy, diagnostics).read(body);
  if (!diagnostics.has_errors() && policy.empty())
    diagnostics.error(body.range(), "the policy has no rule", "", "give it a namespace, node, agent or operator block");
  return policy;
}

Policy parse_policy(const std::string& rules, const std::string& name) {
  hcl::Diagnostics diagnostics;
  Policy policy = parse_policy(rules, name, diagnostics);
  diagnostics.throw_errors(fmt::format("the rules of policy '{}' are not valid", name));
  return policy;
}

}  // namespace underway::acl
