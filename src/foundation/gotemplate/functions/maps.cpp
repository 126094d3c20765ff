// Dictionaries, Sprig's. `set`, `unset` and the merges change their first map, which must be one that the template
// made.
#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"

namespace underway::gotemplate {

namespace {

Value dict(const Call& call) {
  Map map;
  for (std::size_t i = 0; i < call.size(); i += 2)
    map.insert_or_assign(as_text(call[i], call.run), i + 1 < call.size() ? call[i + 1] : Value(""));
  return call.run.map(std::move(map));
}

Value get(const Call& call) {
  const auto found = call.map(0).find(call.text(1));
  return found == call.map(0).end() ? Value("") : found->second;
}

Value set(const Call& call) {
  Map& map = call.run.change(call[0]);
  call.run.make(96 + call.text(1).size());
  map.insert_or_assign(call.string(1), call[2]);
  return call[0];
}

Value unset(const Call& call) {
  Map& map = call.run.change(call[0]);
  if (const auto found = map.find(call.text(1)); found != map.end()) map.erase(found);
  return call[0];
}

Value pluck(const Call& call) {
  List out;
  for (std::size_t i = 1; i < call.size(); ++i) {
    const auto found = call.map(i).find(call.text(0));
    if (found != call.map(i).end()) out.push_back(found->second);
  }
  call.run.make_elements(out.size());
  return Value::list(std::move(out));
}

Value keys(const Call& call) {
  List out;
  for (std::size_t i = 0; i < call.size(); ++i) {
    call.run.make_elements(call.map(i).size());
    for (const auto& [key, value] : call.map(i)) out.emplace_back(key);
  }
  return Value::list(std::move(out), Element::text);
}

Value values(const Call& call) {
  List out;
  call.run.make_elements(call.map(0).size());
  for (const auto& [key, value] : call.map(0)) out.push_back(value);
  return Value::list(std::move(out));
}

Value pick(const Call& call) {
  Map out;
  for (std::size_t i = 1; i < call.size(); ++i)
    if (const auto found = call.map(0).find(call.text(i)); found != call.map(0).end()) out.insert(*found);
  return call.run.map(std::move(out));
}

Value omit(const Call& call) {
  Map out = call.map(0);
  for (std::size_t i = 1; i < call.size(); ++i)
    if (const auto found = out.find(call.text(i)); found != out.end()) out.erase(found);
  return call.run.map(std::move(out));
}

Value merge(const Call& call, bool overwrite) {
  const Value target = call[0].is_nil() ? call.run.map() : call[0];
  call.run.change(target);
  for (std::size_t i = 1; i < call.size(); ++i) {
    call.run.make(call.map(i).size() * 96);
    if (!call[i].is_nil()) merge_maps(target, call[i], overwrite, call.run);
  }
  return target;
}

Value copy(const Call& call) {
  if (call[0].is_nil()) throw Error(Code::invalid, "there is no copy of nothing");
  return deep_copy(call[0], call.run);
}

/// dig "a" "b" default map: map.a.b, or the default when one of them is missing.
Value dig(const Call& call) {
  if (call.size() < 3) throw Error(Code::invalid, "dig needs at least three arguments");
  Value at = call[call.size() - 1];
  for (const Value& key : call.arguments.first(call.size() - 2))
    if (!key.is_text())
      throw Error(Code::invalid, fmt::format("dig takes texts, not a key of type {}", key.type_name()));
  for (std::size_t i = 0; i + 2 < call.size(); ++i) {
    const Map* map = at.element() == Element::any ? at.members() : nullptr;
    if (map == nullptr || !call[i].is_text())
      throw Error(Code::invalid, fmt::format("dig takes texts and a map, not a value of type {}",
                                             map == nullptr ? at.type_name() : call[i].type_name()));
    const auto found = map->find(call[i].as_text());
    if (found == map->end()) return call[call.size() - 2];
    at = Value(found->second);
  }
  return at;
}

}  // namespace

Value deep_copy(const Value& value, Run& run, unsigned depth) {
  run.step();
  if (depth > Value::kMaxDepth) throw Error(Code::too_large, "a value that is to be copied is nested too deeply");
  if (value.kind() == Kind::list) {
    run.make_elements(value.as_list().size());
    List out;
    for (const Value& item : value.as_list()) out.push_back(deep_copy(item, run, depth + 1));
    return value.is_null_list() ? value : Value::list(std::move(out), value.element());
  }
  if (value.kind() != Kind::map) return value;
  Map out;
  for (const auto& [key, member] : value.as_map()) out.emplace(key, deep_copy(member, run, depth + 1));
  return run.map(std::move(out), value.element());
}

namespace {

/// mergo's isEmptyValue.
bool is_empty(const Value& value) { return value.kind() != Kind::function && !value.truth(); }

bool holds_others(const Value& value) { return value.kind() == Kind::map || value.kind() == Kind::list; }

}  // namespace

// As mergo does it: a list or map that is there is not replaced by a value of another kind, whatever `overwrite` says,
// but by a list; all else is replaced when it is empty, or when `overwrite` says so, by empty values too.
void merge_maps(const Value& target, const Value& source, bool overwrite, Run& run, unsigned depth) {
  if (depth > Value::kMaxDepth) throw Error(Code::too_large, "maps that are to be merged are nested too deeply");
  const Map members = *source.members();  // a copy: it may be, or hold, the target
  const bool was_empty = run.change(target).empty();
  for (const auto& [key, value] : members) {
    run.step();
    run.make(96 + key.size());
    const auto set = [&, &name = key](const Value& chosen) {
      if (target.element() != Element::any && target.element() != source.element())
        throw Error(Code::invalid,
                    "reflect.Value.SetMapIndex: value of type interface {} is not assignable to type string");
      run.change(target).insert_or_assign(name, chosen);
    };
    const Map& map = run.change(target);
    const auto found = map.find(key);
    const bool there = found != map.end();
    const Value old = there ? found->second : Value();
    if (value.is_nil()) {
      if (overwrite) set(value);
      continue;
    }
    if (value.kind() == Kind::object && old.kind() == Kind::map && overwrite)
      throw Error(Code::invalid, fmt::format("a map is not replaced by a value of type {}", value.type_name()));
    if (value.kind() == Kind::map && old.kind() == Kind::map) {
      // Maps of the data are not changed: a copy takes their place.
      const Value inner = run.owns(old) ? old : deep_copy(old, run, depth + 1);
      merge_maps(inner, value, overwrite, run, depth + 1);
      if (!run.owns(old)) run.change(target).insert_or_assign(key, inner);
      if (!is_empty(old)) continue;
    }
    if (value.kind() == Kind::list && there && (overwrite || was_empty)) set(value);
    if (there && !is_empty(old) && holds_others(value)) continue;
    if (overwrite || !there || is_empty(old)) set(value);
  }
}

std::vector<Function> map_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"dict", "pairs ...any", "A map of keys and values, one after the other.", kSprig, dict},
      {"get", "map map, key string", "The value of the key, or \"\".", kSprig, get},
      {"set", "map map, key string, value any", "Sets the key in the map, and returns the map.", kSprig, set},
      {"unset", "map map, key string", "Removes the key from the map, and returns the map.", kSprig, unset},
      {"hasKey", "map map, key string", "Whether the map has the key.", kSprig,
       [](const Call& c) -> Value { return c.map(0).contains(c.text(1)); }},
      {"pluck", "key string, maps ...map", "The values of the key in each map that has it.", kSprig, pluck},
      {"keys", "maps ...map", "The keys of all maps, sorted for each.", kSprig, keys},
      {"values", "map map", "The values, in the order of their keys.", kSprig, values},
      {"pick", "map map, keys ...string", "A map of these keys only.", kSprig, pick},
      {"omit", "map map, keys ...string", "A map without these keys.", kSprig, omit},
      {"merge", "map map, others ...map", "Adds what the map lacks, and returns the map.", kSprig,
       [](const Call& c) { return merge(c, false); }},
      {"mustMerge", "map map, others ...map", "As merge.", kSprig, [](const Call& c) { return merge(c, false); }},
      {"mergeOverwrite", "map map, others ...map", "Adds the others' members, the last one winning; returns the map.",
       kSprig, [](const Call& c) { return merge(c, true); }},
      {"mustMergeOverwrite", "map map, others ...map", "As mergeOverwrite.", kSprig,
       [](const Call& c) { return merge(c, true); }},
      {"deepCopy", "value any", "A copy of the value and all inside it.", kSprig, copy},
      {"mustDeepCopy", "value any", "As deepCopy.", kSprig, copy},
      {"dig", "path ...any", "dig \"a\" \"b\" DEFAULT MAP: the value at a.b, or the default.", kSprig, dig},
  };
}

}  // namespace underway::gotemplate
