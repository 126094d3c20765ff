#include "model/diff/diff.hpp"

#include "base/text.hpp"

#include <boost/json/serialize.hpp>

#include <set>

namespace underway::model {
namespace {

using describe::Change;
using describe::Field;
using describe::Form;
using describe::Kind;
using describe::Structure;
using describe::Type;

constexpr const char* kReplaces = "forces create/destroy update";
constexpr const char* kInPlace = "forces in-place update";

bool is_scalar(Kind kind) {
  return kind == Kind::boolean || kind == Kind::integer || kind == Kind::number || kind == Kind::string ||
         kind == Kind::duration || kind == Kind::enumeration;
}

bool is_structure_list(const Type& type) { return type.kind == Kind::list && type.element->kind == Kind::structure; }

/// A scalar in words; absent optionals and nothing at all are "".
std::string text_of(const Type& type, const void* value) {
  if (value == nullptr) return {};
  switch (type.kind) {
    case Kind::boolean:
      return *static_cast<const bool*>(value) ? "true" : "false";
    case Kind::integer:
      return fmt::format("{}", *static_cast<const std::int64_t*>(value));
    case Kind::number:
      return fmt::format("{}", *static_cast<const double*>(value));
    case Kind::string:
      return *static_cast<const std::string*>(value);
    case Kind::duration:
      return format_duration(*static_cast<const Duration*>(value));
    case Kind::enumeration:
      return std::string(type.enumeration().spell(type.enumeration().get(value)));
    default:
      return {};
  }
}

/// What a block is called in the tree: Nomad's singular names.
std::string object_name(const Field& field) {
  if (field.json == "ReservedPorts") return "Static Port";
  if (field.json == "DynamicPorts") return "Dynamic Port";
  if (!is_structure_list(*field.type)) return std::string(field.json);
  std::string name;
  for (const auto& word : split(field.type->element->structure().name, '_'))
    name += upper(word.substr(0, 1)) + word.substr(1);
  return name;
}

/// What tells elements of a list apart over time: the label, else the first required attribute. Null: nothing does.
const Field* identity(const Structure& structure) {
  for (const auto& field : structure.fields) {
    if (field.required && field.type->kind == Kind::string) return &field;
  }
  return nullptr;
}

using Pairs = std::vector<std::pair<const void*, const void*>>;

std::vector<const void*> elements(const Type& list, const void* value) {
  std::vector<const void*> out;
  for (std::size_t i = 0; value != nullptr && i < list.size(value); ++i) out.push_back(list.element_at(value, i));
  return out;
}

/// Pairs up the elements of two lists of structures: by identity; those without one when they are equal, and a single
/// remaining one with its single counterpart. Elements of `after` keep their order; those that went come last.
Pairs match(const Type& list, const void* before, const void* after) {
  const Type& element = *list.element;
  const Field* key = identity(element.structure());
  auto old_ones = elements(list, before);
  const auto new_ones = elements(list, after);
  Pairs pairs;
  for (const void* now : new_ones) {
    const auto same = std::find_if(old_ones.begin(), old_ones.end(), [&](const void* then) {
      if (then == nullptr) return false;
      return key != nullptr ? describe::equal(*key->type, key->in(then), key->in(now))
                            : describe::equal(element, then, now);
    });
    pairs.emplace_back(same == old_ones.end() ? nullptr : std::exchange(*same, nullptr), now);
  }
  std::erase(old_ones, nullptr);
  const auto unmatched = [](const auto& pair) { return pair.first == nullptr; };
  if (key == nullptr && old_ones.size() == 1 && std::count_if(pairs.begin(), pairs.end(), unmatched) == 1) {
    std::find_if(pairs.begin(), pairs.end(), unmatched)->first = old_ones.front();
    old_ones.clear();
  }
  for (const void* then : old_ones) pairs.emplace_back(then, nullptr);
  return pairs;
}

DiffType type_of_change(const void* before, const void* after) {
  return before == nullptr ? DiffType::added : after == nullptr ? DiffType::deleted : DiffType::edited;
}

/// Which fields of a structure are compared, and how its changes are annotated.
struct Scope {
  bool contextual = true;       ///< lists unchanged fields of a changed block as well
  bool annotated = false;       ///< both sides exist, so a change updates or replaces what runs
  bool replaces = false;        ///< a field above is destructive
  const Field* skip = nullptr;  ///< handled by the caller

