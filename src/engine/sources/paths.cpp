#include "sources/paths.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "http/message.hpp"

#include <algorithm>

namespace underway::sources {

std::string url_path(std::string_view name) {
  constexpr std::size_t kLongest = 1024;
  if (name.size() > kLongest) throw Error(Code::too_large, "a path in a template is longer than 1024 bytes");
  std::string out;
  for (const auto& part : split(name, '/')) {
    const bool control = std::ranges::any_of(part, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (part.empty() || part == "." || part == ".." || control)
      throw Error(Code::invalid, "a path in a template has a part that is empty, '.', '..' or no text")
          .advise("write it as it is named on the server");
    out += (out.empty() ? "" : "/") + http::percent_encode(part);
  }
  return out;
}

}  // namespace underway::sources
