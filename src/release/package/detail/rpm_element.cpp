#include "package/detail/rpm_element.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "control/stanza.hpp"

namespace underway::package::detail {

namespace {

/// "entry" of "rpm:entry". Prefixes are not resolved: where they were declared is outside of this element.
std::string_view local_name(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

struct Handlers {
  std::function<void(std::string_view name, const char** attributes)> begin;
  std::function<void(std::string_view name)> end;
  std::function<void(std::string_view text)> text;
  XML_Parser parser = nullptr;
};

void read_element(std::string_view element, Handlers& handlers) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(::XML_ParserCreate("UTF-8"),
                                                                            &XML_ParserFree);
  if (!parser) throw Error(Code::exhausted, "cannot read the description of an rpm package").because("no memory");
  handlers.parser = parser.get();
  ::XML_SetUserData(parser.get(), &handlers);
  ::XML_SetElementHandler(
      parser.get(),
      [](void* data, const char* name, const char** attributes) {
        static_cast<Handlers*>(data)->begin(local_name(name), attributes);
      },
      [](void* data, const char* name) { static_cast<Handlers*>(data)->end(local_name(name)); });
  ::XML_SetCharacterDataHandler(parser.get(), [](void* data, const char* text, int size) {
    const auto& handler = static_cast<Handlers*>(data)->text;
    if (handler) handler(std::string_view(text, static_cast<std::size_t>(size)));
  });
  ::XML_SetStartDoctypeDeclHandler(parser.get(), [](void* data, const char*, const char*, const char*, int) {
    ::XML_StopParser(static_cast<Handlers*>(data)->parser, XML_FALSE);
  });
  const bool fits = element.size() <= control::kMaxStanza;
  if (!fits || ::XML_Parse(parser.get(), element.data(), static_cast<int>(element.size()), 1) != XML_STATUS_OK)
    throw Error(Code::invalid, "cannot read the description of an rpm package")
        .because(fits ? ::XML_ErrorString(::XML_GetErrorCode(parser.get())) : "it is too long");
}

RpmEntry entry_of(const char** attributes) {
  RpmEntry out;
  for (; *attributes != nullptr; attributes += 2) {
    const std::string_view name = attributes[0];
    const char* value = attributes[1];
    if (name == "name") out.name = value;
    if (name == "flags") out.flags = value;
    if (name == "epoch") out.epoch = value;
    if (name == "ver") out.version = value;
    if (name == "rel") out.release = value;
    if (name == "pre") out.pre = std::string_view(value) == "1";
  }
  return out;
}

}  // namespace

std::vector<RpmEntry> rpm_entries(std::string_view element, std::string_view list) {
  std::vector<RpmEntry> out;
  bool inside = false;
  Handlers handlers;
  handlers.begin = [&](std::string_view name, const char** attributes) {
    if (name == list) inside = true;
    if (inside && name == "entry") out.push_back(entry_of(attributes));
  };
  handlers.end = [&](std::string_view name) {
    if (name == list) inside = false;
  };
  read_element(element, handlers);
  return out;
}

std::optional<std::string> rpm_text(std::string_view element, std::string_view name) {
  std::optional<std::string> out;
  int depth = 0;  // within the element that is looked for
  bool done = false;
  Handlers handlers;
  handlers.begin = [&](std::string_view found, const char**) {
    if (depth > 0) {
      ++depth;
    } else if (!done && control::same_name(found, name)) {
      depth = 1;
      out.emplace();
    }
  };
  handlers.end = [&](std::string_view) {
    if (depth == 0) return;
    --depth;
    done = depth == 0;
  };
  handlers.text = [&](std::string_view text) {
    if (depth > 0) *out += text;
  };
  read_element(element, handlers);
  return out;
}

std::optional<Comparison> find_comparison(std::string_view flags) {
  constexpr std::array<std::pair<std::string_view, Comparison>, 5> kFlags = {{{"EQ", Comparison::equal},
                                                                              {"LT", Comparison::less},
                                                                              {"LE", Comparison::less_equal},
                                                                              {"GT", Comparison::greater},
                                                                              {"GE", Comparison::greater_equal}}};
  for (const auto& [spelling, comparison] : kFlags) {
    if (spelling == flags) return comparison;
  }
  return std::nullopt;
}

}  // namespace underway::package::detail