  Scope inside(const Field& field) const {
    return {.contextual = true, .annotated = annotated, .replaces = replaces || field.change == Change::destructive};
  }
};

class Comparer {
 public:
  /// Fills `out` with what differs between two structures, either of which may be null.
  template <class Out>
  void compare(const Structure& structure, const void* before, const void* after, const Scope& scope, Out& out) {
    const std::size_t had_fields = out.fields.size(), had_objects = out.objects.size();
    for (const auto& field : structure.fields) {
      if (&field == scope.skip || !takes_part(structure, field)) continue;
      if (!scope.contextual && field.form == Form::label) continue;  // the tree names it already
      const void* a = before == nullptr ? nullptr : field.in(before);
      const void* b = after == nullptr ? nullptr : field.in(after);
      compare_field(field, a, b, scope, out);
    }
    const bool changed = out.objects.size() > had_objects ||
                         std::any_of(out.fields.begin() + static_cast<std::ptrdiff_t>(had_fields), out.fields.end(),
                                     [](const FieldDiff& f) { return f.type != DiffType::none; });
    if (changed || before == nullptr || after == nullptr) out.type = type_of_change(before, after);
    if (before == nullptr && after == nullptr) out.type = DiffType::none;
  }

 private:
  /// What the server keeps is no part of the specification; ports travel in lists of their own.
  static bool takes_part(const Structure& structure, const Field& field) {
    if (field.json.empty()) return false;
    if (field.form != Form::wire) return true;
    return structure.name == "network" ? is_structure_list(*field.type)
                                       : field.json == "Stop" && structure.name == "job";
  }

  template <class Out>
  void compare_field(const Field& field, const void* a, const void* b, const Scope& scope, Out& out) {
    const Type& type = *field.type;
    if (is_scalar(type.kind)) {
      add_field(std::string(field.json), text_of(type, a), text_of(type, b), field, scope, out.fields);
    } else if (type.kind == Kind::any) {
      compare_free_form(field, a, b, scope, out);
    } else if (type.kind == Kind::map) {
      compare_map(field, a, b, scope, out);
    } else if (type.kind == Kind::structure) {
      compare_block(field, type.structure(), a, b, scope, out);
    } else if (type.kind == Kind::optional) {
      const void* x = a != nullptr && type.size(a) == 1 ? type.element_at(a, 0) : nullptr;
      const void* y = b != nullptr && type.size(b) == 1 ? type.element_at(b, 0) : nullptr;
      if (x != nullptr || y != nullptr) {
        if (type.element->kind == Kind::structure)
          compare_block(field, type.element->structure(), x, y, scope, out);
        else
          add_field(std::string(field.json), text_of(*type.element, x), text_of(*type.element, y), field, scope,
                    out.fields);
      }
    } else if (is_structure_list(type)) {
      for (const auto& [x, y] : match(type, a, b)) compare_block(field, type.element->structure(), x, y, scope, out);
    } else {
      compare_values(field, a, b, scope, out);
    }
  }

  template <class Out>
  void compare_block(const Field& field, const Structure& structure, const void* a, const void* b, const Scope& scope,
                     Out& out) {
    ObjectDiff object;
    object.name = object_name(field);
    compare(structure, a, b, scope.inside(field), object);
    if (object.type != DiffType::none) out.objects.push_back(std::move(object));
  }

