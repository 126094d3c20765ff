#include "hcl/detail/unify.hpp"

#include <algorithm>
#include <map>

namespace underway::hcl {

namespace detail {

using Form = Type::Form;
using Types = std::vector<const Type*>;

namespace {

std::optional<Type> unify_all(const Types& types);

bool is_primitive(const Type& type) {
  return type.form == Form::boolean || type.form == Form::number || type.form == Form::string;
}

Types elements_of(const Types& types) {
  Types out;
  for (const Type* type : types) {
    for (const auto& element : type->elements) out.push_back(&element);
    for (const auto& member : type->members) out.push_back(&member.second.type);
  }
  return out;
}

std::optional<Type> unify_to(Form form, const Types& types) {
  auto element = unify_all(elements_of(types));
  return element ? std::optional(container(form, std::move(*element))) : std::nullopt;
}

bool all_convertible(const Types& from, const Type& to) {
  return std::all_of(from.begin(), from.end(), [&](const Type* type) { return convertible(*type, to); });
}

bool same_names(const Type& a, const Type& b) {
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

/// Objects of the same names are unified name by name, others as maps.
std::optional<Type> unify_objects(const Types& types) {
  if (!std::all_of(types.begin(), types.end(), [&](const Type* t) { return same_names(*types[0], *t); }))
    return unify_to(Form::map, types);
  Type result{.form = Form::object};
  for (const auto& [name, member] : types[0]->members) {
    Types column;
    for (const Type* type : types) column.push_back(&type->members.at(name).type);
    auto unified = unify_all(column);
    if (!unified) return std::nullopt;
    result.members.emplace(name, Type::Member{std::move(*unified), false, std::nullopt});
  }
  return all_convertible(types, result) ? std::optional(std::move(result)) : unify_to(Form::map, types);
}

/// Tuples of the same length are unified place by place, others as lists.
std::optional<Type> unify_tuples(const Types& types) {
  const std::size_t size = types[0]->elements.size();
  if (!std::all_of(types.begin(), types.end(), [&](const Type* t) { return t->elements.size() == size; }))
    return unify_to(Form::list, types);
  Type result{.form = Form::tuple};
  for (std::size_t i = 0; i < size; ++i) {
    Types column;
    for (const Type* type : types) column.push_back(&type->elements[i]);
    auto element = unify_all(column);
    if (!element) return std::nullopt;
    result.elements.push_back(std::move(*element));
  }
  return all_convertible(types, result) ? std::optional(std::move(result)) : unify_to(Form::list, types);
}

/// lists beside tuples, maps beside objects: what is no collection becomes one first. Nothing when that fails.
std::optional<Type> unify_as_collections(const Types& types, Form loose, Form firm) {
  Types structures;
  for (const Type* type : types) {
    if (type->form == loose) structures.push_back(type);
  }
  const auto made = unify_to(firm, structures);
  if (!made) return std::nullopt;
  Types all;
  for (const Type* type : types) all.push_back(type->form == loose ? &*made : type);
  auto unified = unify_all(all);
  return unified && unified->form == firm ? unified : std::nullopt;
}

/// How general a type is, beside those that it can be compared with.
int rank(const Type& type) {
  switch (type.form) {
    case Form::any:
      return 0;  // null becomes what the others are
    case Form::string:
    case Form::list:
    case Form::map:
      return 3;
    case Form::set:
      return 1;
    default:
      return 2;
  }
}

/// The most general of them that all others can become.
std::optional<Type> choose(const Types& types) {
  for (int wanted = 3; wanted >= 0; --wanted) {
    for (const Type* candidate : types) {
      if (rank(*candidate) == wanted && all_convertible(types, *candidate)) return *candidate;
    }
  }
  return std::nullopt;
}

std::optional<Type> unify_all(const Types& types) {
  if (types.empty()) return std::nullopt;
  std::map<Form, std::size_t> count;
  for (const Type* type : types) ++count[type->form];
  const std::size_t any = count[Form::any];
  const auto only = [&](std::size_t number) { return number > any && number == types.size(); };
  for (const Form form : {Form::map, Form::list, Form::set, Form::object, Form::tuple}) {
    if (count[form] == 0 || !only(count[form] + any)) continue;
    if (any > 0) return Type{};
    if (form == Form::object) return unify_objects(types);
    if (form == Form::tuple) return unify_tuples(types);
    return unify_to(form, types);
  }
  if (count[Form::map] > 0 && only(count[Form::map] + count[Form::object] + any)) {
    if (auto unified = unify_as_collections(types, Form::object, Form::map)) return unified;
  } else if (count[Form::list] > 0 && only(count[Form::list] + count[Form::tuple] + any)) {
    if (auto unified = unify_as_collections(types, Form::tuple, Form::list)) return unified;
  } else if (count[Form::object] > 0 && count[Form::tuple] > 0) {
    return std::nullopt;
  }
  return choose(types);
}

bool all_elements_convertible(const Type& from, const Type& to, bool nulls_agree) {
  const Types elements = elements_of({&from});
  if (elements.empty()) return true;
  if (to.form != Form::any) return all_convertible(elements, to);
  const auto unified = unify_all(elements);
  if (!unified) return false;
  if (unified->form != Form::any) return all_convertible(elements, *unified);
  return !nulls_agree ||
         std::all_of(elements.begin(), elements.end(), [](const Type* type) { return type->form == Form::any; });
}

bool object_convertible(const Type& from, const Type& to) {
  return std::all_of(to.members.begin(), to.members.end(), [&](const auto& member) {
    const auto found = from.members.find(member.first);
    return found == from.members.end() ? member.second.optional : convertible(found->second.type, member.second.type);
  });
}

}  // namespace

bool same(const Type& a, const Type& b) {
  if (a.form != b.form || a.elements.size() != b.elements.size() || a.members.size() != b.members.size()) return false;
  if (!std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), same)) return false;
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.optional == y.second.optional && same(x.second.type, y.second.type);
  });
}

