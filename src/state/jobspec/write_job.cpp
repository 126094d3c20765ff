#include "base/text.hpp"
#include "hcl/number.hpp"
#include "jobspec/jobspec.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <span>

namespace underway::jobspec {
namespace {

using describe::Field;
using describe::Form;
using describe::Kind;
using describe::Structure;
using describe::Type;

constexpr std::string_view kIdentifierStart = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr std::string_view kIdentifierRest = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";

bool is_identifier(std::string_view text) {
  return !text.empty() && kIdentifierStart.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(kIdentifierRest) == std::string_view::npos;
}

/// The length of a `${attr.kernel.name}` at `at` that run time resolves and that reads back as it is; 0 when there is
/// none. After another `$` it would read as an escape.
std::size_t runtime_reference(std::string_view text, std::size_t at) {
  if (at > 0 && text[at - 1] == '$') return 0;
  text.remove_prefix(at);
  const std::size_t end = text.find('}');
  if (!text.starts_with("${") || end == std::string_view::npos) return 0;
  const auto steps = split(text.substr(2, end - 2), '.');
  if (!std::all_of(steps.begin(), steps.end(), is_identifier)) return 0;
  const auto& root = steps.front();
  const bool at_run_time = root == "attr" || root == "meta" || root == "node" || root == "device" ||
                           (root.starts_with("NOMAD_") && steps.size() == 1);
  return at_run_time ? end + 1 : 0;
}

/// Labels are no templates: in them references are escaped like everything else.
enum class References { keep, escape };

void append_quoted(std::string& out, std::string_view text, References references = References::keep) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::size_t length = references == References::keep ? runtime_reference(text, i) : 0;
    if (length > 0) {
      out += text.substr(i, length);
      i += length - 1;
    } else if ((c == '$' || c == '%') && text.substr(i + 1).starts_with('{')) {
      out += std::string(2, c) + "{";
      ++i;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

/// By key: the order of an object's members means nothing, and the text shall not depend on it.
std::map<std::string_view, const boost::json::value*> sorted(const boost::json::object& object) {
  std::map<std::string_view, const boost::json::value*> members;
  for (const auto& [key, member] : object) members.emplace(key, &member);
  return members;
}

/// Texts of whole lines are easier to read as they are.
bool suits_heredoc(std::string_view text) {
  if (text.size() < 2 || text.back() != '\n' || text.find('\n') == text.size() - 1) return false;
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
}

void append_heredoc(std::string& out, std::string_view text) {
  std::string marker = "EOT";
  const auto lines = split(text, '\n');
  while (std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return trim(line) == marker; }))
    marker += "_";
  out += "<<" + marker + "\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] == '$' || text[i] == '%') && text.substr(i + 1).starts_with('{')) {
      const std::size_t length = runtime_reference(text, i);
      if (length == 0) out += text[i];
    }
    out += text[i];
  }
  out += marker;
}

class JobWriter {
 public:
  JobWriter(model::JobType type, const WriteOptions& options) : type_(type), options_(options) {}

  WrittenJob take() { return {std::move(out_), std::move(left_out_)}; }

  /// `name "label" { … }`
  void block(std::string_view name, const Structure& structure, const void* object, const void* defaults) {
    indent();
    out_ += name;
    std::string place(name);
    for (const auto& field : structure.fields) {
      if (field.form != Form::label) continue;
      out_ += ' ';
      append_quoted(out_, scalar_text(*field.type, field.in(object)), References::escape);
      place += fmt::format(" '{}'", scalar_text(*field.type, field.in(object)));
    }
    out_ += " {";
    open();
    places_.push_back(std::move(place));
    fields(structure, object, defaults);
    places_.pop_back();
    close();
  }

 private:
  void indent() { out_.append(static_cast<std::size_t>(depth_) * 2, ' '); }
  void open() {
    out_ += '\n';
    ++depth_;
  }
  void close() {
    --depth_;
    indent();
    out_ += "}\n";
  }