  /// Maps become fields named "Env[KEY]" of their owner.
  template <class Out>
  void compare_map(const Field& field, const void* a, const void* b, const Scope& scope, Out& out) {
    std::set<std::string> keys;
    const auto collect = [](void* into, const std::string& key, const void*) {
      static_cast<std::set<std::string>*>(into)->insert(key);
    };
    if (a != nullptr) field.type->each(a, &keys, collect);
    if (b != nullptr) field.type->each(b, &keys, collect);
    for (const auto& key : keys) {
      const void* x = a == nullptr ? nullptr : field.type->find(a, key);
      const void* y = b == nullptr ? nullptr : field.type->find(b, key);
      add_field(fmt::format("{}[{}]", field.json, key), text_of(*field.type->element, x),
                text_of(*field.type->element, y), field, scope, out.fields, x != nullptr, y != nullptr);
    }
  }

  /// A list of scalars: as a set, as Nomad shows it; when only the order differs, as a whole.
  template <class Out>
  void compare_values(const Field& field, const void* a, const void* b, const Scope& scope, Out& out) {
    std::vector<std::string> before, after;
    for (const void* v : elements(*field.type, a)) before.push_back(text_of(*field.type->element, v));
    for (const void* v : elements(*field.type, b)) after.push_back(text_of(*field.type->element, v));
    if (before == after) return;
    ObjectDiff object;
    object.name = field.json;
    object.type = before.empty() ? DiffType::added : after.empty() ? DiffType::deleted : DiffType::edited;
    const std::string name(field.json);
    std::multiset<std::string> gone(before.begin(), before.end());
    std::vector<std::string> came;
    for (const auto& value : after) {
      const auto it = gone.find(value);
      if (it == gone.end())
        came.push_back(value);
      else
        gone.erase(it);
    }
    if (gone.empty() && came.empty()) add_field(name, join(before, " "), join(after, " "), field, scope, object.fields);
    for (const auto& value : came) add_field(name, "", value, field, scope, object.fields, false, true);
    for (const auto& value : gone) add_field(name, value, "", field, scope, object.fields, true, false);
    out.objects.push_back(std::move(object));
  }

  template <class Out>
  void compare_free_form(const Field& field, const void* a, const void* b, const Scope& scope, Out& out) {
    std::map<std::string, std::string> before, after;
    if (a != nullptr) flatten({}, *static_cast<const boost::json::value*>(a), before);
    if (b != nullptr) flatten({}, *static_cast<const boost::json::value*>(b), after);
    if (before == after) return;
    ObjectDiff object;
    object.name = field.json;
    object.type = before.empty() ? DiffType::added : after.empty() ? DiffType::deleted : DiffType::edited;
    std::set<std::string> keys;
    for (const auto& [key, value] : before) keys.insert(key);
    for (const auto& [key, value] : after) keys.insert(key);
    for (const auto& key : keys) {
      const auto x = before.find(key), y = after.find(key);
      add_field(key, x == before.end() ? "" : x->second, y == after.end() ? "" : y->second, field, scope.inside(field),
                object.fields, x != before.end(), y != after.end());
    }
    out.objects.push_back(std::move(object));
  }

  /// Keys as "args[0]", "labels[a]"; an empty list or object is a value of its own.
  static void flatten(const std::string& path, const boost::json::value& value,
                      std::map<std::string, std::string>& out) {
    if (const auto* object = value.if_object(); object != nullptr && (!object->empty() || path.empty())) {
      for (const auto& [key, member] : *object) {
        const std::string name(key.data(), key.size());
        flatten(path.empty() ? name : fmt::format("{}[{}]", path, name), member, out);
      }
    } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
      for (std::size_t i = 0; i < array->size(); ++i) flatten(fmt::format("{}[{}]", path, i), (*array)[i], out);
    } else if (value.is_string()) {
      out[path] = std::string_view(value.get_string());
    } else {
      out[path] = boost::json::serialize(value);
    }
  }

