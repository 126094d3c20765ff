#include "gotemplate/value.hpp"

#include "base/error.hpp"
#include "base/json/enumerators.hpp"

#include <algorithm>
#include <cstring>

namespace underway::gotemplate {

Value::Value(std::string_view text) {
  if (text.size() > ShortText::kCapacity) {
    data_ = std::make_shared<const std::string>(text);
    return;
  }
  ShortText brief{};
  if (!text.empty()) std::memcpy(brief.bytes, text.data(), text.size());
  brief.size = static_cast<std::uint8_t>(text.size());
  data_ = brief;
}

Value::Value(std::string&& text) {
  if (text.size() > ShortText::kCapacity)
    data_ = std::make_shared<const std::string>(std::move(text));
  else
    *this = Value(std::string_view(text));
}

Value Value::int64(std::int64_t value) {
  Value out;
  out.data_ = Integer{value, true};
  return out;
}

Value Value::nil_interface() {
  Value out;
  out.data_ = NilInterface{};
  return out;
}

Value Value::byte(unsigned char value) {
  Value out;
  out.data_ = Natural{value, true};
  return out;
}

Value Value::list(List items, Element element) {
  std::uint32_t depth = 0;
  for (const auto& item : items)
    if (const auto* inner = std::get_if<std::shared_ptr<const ListNode>>(&item.data_))
      depth = std::max(depth, (*inner)->depth);
  if (depth >= kMaxDepth) throw Error(Code::too_large, "a list is nested more than 200 levels deep");
  Value out;
  out.data_ = std::make_shared<const ListNode>(ListNode{std::move(items), depth + 1, element, false});
  return out;
}

Value Value::null_list(Element element) {
  Value out;
  out.data_ = std::make_shared<const ListNode>(ListNode{{}, 1, element, true});
  return out;
}

Value Value::map(Map members, Element element) {
  Value out;
  out.data_ = std::make_shared<MapNode>(MapNode{std::move(members), nullptr, element});
  return out;
}

Value Value::object(std::shared_ptr<const Object> object) {
  Value out;
  if (object) out.data_ = std::move(object);
  return out;
}

Value Value::function(const Function& function) {
  Value out;
  out.data_ = &function;
  return out;
}

Value Value::texts(const std::vector<std::string>& texts) {
  return list(List(texts.begin(), texts.end()), Element::text);
}

Kind Value::kind() const {
  static constexpr Kind kKinds[] = {Kind::nil,  Kind::boolean, Kind::integer, Kind::natural, Kind::real,     Kind::text,
                                    Kind::text, Kind::list,    Kind::map,     Kind::object,  Kind::function, Kind::nil};
  return kKinds[data_.index()];
}

std::string_view Value::as_text() const {
  if (const auto* brief = std::get_if<ShortText>(&data_)) return {brief->bytes, brief->size};
  return *std::get<std::shared_ptr<const std::string>>(data_);
}

const List& Value::as_list() const { return std::get<std::shared_ptr<const ListNode>>(data_)->items; }
const Map& Value::as_map() const { return std::get<std::shared_ptr<MapNode>>(data_)->members; }

Element Value::element() const {
  if (const auto* list = std::get_if<std::shared_ptr<const ListNode>>(&data_)) return (*list)->element;
  if (const auto* map = std::get_if<std::shared_ptr<MapNode>>(&data_)) return (*map)->element;
  return Element::any;
}

bool Value::is_null_list() const {
  const auto* list = std::get_if<std::shared_ptr<const ListNode>>(&data_);
  return list != nullptr && (*list)->null;
}

const Map* Value::members() const {
  if (kind() == Kind::map) return &as_map();
  return kind() == Kind::object ? as_object().members() : nullptr;
}

bool Value::truth() const {
  switch (kind()) {
    case Kind::nil:
      return false;
    case Kind::boolean:
      return as_bool();
    case Kind::integer:
      return as_integer() != 0;
    case Kind::natural:
      return as_natural() != 0;
    case Kind::real:
      return as_real() != 0;
    case Kind::text:
      return !as_text().empty();
    case Kind::list:
      return !as_list().empty();
    case Kind::map:
      return !as_map().empty();
    case Kind::object:
      return as_object().truth();
    case Kind::function:
      return true;
  }
  return false;
}

namespace {

std::string_view element_name(Element element) {
  static constexpr std::string_view kNames[] = {"interface {}", "string", "int", "[]interface {}"};
  static_assert(std::size(kNames) == kEnumerators<Element>);
  return kNames[static_cast<std::size_t>(element)];
}

}  // namespace

std::string Value::type_name() const {
  switch (kind()) {
    case Kind::nil:
      return "<nil>";
    case Kind::list:
      return "[]" + std::string(element_name(element()));
    case Kind::map:
      return "map[string]" + std::string(element_name(element()));
    case Kind::object:
      return std::string(as_object().type_name());
    case Kind::function:
      return "func(...interface {}) interface {}";
    default:
      return std::string(kind_name());
  }
}

std::string_view Value::kind_name() const {
  switch (kind()) {
    case Kind::nil:
      return "invalid";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return std::get<Integer>(data_).sized ? "int64" : "int";
    case Kind::natural:
      return std::get<Natural>(data_).byte ? "uint8" : "uint64";
    case Kind::real:
      return "float64";
    case Kind::text:
      return "string";
    case Kind::list:
      return "slice";
    case Kind::map:
      return "map";
    case Kind::object:
      return as_object().type_name().starts_with('*') ? "ptr" : "struct";
    case Kind::function:
      return "func";
  }
  return "invalid";
}

bool Object::takes_arguments(std::string_view /*name*/) const { return false; }

}  // namespace underway::gotemplate
