#include "link/frame.hpp"

#include <boost/json/serialize.hpp>

#include "base/json/json.hpp"

namespace underway::link {
namespace {

enum class Kind : std::uint8_t { data = 1, acknowledge = 2, end = 3, reset = 4 };

[[noreturn]] void refuse(std::string_view why) {
  throw Error(Code::invalid, "malformed message on the link").because(std::string(why));
}

// --- errors travel whole, so that the operator reads the same text wherever he asked

boost::json::value error_to_json(const Error& error) {
  boost::json::array reasons, activities;
  for (const auto& reason : error.reasons()) reasons.emplace_back(reason);
  for (const auto& activity : error.activities()) activities.emplace_back(activity);
  return boost::json::object{{"Code", to_string(error.code())},
                             {"Message", error.message()},
                             {"Reasons", std::move(reasons)},
                             {"Activities", std::move(activities)},
                             {"Advice", error.advice()}};
}

std::string text_of(const boost::json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) refuse(fmt::format("'{}' is missing or no string", key));
  return std::string(std::string_view(value->get_string()));
}

Code code_of(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(Code::internal); ++i) {
    if (to_string(static_cast<Code>(i)) == text) return static_cast<Code>(i);
  }
  return Code::internal;  // a newer peer's code
}

Error error_from_json(const boost::json::value& value) {
  if (!value.is_object()) refuse("an error is no object");
  const auto& object = value.get_object();
  Error error(code_of(text_of(object, "Code")), text_of(object, "Message"));
  const auto each = [&](const char* key, auto add) {
    const auto* list = object.if_contains(key);
    if (list == nullptr || !list->is_array()) return;
    for (const auto& element : list->get_array()) {
      if (element.is_string()) add(std::string(std::string_view(element.get_string())));
    }
  };
  each("Reasons", [&](std::string text) { error.because(std::move(text)); });
  each("Activities", [&](std::string text) { error.while_doing(std::move(text)); });
  if (const auto* advice = object.if_contains("Advice"); advice != nullptr && advice->is_string()) {
    error.advise(std::string(std::string_view(advice->get_string())));
  }
  return error;
}

std::uint64_t number_of(const boost::json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0)
    refuse(fmt::format("'{}' is missing or no whole number", key));
  return static_cast<std::uint64_t>(value->get_int64());
}

boost::json::value take(boost::json::object& object, const char* key) {
  auto* value = object.if_contains(key);
  return value == nullptr ? boost::json::value() : std::move(*value);
}

Encoded text(boost::json::object object) { return {boost::json::serialize(object), true}; }

Encoded binary(std::uint32_t stream, Kind kind, std::string_view payload, std::optional<std::uint8_t> first = {}) {
  std::string out;
  out.reserve(6 + payload.size());
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(stream >> shift & 0xff);
  out += static_cast<char>(kind);
  if (first) out += static_cast<char>(*first);
  out += payload;
  return {std::move(out), false};
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

Encoded encode_one(const Call& f) { return text({{"Call", f.id}, {"Method", f.method}, {"Body", f.body}}); }
Encoded encode_one(const Reply& f) {
  if (f.error) return text({{"Reply", f.id}, {"Error", error_to_json(*f.error)}});
  return text({{"Reply", f.id}, {"Body", f.body}});
}
Encoded encode_one(const Notification& f) { return text({{"Notify", f.method}, {"Body", f.body}}); }
Encoded encode_one(const Open& f) { return text({{"Open", f.stream}, {"Method", f.method}, {"Header", f.header}}); }
Encoded encode_one(const Data& f) {
  return binary(f.stream, Kind::data, f.bytes, static_cast<std::uint8_t>(f.channel));
}
Encoded encode_one(const Acknowledge& f) {
  std::string count;
  for (const int shift : {24, 16, 8, 0}) count += static_cast<char>(f.bytes >> shift & 0xff);
  return binary(f.stream, Kind::acknowledge, count);
}
Encoded encode_one(const End& f) { return binary(f.stream, Kind::end, {}); }
Encoded encode_one(const Reset& f) {
  return binary(f.stream, Kind::reset, boost::json::serialize(error_to_json(f.error)));
}

Frame decode_text(std::string_view data) {
  auto value = json::parse(data);
  if (!value.is_object()) refuse("a control message is no object");
  auto& object = value.get_object();
  if (object.contains("Call")) return Call{number_of(object, "Call"), text_of(object, "Method"), take(object, "Body")};
  if (object.contains("Notify")) return Notification{text_of(object, "Notify"), take(object, "Body")};
  if (object.contains("Open")) {
    const std::uint64_t stream = number_of(object, "Open");
    if (stream > 0xffff'ffffu) refuse("a stream id is above 2^32");
    return Open{static_cast<std::uint32_t>(stream), text_of(object, "Method"), take(object, "Header")};
  }
  if (!object.contains("Reply")) refuse("a control message is no call, reply, notification or opening");
  Reply reply{number_of(object, "Reply"), take(object, "Body"), std::nullopt};
  if (const auto* error = object.if_contains("Error")) reply.error = error_from_json(*error);
  return reply;
}

Frame decode_binary(std::string_view data) {
  if (data.size() < 5) refuse("a stream frame is shorter than its head");
  const std::uint32_t stream = big_endian(data);
  const std::string_view payload = data.substr(5);
  switch (static_cast<Kind>(data[4])) {
    case Kind::data: {
      if (payload.empty() || static_cast<std::uint8_t>(payload[0]) > static_cast<std::uint8_t>(Channel::control))
        refuse("a data frame has no channel");
      return Data{stream, static_cast<Channel>(payload[0]), std::string(payload.substr(1))};
    }
    case Kind::acknowledge:
      if (payload.size() != 4) refuse("an acknowledgement has no count");
      return Acknowledge{stream, big_endian(payload)};
    case Kind::end:
      if (!payload.empty()) refuse("an end frame has a payload");
      return End{stream};
    case Kind::reset:
      return Reset{stream, error_from_json(json::parse(payload))};
  }
  refuse(fmt::format("a stream frame is of unknown kind {}", static_cast<unsigned char>(data[4])));
}

}  // namespace

Encoded encode(const Frame& frame) {
  return std::visit([](const auto& alternative) { return encode_one(alternative); }, frame);
}

Frame decode(std::string_view data, bool is_text) { return is_text ? decode_text(data) : decode_binary(data); }

}  // namespace underway::link