  void add_field(std::string name, std::string before, std::string after, const Field& field, const Scope& scope,
                 std::vector<FieldDiff>& out) {
    const bool had = !before.empty(), has = !after.empty();
    add_field(std::move(name), std::move(before), std::move(after), field, scope, out, had, has);
  }

  void add_field(std::string name, std::string before, std::string after, const Field& field, const Scope& scope,
                 std::vector<FieldDiff>& out, bool had, bool has) {
    const bool same = before == after && had == has;
    if (same && (!scope.contextual || !had)) return;
    FieldDiff diff;
    diff.type = same ? DiffType::none : !had ? DiffType::added : !has ? DiffType::deleted : DiffType::edited;
    diff.name = std::move(name);
    if (!same && (before.find('\n') != std::string::npos || after.find('\n') != std::string::npos))
      diff.lines = diff_lines(before, after);
    diff.before = std::move(before);
    diff.after = std::move(after);
    if (!same && scope.annotated && (scope.replaces || field.change == Change::destructive))
      diff.annotations.emplace_back(kReplaces);
    out.push_back(std::move(diff));
  }
};

/// Finds the description of a list member, which its caller walks itself.
const Field* member_list(const Structure& structure, std::string_view json) { return structure.find_json(json); }

TaskDiff diff_task(const Task* before, const Task* after, const TaskGroup* group_before, const TaskGroup* group_after) {
  TaskDiff out;
  out.name = after != nullptr ? after->name : before->name;
  const bool both = before != nullptr && after != nullptr;
  Comparer{}.compare(description(describe::Tag<Task>{}), before, after, {.contextual = false, .annotated = both}, out);
  if (out.type == DiffType::none) return out;
  if (group_before == nullptr)
    out.annotations = {"forces create"};
  else if (group_after == nullptr)
    out.annotations = {"forces destroy"};
  else if (!both)
    out.annotations = {kReplaces};
  else {
    // Asked of groups, which know what replaces; the two hold nothing but the task.
    TaskGroup a, b;
    a.tasks = {*before};
    b.tasks = {*after};
    out.annotations = {destructive_change(a, b) ? kReplaces : kInPlace};
  }
  return out;
}

TaskGroupDiff diff_group(const TaskGroup* before, const TaskGroup* after) {
  TaskGroupDiff out;
  out.name = after != nullptr ? after->name : before->name;
  const bool both = before != nullptr && after != nullptr;
  const Structure& structure = description(describe::Tag<TaskGroup>{});
  const Field* tasks = member_list(structure, "Tasks");
  Comparer{}.compare(structure, before, after, {.contextual = false, .annotated = both, .skip = tasks}, out);
  for (auto& field : out.fields) {
    if (field.name != "Count") continue;
    const std::int64_t had = before == nullptr ? 0 : before->count, has = after == nullptr ? 0 : after->count;
    if (has != had) field.annotations = {has > had ? "forces create" : "forces destroy"};
  }
  const Type& list = *tasks->type;
  const void* a = before == nullptr ? nullptr : tasks->in(before);
  const void* b = after == nullptr ? nullptr : tasks->in(after);
  for (const auto& [x, y] : match(list, a, b)) {
    auto task = diff_task(static_cast<const Task*>(x), static_cast<const Task*>(y), before, after);
    if (task.type != DiffType::none) out.tasks.push_back(std::move(task));
  }
  if (out.type == DiffType::none && !out.tasks.empty()) out.type = DiffType::edited;
  return out;
}

}  // namespace

