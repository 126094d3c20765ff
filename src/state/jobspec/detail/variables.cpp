#include "jobspec/detail/variables.hpp"

#include "base/allowance.hpp"
#include "hcl/parse/parser.hpp"

namespace underway::jobspec::detail {
namespace {

constexpr const char* kUndeclared = "<variables that are not declared>";

/// `var.x` in any expression of the body: x and where it is used first.
std::map<std::string, hcl::Range> used_variables(const hcl::Body& body) {
  std::map<std::string, hcl::Range> used;
  for (const auto& traversal : body.variables()) {
    if (traversal.root == "var" && !traversal.steps.empty() && traversal.steps.front().is_string())
      used.try_emplace(traversal.steps.front().as_string(), traversal.range);
  }
  return used;
}

std::set<std::string> declared_variables(const hcl::Module& module) {
  std::set<std::string> names;
  for (const auto& variable : module.variables()) names.insert(variable.name);
  return names;
}

}  // namespace

GivenValues::GivenValues(const Inputs& inputs, hcl::Diagnostics& diagnostics) : strict_(inputs.strict) {
  inputs_.environment = inputs.environment;
  inputs_.arguments = inputs.variables;
  inputs_.strict = false;
  for (const auto& file : inputs.variable_files) {
    const hcl::Body body = hcl::parse(file.text, file.name, diagnostics);
    inputs_.files.push_back(body);
    hcl::Diagnostics reported_later;  // by the module, which reads the bodies too
    for (const auto& attribute : body.just_attributes(reported_later))
      names_.try_emplace(attribute.name, attribute.name_range);
  }
  for (const auto& [name, value] : inputs.variables) names_.try_emplace(name, hcl::Range{});
}

bool GivenValues::from_environment(const std::string& name) const {
  return inputs_.environment.contains(inputs_.prefix + name);
}

void GivenValues::check_known(const VariableNames& known, hcl::Diagnostics& diagnostics) const {
  if (!strict_) return;
  std::vector<std::string> candidates(known.declared.begin(), known.declared.end());
  candidates.insert(candidates.end(), known.implicit.begin(), known.implicit.end());
  const auto severity =
      known.declared.empty() && !known.implicit.empty() ? hcl::Severity::warning : hcl::Severity::error;
  for (const auto& [name, range] : names_) {
    if (known.declared.contains(name) || known.implicit.contains(name)) continue;
    if (diagnostics.all().size() >= hcl::Diagnostics::kMax) return;  // each is compared with all candidates
    Allowance::spend(candidates.size());
    std::string suggestion = hcl::suggest(name, candidates);
    if (suggestion.empty()) suggestion = fmt::format("declare it: variable \"{}\" {{}}", name);
    diagnostics.add({severity, fmt::format("variable '{}' is given a value, and neither declared nor used", name), "",
                     std::move(suggestion), range});
  }
}

Opened open_body(hcl::Body body, const GivenValues& values, hcl::Context base, hcl::Diagnostics& diagnostics) {
  const auto used = used_variables(body);
  hcl::Diagnostics found;
  hcl::Module module(body, {.types = hcl::TypeRules::liberal, .base = base}, found);
  VariableNames names{.declared = declared_variables(module), .implicit = {}};
  std::string implicit;
  for (const auto& [name, range] : used) {
    if (names.declared.contains(name)) continue;
    names.implicit.insert(name);
    const bool given = values.has(name);
    if (!given)
      diagnostics.error(range, fmt::format("variable '{}' is neither declared nor given a value", name), "",
                        fmt::format("give -var {}=…, or declare it: variable \"{}\" {{}}", name, name));
    // An empty default keeps the error above from being repeated by every use.
    implicit += fmt::format("variable \"{}\" {{\n  type = string\n{}}}\n", name, given ? "" : "  default = \"\"\n");
  }
  if (!implicit.empty()) {
    found = {};
    std::vector<hcl::Body> both{std::move(body), hcl::parse_native(std::move(implicit), kUndeclared, found)};
    module = hcl::Module(hcl::merge(std::move(both)), {.types = hcl::TypeRules::liberal, .base = base}, found);
  }
  diagnostics.append(std::move(found));
  hcl::Context context = module.context(values.for_module(), diagnostics);
  return {hcl::expand_dynamic(module.rest(), context), std::move(context), std::move(names)};
}

hcl::Context base_context(const Inputs& inputs) {
  hcl::Context context;
  context.unknown_roots(hcl::UnknownRoots::keep);
  context.functions(inputs.base_dir ? hcl::file_functions(*inputs.base_dir) : hcl::pure_functions());
  for (const auto& [name, value] : inputs.roots) context.set(name, value);
  return context;
}

}  // namespace underway::jobspec::detail
