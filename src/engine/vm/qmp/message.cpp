#include "vm/qmp/message.hpp"

#include <boost/json/parse.hpp>

#include "base/error.hpp"
#include "base/json/json_member.hpp"

namespace underway::vm {
namespace {

namespace json = boost::json;

Error no_message(std::string_view line, std::string_view why) {
  return Error(Code::internal, "QEMU says what is no message of its protocol")
      .because(fmt::format("{}: '{}'", why, line.substr(0, 80)));
}

std::int64_t id_of(const json::object& message) {
  const auto* id = message.if_contains("id");
  if (id == nullptr) return -1;
  if (id->is_int64()) return id->get_int64();
  return -1;
}

QmpGreeting greeting(const json::value& body) {
  const auto number = [&](const char* part) -> std::int64_t {
    const auto* object = body.if_object();
    for (const auto* key : {"version", "qemu", part}) {
      const auto* value = object != nullptr ? object->if_contains(key) : nullptr;
      if (value == nullptr) return 0;
      if (value->is_int64()) return value->get_int64();
      object = value->if_object();
    }
    return 0;
  };
  return {fmt::format("{}.{}.{}", number("major"), number("minor"), number("micro"))};
}

}  // namespace

QmpMessage parse_qmp(std::string_view line) {
  boost::system::error_code failed;
  json::parse_options limits;
  limits.max_depth = 64;
  const auto value = json::parse(json::string_view(line.data(), line.size()), failed, {}, limits);
  if (failed) throw no_message(line, failed.message());
  const auto* message = value.if_object();
  if (message == nullptr) throw no_message(line, "no object");
  if (const auto* body = message->if_contains("QMP")) return greeting(*body);
  if (const auto* name = message->if_contains("event"); name != nullptr && name->is_string())
    return QmpEvent{std::string(name->get_string()), underway::json::object_at(*message, "data")};
  if (const auto* body = message->if_contains("return")) return QmpReturn{id_of(*message), *body};
  if (const auto* error = message->if_contains("error"); error != nullptr && error->is_object())
    return QmpFailure{id_of(*message), underway::json::text_at(error->get_object(), "class"),
                      underway::json::text_at(error->get_object(), "desc")};
  throw no_message(line, "neither greeting nor event nor answer");
}

}  // namespace underway::vm
