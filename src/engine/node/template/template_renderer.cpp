#include "node/template/template_renderer.hpp"

#include <fcntl.h>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "gotemplate/execute.hpp"
#include "hcl/functions.hpp"
#include "hcl/parse/parser.hpp"
#include "hcl/type.hpp"
#include "node/template/template_compat.hpp"

namespace underway::node {

namespace {

/// "cpu.arch" is reachable as attr.cpu.arch and as attr["cpu.arch"]. Where a name is also the beginning of others
/// ("driver.podman" and "driver.podman.version") the first form means the others.
class DataTree {
 public:
  void add(const std::string& name, const std::string& value) {
    flat_.emplace(name, hcl::Value(value));
    DataTree* at = this;
    for (const std::string& part : split(name, '.')) at = &at->children_[part];
    at->value_ = value;
  }
  hcl::Value value() const {
    hcl::Value::Object members;
    for (const auto& [name, child] : children_)
      members.insert_or_assign(name, child.children_.empty() ? hcl::Value(child.value_) : child.value());
    for (const auto& [name, value] : flat_)
      if (!members.contains(name)) members.emplace(name, value);
    return hcl::Value::object(std::move(members));
  }

 private:
  std::map<std::string, DataTree> children_;
  std::string value_;
  hcl::Value::Object flat_;
};

/// The end of the expression that begins at `begin` (behind "${"): its closing brace; npos when there is none.
std::size_t expression_end(std::string_view text, std::size_t begin) {
  int depth = 1;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"')
      quoted = true;
    else if (c == '\n')
      return std::string_view::npos;
    else if (c == '{')
      ++depth;
    else if (c == '}' && --depth == 0)
      return i;
  }
  return std::string_view::npos;
}

std::string to_text(const hcl::Value& value, const std::string& name, std::string_view expression) {
  if (const auto text = hcl::to_text(value)) return *text;
  throw Error(Code::invalid, fmt::format("'${{{}}}' in {} is no text", expression, name))
      .because(fmt::format("it is a {}", value.type_name()))
      .advise("use jsonencode() or join()");
}

/// The replacement for one `${expression}`; nothing when it is not ours.
std::optional<std::string> evaluate_part(std::string_view expression, const hcl::Context& context,
                                         const std::string& name) {
  hcl::Diagnostics diagnostics;
  const hcl::Expression parsed = hcl::parse_expression(std::string(expression), name, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  for (const auto& variable : parsed.variables())
    if (context.find(variable.root) == nullptr) return std::nullopt;
  const auto value = parsed.evaluate(context, diagnostics);
  if (!value || diagnostics.has_errors()) throw diagnostics.to_error(fmt::format("cannot render {}", name));
  return to_text(*value, name, expression);
}

/// A file inside the allocation that the task may read. `what` names it in errors.
std::string read_inside(const std::string& path, const TemplateInputs& in, std::string_view what) {
  if (in.allow_outside_sources && path.starts_with('/')) return os::read_file(path);
  const Beneath root(in.allocation_root);
  const auto text = root.find(resolve_destination(path, in.task.name, in.allocation_root, in.view));
  if (!text)
    throw Error(Code::not_found, fmt::format("{} '{}' does not exist", what, path))
        .advise("let an artifact or an earlier task bring it");
  return *text;
}

/// What a template's functions ask: the task's environment and files, and through ClusterData the rest.
class NodeSource final : public gotemplate::DataSource {
 public:
  explicit NodeSource(const TemplateInputs& in) : in_(in) {}

  std::optional<std::string> env(const std::string& name) override {
    for (const model::StringMap* values : {&in_.interpolation.environment(), &in_.interpolation.properties()})
      if (const auto found = values->find(name); found != values->end()) return found->second;
    return std::nullopt;
  }
  Answer<std::optional<gotemplate::Variable>> variable(const std::string& path, const std::string& ns) override {
    return in_.cluster == nullptr ? std::nullopt : in_.cluster->variable(in_.asker, path, ns);
  }
  Answer<std::vector<gotemplate::VariableMetadata>> variables(const std::string& prefix,
                                                              const std::string& ns) override {
    return in_.cluster == nullptr ? std::nullopt : in_.cluster->variables(in_.asker, prefix, ns);
  }
  Answer<std::vector<gotemplate::ServiceInstance>> service(const std::string& name) override {
    return in_.cluster == nullptr ? std::nullopt : in_.cluster->service(in_.asker, name);
  }
  Answer<std::vector<gotemplate::ServiceSummary>> services() override {
    return in_.cluster == nullptr ? std::nullopt : in_.cluster->services(in_.asker);
  }
  gotemplate::ForeignReply foreign(const gotemplate::ForeignQuery& query, gotemplate::Dependencies& used) override {
    static const sources::Settings kDefaults;
    if (in_.cluster == nullptr) return {};
    return compat_reply(in_.compat == nullptr ? kDefaults : *in_.compat, in_.asker, *in_.cluster, query, used);
  }
  std::string read_file(const std::string& path) override { return read_inside(path, in_, "file"); }

 private:
  const TemplateInputs& in_;
};

gotemplate::Rendering render_one(const model::Template& entry, const TemplateInputs& in, const hcl::Context& context) {
  const std::string text = entry.source.empty()
                               ? render_data(entry.data, context, fmt::format("template '{}'", entry.destination))
                               : read_inside(in.interpolation.apply(entry.source), in, "template source");
  const auto parsed = gotemplate::parse(entry.destination, text, gotemplate::job_functions(),
                                        {entry.left_delimiter, entry.right_delimiter});
  NodeSource source(in);
  const VirtualClock clock(in.now);
  return gotemplate::render(parsed, {.source = &source,
                                     .clock = &clock,
                                     .missing_key = entry.error_on_missing_key ? gotemplate::MissingKey::error
                                                                               : gotemplate::MissingKey::zero});
}

mode_t parse_mode(const std::string& text) {
  const auto mode = parse_number<mode_t>(text, 8);
  if (!mode || *mode > 07777)
    throw Error(Code::invalid, fmt::format("perms '{}' is no file mode", text)).advise("write it in octal: \"0644\"");
  return *mode;
}

}  // namespace

hcl::Context template_context(const Interpolation& interpolation) {
  // A template is as small as a configuration file: tight limits keep a hostile one from eating the agent.
  hcl::Context context(hcl::Limits{.steps = 1'000'000, .bytes = 16U << 20, .string_bytes = 4U << 20});
  context.functions(hcl::pure_functions());
  std::map<std::string, DataTree> trees;
  for (const char* root : {"attr", "meta", "node"}) trees[root];
  for (const model::StringMap* values : {&interpolation.properties(), &interpolation.secrets()}) {
    for (const auto& [name, value] : *values) {
      const std::size_t dot = name.find('.');
      trees[name.substr(0, dot)].add(name.substr(dot + 1), value);
    }
  }
  for (const auto& [root, tree] : trees) context.set(root, tree.value());
  hcl::Value::Object environment;
  for (const auto& [name, value] : interpolation.environment()) {
    environment.emplace(name, hcl::Value(value));
    if (name.starts_with("NOMAD_")) context.set(name, hcl::Value(value));
  }
  context.set("env", hcl::Value::object(std::move(environment)));
  return context;
}

std::string render_data(const std::string& data, const hcl::Context& context, const std::string& name) {
  std::string out;
  std::string_view rest = data;
  while (true) {
    const std::size_t begin = rest.find("${");
    if (begin == std::string_view::npos) break;
    const std::size_t end = expression_end(rest, begin + 2);
    std::optional<std::string> value;
    if (end != std::string_view::npos) value = evaluate_part(rest.substr(begin + 2, end - begin - 2), context, name);
    out.append(rest.substr(0, begin));
    if (value) {
      out.append(*value);
      rest.remove_prefix(end + 1);
    } else {
      out.append("${");
      rest.remove_prefix(begin + 2);
    }
  }
  out.append(rest);
  return out;
}

Rendering render_templates(const TemplateInputs& in) {
  Rendering rendering;
  if (in.task.templates.empty()) return rendering;
  const Beneath root(in.allocation_root);
  const hcl::Context context = template_context(in.interpolation);
  for (std::size_t i = 0; i < in.task.templates.size(); ++i) {
    model::Template entry = in.task.templates[i];
    entry.destination = in.interpolation.apply(entry.destination);
    try {
      gotemplate::Rendering rendered = render_one(entry, in, context);
      rendering.dependencies.merge(rendered.dependencies);
      for (auto& what : rendered.missing)
        if (std::ranges::find(rendering.missing, what) == rendering.missing.end())
          rendering.missing.push_back(std::move(what));
      if (!rendered.text) continue;
      const std::string& text = *rendered.text;
      const std::string path = resolve_destination(entry.destination, in.task.name, in.allocation_root, in.view);
      if (root.find(path) != text) {
        const os::Owner owner{entry.uid >= 0 ? static_cast<uid_t>(entry.uid) : in.owner.uid,
                              entry.gid >= 0 ? static_cast<gid_t>(entry.gid) : in.owner.gid};
        root.write(path, text, parse_mode(entry.perms), owner);
        rendering.changed.push_back(i);
      }
      if (entry.env)
        for (auto& [name, value] : parse_environment_file(text)) rendering.environment[name] = value;
    } catch (Error& error) {
      error.while_doing(fmt::format("rendering template '{}' of task '{}'", entry.destination, in.task.name));
      throw;
    }
  }
  return rendering;
}

TemplateChange decide_change(const std::vector<model::Template>& templates, const std::vector<std::size_t>& changed) {
  TemplateChange change;
  for (const std::size_t index : changed) {
    const model::Template& entry = templates.at(index);
    if (entry.once) continue;
    switch (entry.change_mode) {
      case model::ChangeMode::noop:
        continue;
      case model::ChangeMode::restart:
        change.restart = true;
        break;
      case model::ChangeMode::signal: {
        const std::string signal = entry.change_signal.empty() ? "SIGHUP" : upper(entry.change_signal);
        if (std::ranges::find(change.signals, signal) == change.signals.end()) change.signals.push_back(signal);
        break;
      }
      case model::ChangeMode::script:
        if (entry.change_script) change.scripts.push_back(&*entry.change_script);
        break;
    }
    change.splay = std::max(change.splay, entry.splay);
  }
  return change;
}

}  // namespace underway::node
