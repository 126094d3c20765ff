// JSON, base64 and base32, Sprig's.
#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/detail/library.hpp"

#include <algorithm>

namespace underway::gotemplate::detail {

namespace {

constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// RFC 4648 with padding.
std::string base32_encode(std::string_view bytes) {
  std::string out;
  std::uint64_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(c);
    for (count += 8; count >= 5; count -= 5) out += kBase32[bits >> (count - 5) & 31U];
  }
  if (count > 0) out += kBase32[bits << (5 - count) & 31U];
  while (out.size() % 8 != 0) out += '=';
  return out;
}

std::string base32_decode(std::string_view text) {
  std::string out;
  std::uint64_t bits = 0;
  unsigned count = 0;
  const std::size_t end = std::min(text.find('='), text.size());
  if (text.size() % 8 != 0 || text.find_first_not_of('=', end) != std::string_view::npos)
    throw Error(Code::invalid, "illegal base32 data");
  for (const char c : text.substr(0, end)) {
    const std::size_t value = kBase32.find(c);
    if (value == std::string_view::npos) throw Error(Code::invalid, "illegal base32 data");
    bits = bits << 5U | value;
    count += 5;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFFU);
  }
  return out;
}

/// Sprig's fromJson hides what is wrong; mustFromJson tells it.
Value from_json_or_nil(const Call& call) {
  try {
    return from_json(call.text(0), call.run);
  } catch (const Error& error) {
    if (error.code() == Code::too_large) throw;
    return {};
  }
}

Value json(const Call& call, bool escape_html, unsigned indent) {
  return to_json(call[0], call.run, escape_html, indent);
}

}  // namespace

std::string base64_bytes(std::string_view text, bool url) {
  std::string plain(text);
  if (url) {
    std::ranges::replace(plain, '-', '+');
    std::ranges::replace(plain, '_', '/');
  }
  try {
    return base64_decode(plain);
  } catch (const Error&) {
    throw Error(Code::invalid, "illegal base64 data");
  }
}

std::vector<Function> encoding_functions() {
  constexpr Origin kSprig = Origin::sprig;
  std::vector<Function> functions = {
      {"toJson", "value any", "The value as JSON on one line.", kSprig, [](const Call& c) { return json(c, true, 0); }},
      {"toPrettyJson", "value any", "The value as JSON, one member a line.", kSprig,
       [](const Call& c) { return json(c, true, 2); }},
      {"toRawJson", "value any", "As toJson, with <, > and & as they are.", kSprig,
       [](const Call& c) { return json(c, false, 0); }},
      {"fromJson", "text string", "The value that the JSON holds; numbers are floats.", kSprig,
       [](const Call& c) { return from_json(c.text(0), c.run); }},
  };
  for (std::size_t i = 0; i < 4; ++i) {
    Function must = functions[i];
    must.name = "must" + std::string(1, static_cast<char>(std::toupper(must.name[0]))) + must.name.substr(1);
    must.meaning = fmt::format("As {}.", functions[i].name);
    functions.push_back(std::move(must));
  }
  functions[3].run = from_json_or_nil;
  functions[3].meaning = "The value that the JSON holds, numbers as floats; nothing when it is none.";
  functions.back().meaning = "The value that the JSON holds, numbers as floats.";
  functions.push_back({"b64enc", "text string", "The text in base64.", kSprig,
                       [](const Call& c) -> Value { return base64_encode(c.text(0)); }});
  functions.push_back({"b64dec", "text string", "The text that the base64 holds.", kSprig,
                       [](const Call& c) -> Value { return base64_bytes(c.text(0), false); }});
  functions.push_back({"b32enc", "text string", "The text in base32.", kSprig,
                       [](const Call& c) -> Value { return base32_encode(c.text(0)); }});
  functions.push_back({"b32dec", "text string", "The text that the base32 holds.", kSprig,
                       [](const Call& c) -> Value { return base32_decode(c.text(0)); }});
  return functions;
}

}  // namespace underway::gotemplate::detail