JobDiff diff(const Job* before, const Job* after) {
  JobDiff out;
  if (before == nullptr && after == nullptr) return out;
  out.id = after != nullptr ? after->id : before->id;
  const bool both = before != nullptr && after != nullptr;
  const Structure& structure = description(describe::Tag<Job>{});
  const Field* groups = member_list(structure, "TaskGroups");
  Comparer{}.compare(structure, before, after, {.contextual = false, .annotated = both, .skip = groups}, out);
  const void* a = before == nullptr ? nullptr : groups->in(before);
  const void* b = after == nullptr ? nullptr : groups->in(after);
  for (const auto& [x, y] : match(*groups->type, a, b)) {
    auto group = diff_group(static_cast<const TaskGroup*>(x), static_cast<const TaskGroup*>(y));
    if (group.type != DiffType::none) out.groups.push_back(std::move(group));
  }
  if (out.type == DiffType::none && !out.groups.empty()) out.type = DiffType::edited;
  return out;
}

ClusterDiff diff(const Cluster* before, const Cluster* after) {
  ClusterDiff out;
  out.object.name = "Cluster";
  Comparer{}.compare(description(describe::Tag<Cluster>{}), before, after, {.contextual = false}, out.object);
  std::vector<std::string> had, has;
  const auto hosts = [](const Cluster* cluster) {
    std::vector<std::string> names;
    for (const auto& pool : cluster == nullptr ? std::vector<Pool>{} : cluster->pools) {
      for (auto& name : pool.host_names()) names.push_back(std::move(name));
    }
    return names;
  };
  const auto missing_in = [](const std::vector<std::string>& names, const std::vector<std::string>& others) {
    const std::set<std::string> known(others.begin(), others.end());
    std::vector<std::string> out_names;
    std::copy_if(names.begin(), names.end(), std::back_inserter(out_names),
                 [&](const std::string& name) { return !known.contains(name); });
    return out_names;
  };
  had = hosts(before);
  has = hosts(after);
  out.hosts_added = missing_in(has, had);
  out.hosts_removed = missing_in(had, has);
  return out;
}

namespace {

bool replaces(const Structure& structure, const void* before, const void* after);

bool replaces_field(const Field& field, const void* a, const void* b) {
  const Type& type = *field.type;
  if (describe::equal(type, a, b)) return false;
  if (field.change == Change::destructive) return true;
  if (type.kind == Kind::structure) return replaces(type.structure(), a, b);
  const bool nested = type.element != nullptr && type.element->kind == Kind::structure;
  if (!nested || (type.kind != Kind::optional && type.kind != Kind::list)) return false;
  // A block that comes or goes counts as changed from or to its defaults.
  const Structure& inner = type.element->structure();
  const std::size_t size_a = type.size(a), size_b = type.size(b);
  for (std::size_t i = 0; i < std::max(size_a, size_b); ++i) {
    if (replaces(inner, i < size_a ? type.element_at(a, i) : inner.defaults(),
                 i < size_b ? type.element_at(b, i) : inner.defaults()))
      return true;
  }
  return false;
}

bool replaces(const Structure& structure, const void* before, const void* after) {
  return std::any_of(structure.fields.begin(), structure.fields.end(),
                     [&](const Field& field) { return replaces_field(field, field.in(before), field.in(after)); });
}

}  // namespace

bool destructive_change(const TaskGroup& before, const TaskGroup& after) {
  if (before.tasks.size() != after.tasks.size()) return true;
  for (const auto& task : before.tasks) {
    const Task* now = after.find_task(task.name);
    if (now == nullptr || replaces(description(describe::Tag<Task>{}), &task, now)) return true;
  }
  const Structure& structure = description(describe::Tag<TaskGroup>{});
  const Field* tasks = member_list(structure, "Tasks");
  return std::any_of(structure.fields.begin(), structure.fields.end(), [&](const Field& field) {
    return &field != tasks && replaces_field(field, field.in(&before), field.in(&after));
  });
}

bool destructive_change(const Job& before, const Job& after, std::string_view group) {
  const TaskGroup* a = before.find_group(group);
  const TaskGroup* b = after.find_group(group);
  if (a == nullptr || b == nullptr || before.meta != after.meta) return true;
  return destructive_change(*a, *b);
}

}  // namespace underway::model
