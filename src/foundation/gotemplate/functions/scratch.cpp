// consul-template's scratch: values that a rendering keeps under names.
#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"

namespace underway::gotemplate {

namespace {

/// Its values are a map of the rendering, which takes it apart at the end: a scratch may hold itself.
class Scratch final : public Object {
 public:
  explicit Scratch(Run& run) : run_(run), values_(run.map()) {}

  std::string_view type_name() const override { return "*template.Scratch"; }
  std::string text() const override { return "scratch"; }
  std::vector<std::string> member_names() const override {
    return {"Key", "Get", "Set", "SetX", "MapSet", "MapSetX", "MapValues"};
  }
  bool takes_arguments(std::string_view name) const override { return wanted(name) > 0; }

  std::optional<Value> member(std::string_view name, std::span<const Value> arguments) const override {
    const std::size_t count = wanted(name);
    if (count == 0) return std::nullopt;
    if (arguments.size() != count)
      throw Error(Code::invalid,
                  fmt::format("wrong number of args for {}: want {} got {}", name, count, arguments.size()));
    for (std::size_t i = 0; i < (name.starts_with("Map") && count == 3 ? 2U : 1U); ++i)
      if (!arguments[i].is_text())
        throw Error(Code::invalid,
                    fmt::format("wrong type for value; expected string; got {}", arguments[i].type_name()));
    const std::string key(arguments[0].as_text());
    Map& values = run_.change(values_);
    const auto found = values.find(key);
    if (name == "Key") return Value(found != values.end());
    if (name == "Get") return found == values.end() ? Value() : found->second;
    if (name == "MapValues") return sorted(found == values.end() ? Value() : found->second);
    if (count == 3) return in_map(values, key, arguments, name == "MapSet");
    put(values, key, arguments[1], name == "Set");
    return Value("");
  }

 private:
  static std::size_t wanted(std::string_view name) {
    if (name == "Key" || name == "Get" || name == "MapValues") return 1;
    if (name == "Set" || name == "SetX") return 2;
    return name == "MapSet" || name == "MapSetX" ? 3 : 0;
  }

  void put(Map& map, const std::string& key, const Value& value, bool replaces) const {
    run_.make(96 + key.size());
    if (replaces)
      map.insert_or_assign(key, value);
    else
      map.emplace(key, value);
  }

  Value in_map(Map& values, const std::string& key, std::span<const Value> arguments, bool replaces) const {
    auto found = values.find(key);
    if (found == values.end()) found = values.emplace(key, run_.map()).first;
    if (found->second.kind() != Kind::map || found->second.element() != Element::any)
      throw Error(Code::invalid, fmt::format("\"{}\" is not a map", key));
    put(run_.change(found->second), std::string(arguments[1].as_text()), arguments[2], replaces);
    return "";
  }

  Value sorted(const Value& value) const {
    if (value.kind() != Kind::map || value.element() != Element::any) return Value::null_list();
    List out;
    run_.make_elements(value.as_map().size());
    for (const auto& [key, member] : value.as_map()) out.push_back(member);
    return Value::list(std::move(out));
  }

  Run& run_;
  Value values_;
};

}  // namespace

std::vector<Function> scratch_functions() {
  return {{"scratch", "", "Keeps values under names: .Set, .SetX, .Get, .Key, .MapSet, .MapSetX, .MapValues.",
           Origin::consul, [](const Call& c) {
             Value& scratch = c.run.scratch();
             if (scratch.is_nil()) scratch = Value::object(std::make_shared<Scratch>(c.run));
             return scratch;
           }}};
}

}  // namespace underway::gotemplate
