#include "slurm/hostlist.hpp"

#include <map>

#include "base/error.hpp"
#include "base/numbers.hpp"

namespace underway::slurm {
namespace {

constexpr std::size_t kMostHosts = 100'000;

struct Numbered {
  std::string prefix;
  std::size_t width = 0;  ///< of the digits when they are padded; 0: not padded
  std::int64_t number = 0;
};

std::optional<Numbered> split_number(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits == name.size() || name.size() - digits > 9) return std::nullopt;
  Numbered out{name.substr(0, digits), 0, leading_number_or<std::int64_t>(std::string_view(name).substr(digits), 0)};
  if (name[digits] == '0') out.width = name.size() - digits;
  return out;
}

std::string padded(std::int64_t number, std::size_t width) { return fmt::format("{:0{}}", number, width); }

std::string fold_numbers(std::vector<std::int64_t> numbers, std::size_t width) {
  std::sort(numbers.begin(), numbers.end());
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += padded(numbers[i], width);
    if (last > i) out += "-" + padded(numbers[last], width);
    i = last + 1;
  }
  return out;
}

[[noreturn]] void refuse(const std::string& list, const std::string& why) {
  throw Error(Code::invalid, fmt::format("'{}' is no host list", list)).because(why);
}

std::int64_t number_of(const std::string& list, std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  if (!value || text.size() > 9) refuse(list, fmt::format("'{}' is no number", text));
  return *value;
}

void unfold_bracket(const std::string& list, const std::string& prefix, std::string_view inside,
                    std::string_view suffix, std::vector<std::string>& out) {
  while (true) {
    const std::size_t comma = inside.find(',');
    const std::string_view item = inside.substr(0, comma);
    const std::size_t dash = item.find('-');
    const std::string_view from = item.substr(0, dash);
    const std::int64_t first = number_of(list, from);
    const std::int64_t last = dash == std::string_view::npos ? first : number_of(list, item.substr(dash + 1));
    const std::size_t width = from[0] == '0' ? from.size() : 0;
    if (last < first) refuse(list, fmt::format("{} runs backwards", item));
    if (out.size() + static_cast<std::size_t>(last - first) >= kMostHosts)
      refuse(list, fmt::format("it names more than {} hosts", kMostHosts));
    for (std::int64_t n = first; n <= last; ++n) out.push_back(fmt::format("{}{}{}", prefix, padded(n, width), suffix));
    if (comma == std::string_view::npos) return;
    inside.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string fold_hosts(const std::vector<std::string>& names) {
  struct Part {
    std::string prefix;
    std::size_t width;
    std::vector<std::int64_t> numbers;
    bool plain;
  };
  std::vector<Part> parts;
  std::map<std::pair<std::string, std::size_t>, std::size_t> where;
  for (const auto& name : names) {
    const auto numbered = split_number(name);
    if (!numbered) {
      parts.push_back({name, 0, {}, true});
      continue;
    }
    const auto [it, fresh] = where.try_emplace({numbered->prefix, numbered->width}, parts.size());
    if (fresh) parts.push_back({numbered->prefix, numbered->width, {}, false});
    parts[it->second].numbers.push_back(numbered->number);
  }
  std::string out;
  for (const auto& part : parts) {
    if (!out.empty()) out += ',';
    out += part.prefix;
    if (part.plain) continue;
    const std::string numbers = fold_numbers(part.numbers, part.width);
    out += part.numbers.size() == 1 ? numbers : "[" + numbers + "]";
  }
  return out;
}

std::vector<std::string> unfold_hosts(const std::string& list) {
  std::vector<std::string> out;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    const std::size_t comma = rest.find(',');
    if (comma < open || open == std::string_view::npos) {
      if (rest.substr(0, comma).find(']') != std::string_view::npos) refuse(list, "a ] has no [");
      if (comma == 0) refuse(list, "a name is empty");
      out.emplace_back(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
      if (comma != std::string_view::npos && rest.empty()) refuse(list, "a name is empty");
      continue;
    }
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) refuse(list, "a [ is not closed");
    const std::size_t end = std::min(rest.find(',', close), rest.size());
    unfold_bracket(list, std::string(rest.substr(0, open)), rest.substr(open + 1, close - open - 1),
                   rest.substr(close + 1, end - close - 1), out);
    rest = end == rest.size() ? std::string_view{} : rest.substr(end + 1);
  }
  return out;
}

}  // namespace underway::slurm
