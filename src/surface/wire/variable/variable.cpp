#include "wire/variable/variable.hpp"

#include <boost/json/serialize.hpp>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"

namespace underway::wire {
namespace {

using boost::json::object;
using boost::json::value;

const value* member(const object& from, std::string_view name) {
  const auto* found = json::find_member(from, name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string text_of(const value& from, const std::string& path) {
  if (!from.is_string()) throw Error(Code::invalid, fmt::format("{}: expected a string", path));
  return std::string(std::string_view(from.get_string()));
}

std::string text_member(const object& from, std::string_view name) {
  const auto* found = member(from, name);
  return found == nullptr ? std::string() : text_of(*found, std::string(name));
}

std::int64_t integer_member(const object& from, std::string_view name) {
  const auto* found = member(from, name);
  return found != nullptr && found->is_number() ? found->to_number<std::int64_t>() : 0;
}

/// Go's "15s", or nanoseconds.
void read_duration(const object& from, std::string_view name, Duration& into) {
  const auto* found = member(from, name);
  // Go clients send "" for "not given".
  if (found == nullptr || (found->is_string() && found->get_string().empty())) return;
  std::optional<Duration> parsed;
  if (found->is_string()) parsed = parse_duration(std::string_view(found->get_string()));
  if (found->is_int64()) parsed = Duration{found->get_int64()};
  if (!parsed) throw Error(Code::invalid, fmt::format("Lock.{}: expected a duration, e.g. \"15s\"", name));
  if (*parsed != Duration{0}) into = *parsed;
}

model::VariableLock parse_lock(const value& from) {
  if (!from.is_object()) throw Error(Code::invalid, "Lock: expected an object");
  model::VariableLock lock;
  lock.id = text_member(from.get_object(), "ID");
  read_duration(from.get_object(), "TTL", lock.ttl);
  read_duration(from.get_object(), "LockDelay", lock.lock_delay);
  return lock;
}

object metadata(const model::Variable& variable, bool with_lock_id) {
  object out{{"Namespace", variable.ns},
             {"Path", variable.path},
             {"CreateIndex", variable.create_index},
             {"ModifyIndex", variable.modify_index},
             {"CreateTime", variable.create_time},
             {"ModifyTime", variable.modify_time}};
  if (!variable.lock) return out;
  object lock{{"TTL", format_duration(variable.lock->ttl)}, {"LockDelay", format_duration(variable.lock->lock_delay)}};
  if (with_lock_id) lock["ID"] = variable.lock->id;
  out["Lock"] = std::move(lock);
  return out;
}

}  // namespace

VariableBody parse_variable(const object& body) {
  VariableBody out;
  out.ns = text_member(body, "Namespace");
  out.path = text_member(body, "Path");
  if (const auto* lock = member(body, "Lock")) out.lock = parse_lock(*lock);
  const auto* items = member(body, "Items");
  if (items == nullptr) return out;
  if (!items->is_object()) throw Error(Code::invalid, "Items: expected an object of strings");
  out.items.emplace();
  for (const auto& [key, item] : items->get_object())
    (*out.items)[std::string(key)] = text_of(item, fmt::format("Items.{}", std::string_view(key)));
  return out;
}

std::string encode_metadata(const model::Variable& variable, bool with_lock_id) {
  return boost::json::serialize(metadata(variable, with_lock_id));
}

std::string encode_variable(const model::OpenVariable& variable, bool with_lock_id) {
  object out = metadata(variable.row, with_lock_id);
  object items;
  for (const auto& [key, item] : variable.items) items[key] = item;
  out["Items"] = std::move(items);
  return boost::json::serialize(out);
}

model::OpenVariable decode_variable(const object& body) {
  auto parsed = parse_variable(body);
  model::OpenVariable out;
  out.row.ns = std::move(parsed.ns);
  out.row.path = std::move(parsed.path);
  out.row.lock = std::move(parsed.lock);
  out.row.create_index = integer_member(body, "CreateIndex");
  out.row.modify_index = integer_member(body, "ModifyIndex");
  out.row.create_time = integer_member(body, "CreateTime");
  out.row.modify_time = integer_member(body, "ModifyTime");
  if (parsed.items) out.items = std::move(*parsed.items);
  return out;
}

}  // namespace underway::wire
