#include "adoption/draft/hcl_text.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace underway::adoption {

std::string hcl_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '$' || c == '%') && i + 1 < text.size() && text[i + 1] == '{') out += c;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
          out += c;
    }
  }
  out += '"';
  return is_utf8(out) ? out : hcl_string(hex(text));
}

std::string hcl_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? ", " : "") + hcl_string(item);
  return out + "]";
}

std::string comment(std::string_view text, std::string_view indent) {
  constexpr std::size_t kColumns = 100;
  std::string out, line;
  const auto end_line = [&] {
    if (!line.empty()) out += fmt::format("{}# {}\n", indent, line);
    line.clear();
  };
  std::string clean(text);
  for (auto& c : clean)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  if (!is_utf8(clean)) clean = hex(clean);
  for (const auto& word : split(clean, ' ')) {
    if (word.empty()) continue;
    if (!line.empty() && indent.size() + 3 + line.size() + word.size() > kColumns) end_line();
    line += (line.empty() ? "" : " ") + word;
  }
  end_line();
  return out;
}

}  // namespace underway::adoption