  /// What was written since `begin` becomes a comment, which is told of.
  void leave_out(std::size_t begin, std::string_view name) {
    if (begin == out_.size()) return;
    std::string commented;
    const auto lines = split(std::string_view(out_).substr(begin, out_.size() - 1 - begin), '\n');
    for (const auto& line : lines) commented += "# " + line + "\n";
    out_.resize(begin);
    const auto before = static_cast<std::size_t>(std::count(out_.begin(), out_.end(), '\n'));
    const auto inner = places_.size() > 1 ? std::span(places_).subspan(1) : std::span<const std::string>();
    left_out_.push_back({before + 1, join(inner, " "), std::string(name)});
    out_ += commented;
  }

  void fields(const Structure& structure, const void* object, const void* defaults) {
    if (structure.name == "task") task_ = static_cast<const model::Task*>(object);
    for (const auto& field : structure.fields) {
      const std::size_t begin = out_.size();
      this->field(structure, field, object, defaults);
      if (options_.knows && !options_.knows(structure, field)) leave_out(begin, field.hcl);
    }
    if (structure.name == "network") ports(*static_cast<const model::NetworkResource*>(object));
    if (structure.name == "job") {
      for (const auto& group : static_cast<const model::Job*>(object)->groups) this->group(group);
    }
  }

  /// Without a word about its count it would have as many as its scaling has at least.
  static bool scales(const void* object) {
    const auto& scaling = static_cast<const model::TaskGroup*>(object)->scaling;
    return scaling && scaling->min;
  }

  void field(const Structure& structure, const Field& field, const void* object, const void* defaults) {
    if (structure.name == "task" && field.json == "Identity")
      default_identity(*static_cast<const model::Task*>(object));
    if (structure.name == "task" && field.json == "ScalingPolicies")
      vertical_scaling(*static_cast<const model::Task*>(object));
    if (structure.name == "resources" && field.json == "CPU" && static_cast<const model::Resources*>(object)->cores > 0)
      return;  // it is what the cores amount to
    if (field.form == Form::wire || field.form == Form::label) return;
    const void* value = field.in(object);
    const bool named = (options_.names_providers && structure.name == "service" && field.json == "Provider") ||
                       (structure.name == "group" && field.json == "Count" && scales(object));
    if (!field.required && !named && describe::equal(*field.type, value, field.in(defaults))) return;
    if (field.form == Form::attribute) {
      if (field.type->kind == Kind::optional && field.type->size(value) == 0) return;
      attribute(field.hcl, *field.type, value);
    } else if (field.form == Form::block) {
      blocks(field, value, object, structure);
    } else {
      free_form(field, value);
    }
  }

  void group(const model::TaskGroup& group) {
    group_ = &group;
    const auto& structure = describe::structure_of<model::TaskGroup>();
    block("group", structure, &group, structure.defaults());
    group_ = nullptr;
  }

  void blocks(const Field& field, const void* value, const void* owner, const Structure& structure) {
    const Type& type = *field.type;
    if (structure.name == "job" && field.json == "TaskGroups") return;  // written last
    if (field.json == "RestartPolicy") return restart(field, owner, structure);
    if (type.kind == Kind::structure) {
      block(field.hcl, type.structure(), value, type.structure().defaults());
      return;
    }
    const Structure& element = type.element->structure();
    if (type.kind == Kind::map) return keyed_blocks(field, value, element);
    for (std::size_t i = 0; i < type.size(value); ++i)
      block(field.hcl, element, type.element_at(value, i), element.defaults());
  }

  /// The key is the label.
  void keyed_blocks(const Field& field, const void* value, const Structure& element) {
    struct Visit {
      JobWriter& writer;
      const Field& field;
      const Structure& element;
    } visit{*this, field, element};
    field.type->each(value, &visit, [](void* context, const std::string&, const void* object) {
      auto& v = *static_cast<Visit*>(context);
      v.writer.block(v.field.hcl, v.element, object, v.element.defaults());
    });
  }

