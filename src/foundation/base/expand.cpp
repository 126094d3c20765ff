#include "base/expand.hpp"

namespace underway {

std::string expand(std::string_view text,
                   const std::function<std::optional<std::string>(std::string_view name)>& find) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const std::size_t begin = text.find("${");
    if (begin == std::string_view::npos) break;
    const std::size_t end = text.find('}', begin);
    if (end == std::string_view::npos) break;
    out.append(text.substr(0, begin));
    if (const auto value = find(text.substr(begin + 2, end - begin - 2))) {
      out.append(*value);
      text.remove_prefix(end + 1);
    } else {
      out.append("${");
      text.remove_prefix(begin + 2);
    }
  }
  out.append(text);
  return out;
}

}  // namespace underway