Type container(Form form, Type element) {
  Type type{.form = form};
  type.elements.push_back(std::move(element));
  return type;
}

bool convertible(const Type& from, const Type& to) {
  if (to.form == Form::any || from.form == Form::any) return true;
  if (is_primitive(from) || is_primitive(to)) {
    if (from.form == to.form) return true;
    return is_primitive(from) && is_primitive(to) && (from.form == Form::string || to.form == Form::string);
  }
  const bool collects = to.form == Form::list || to.form == Form::set;
  if (collects && (from.form == Form::list || from.form == Form::set))
    return convertible(from.elements[0], to.elements[0]);
  if (to.form == Form::map && from.form == Form::map) return convertible(from.elements[0], to.elements[0]);
  if (collects && from.form == Form::tuple) return all_elements_convertible(from, to.elements[0], true);
  if (to.form == Form::map && from.form == Form::object) return all_elements_convertible(from, to.elements[0], false);
  if (to.form == Form::object && from.form == Form::object) return object_convertible(from, to);
  if (to.form == Form::tuple && from.form == Form::tuple)
    return from.elements.size() == to.elements.size() &&
           std::equal(from.elements.begin(), from.elements.end(), to.elements.begin(), convertible);
  if (to.form == Form::object && from.form == Form::map)
    return std::all_of(to.members.begin(), to.members.end(), [&](const auto& member) {
      return member.second.optional || convertible(from.elements[0], member.second.type);
    });
  return false;
}

}  // namespace detail

std::optional<Type> unify(const std::vector<Type>& types) {
  std::vector<const Type*> pointers;
  pointers.reserve(types.size());
  for (const auto& type : types) pointers.push_back(&type);
  return detail::unify_all(pointers);
}

}  // namespace underway::hcl