  /// `scaling "cpu"`: the wire has the label in Type.
  void vertical_scaling(const model::Task& task) {
    static constexpr std::string_view kPrefix = "vertical_";
    for (const auto& scaling : task.scaling) {
      if (!scaling.type.starts_with(kPrefix)) continue;
      model::Scaling standard;
      standard.type = scaling.type;
      indent();
      out_ += "scaling ";
      append_quoted(out_, scaling.type.substr(kPrefix.size()), References::escape);
      out_ += " {";
      open();
      fields(describe::structure_of<model::Scaling>(), &scaling, &standard);
      close();
    }
  }

  /// What a restart block leaves out is inherited, so what is inherited is left out.
  void restart(const Field& field, const void* owner, const Structure& structure) {
    const bool of_task = structure.name == "task";
    const auto standard = model::RestartPolicy::for_type(type_);
    const auto inherited = of_task && group_ != nullptr ? group_->restart.value_or(standard) : standard;
    const auto& policy = of_task ? static_cast<const model::Task*>(owner)->restart
                                 : static_cast<const model::TaskGroup*>(owner)->restart;
    if (policy && !describe::equal(*policy, inherited))
      block(field.hcl, describe::structure_of<model::RestartPolicy>(), &*policy, &inherited);
  }

  /// It stands apart in the model only; in a file it is the `identity` block without a name.
  void default_identity(const model::Task& task) {
    model::Identity standard;
    standard.name = "default";
    if (task.identity) block("identity", describe::structure_of<model::Identity>(), &*task.identity, &standard);
  }

  void ports(const model::NetworkResource& network) {
    const auto& structure = describe::structure_of<model::Port>();
    // A static port is told apart by having `static`, even when it is 0, the default.
    for (const auto& port : network.reserved_ports) {
      model::Port standard;
      standard.value = port.value == 0 ? 1 : 0;
      block("port", structure, &port, &standard);
    }
    for (const auto& port : network.dynamic_ports) {
      model::Port standard;
      standard.value = port.value;
      block("port", structure, &port, &standard);
    }
  }

  void attribute(std::string_view name, const Type& type, const void* value) {
    indent();
    out_ += name;
    out_ += " = ";
    this->value(type, value);
    out_ += '\n';
  }

  /// As a block, which is how people write it, when every key is an identifier and no value is an object: in a block of
  /// unknown schema `x = { … }` means the same as `x { … }`, a list.
  void free_form(const Field& field, const void* value) {
    if (field.type->kind == Kind::any) {
      const auto* object = static_cast<const boost::json::value*>(value)->if_object();
      if (object == nullptr || object->empty()) return;
    }
    std::vector<std::pair<std::string, std::string>> members;
    bool as_block = true;
    const auto add = [&](std::string key, std::string text) {
      as_block = as_block && is_identifier(key);
      members.emplace_back(std::move(key), std::move(text));
    };
    ++depth_;
    if (field.type->kind == Kind::any) {
      const auto* object = static_cast<const boost::json::value*>(value)->if_object();
      if (object != nullptr) {
        for (const auto& [key, member] : sorted(*object)) {
          as_block = as_block && !member->is_object();
          add(std::string(key), json_text(*member));
        }
      }
    } else {
      struct Visit {
        const decltype(add)& into;
        const Type& element;
        JobWriter& writer;
      } visit{add, *field.type->element, *this};
      field.type->each(value, &visit, [](void* context, const std::string& key, const void* element) {
        auto& v = *static_cast<Visit*>(context);
        v.into(key, v.writer.text_of(v.element, element));
      });
    }
    --depth_;
    indent();
    out_ += field.hcl;
    out_ += as_block ? " {" : " = {";
    open();
    const bool is_config = field.type->kind == Kind::any && field.hcl == "config" && task_ != nullptr;
    for (const auto& [key, text] : members) {
      const std::size_t begin = out_.size();
      indent();
      if (as_block)
        out_ += key;
      else
        append_quoted(out_, key);
      out_ += " = " + text + "\n";
      if (is_config && options_.knows_config && !options_.knows_config(task_->driver, key))
        leave_out(begin, "config." + key);
    }
    close();
  }

  std::string text_of(const Type& type, const void* value) {
    std::string text;
    std::swap(text, out_);
    this->value(type, value);
    std::swap(text, out_);
    return text;
  }

  std::string json_text(const boost::json::value& json) {
    std::string text;
    std::swap(text, out_);
    this->json(json);
    std::swap(text, out_);
    return text;
  }

  static std::string scalar_text(const Type& type, const void* value) {
    switch (type.kind) {
      case Kind::string:
        return *static_cast<const std::string*>(value);
      case Kind::enumeration:
        return std::string(type.enumeration().spell(type.enumeration().get(value)));
      case Kind::duration:
        return format_duration(*static_cast<const Duration*>(value));
      default:
        return {};
    }
  }

  void value(const Type& type, const void* value) {
    switch (type.kind) {
      case Kind::boolean:
        out_ += *static_cast<const bool*>(value) ? "true" : "false";
        return;
      case Kind::integer:
        out_ += fmt::format("{}", *static_cast<const std::int64_t*>(value));
        return;
      case Kind::number:
        out_ += hcl::Number::from_double(*static_cast<const double*>(value)).to_string();
        return;
      case Kind::string:
        return string(*static_cast<const std::string*>(value));
      case Kind::duration:
      case Kind::enumeration:
        return append_quoted(out_, scalar_text(type, value));
      case Kind::optional:
        return this->value(*type.element, type.element_at(value, 0));
      case Kind::list:
        ++nesting_;
        out_ += '[';
        for (std::size_t i = 0; i < type.size(value); ++i) {
          if (i > 0) out_ += ", ";
          this->value(*type.element, type.element_at(value, i));
        }
        out_ += ']';
        --nesting_;
        return;
      case Kind::any:
        return json(*static_cast<const boost::json::value*>(value));
      case Kind::map:
      case Kind::structure:
        return;  // blocks
    }
  }

  /// Only whole attributes may be heredocs; inside of lists they would need line ends of their own.
  void string(std::string_view text) {
    if (nesting_ == 0 && suits_heredoc(text))
      append_heredoc(out_, text);
    else
      append_quoted(out_, text);
  }

  void json(const boost::json::value& json) {
    if (const auto* object = json.if_object()) {
      ++nesting_;
      const char* separator = "";
      out_ += '{';
      for (const auto& [key, member] : sorted(*object)) {
        out_ += separator;
        append_quoted(out_, key);
        out_ += " = ";
        this->json(*member);
        separator = ", ";
      }
      out_ += '}';
      --nesting_;
    } else if (const auto* array = json.if_array()) {
      ++nesting_;
      const char* separator = "";
      out_ += '[';
      for (const auto& member : *array) {
        out_ += separator;
        this->json(member);
        separator = ", ";
      }
      out_ += ']';
      --nesting_;
    } else if (json.is_string()) {
      string(std::string_view(json.get_string()));
    } else if (json.is_double()) {
      out_ += hcl::Number::from_double(json.get_double()).to_string();
    } else {
      out_ += boost::json::serialize(json);
    }
  }

  std::string out_;
  int depth_ = 0;
  int nesting_ = 0;  ///< of lists and objects around what is being written
  model::JobType type_;
  const model::TaskGroup* group_ = nullptr;
  const model::Task* task_ = nullptr;  ///< the one that is being written, or the last one
  const WriteOptions& options_;
  std::vector<std::string> places_;  ///< the blocks around what is being written
  std::vector<LeftOut> left_out_;
};

}  // namespace

std::string write_job(const model::Job& job) { return write_job(job, WriteOptions{}).text; }

WrittenJob write_job(const model::Job& job, const WriteOptions& options) {
  JobWriter writer(job.type, options);
  const auto& structure = describe::structure_of<model::Job>();
  // The name is the ID's unless it was given.
  model::Job standard = *static_cast<const model::Job*>(structure.defaults());
  standard.name = job.id;
  writer.block("job", structure, &job, &standard);
  return writer.take();
}

}  // namespace underway::jobspec
