#include "sources/settings.hpp"

#include <algorithm>

namespace underway::sources {

std::string for_asker(std::string text, const Asker& asker) {
  const std::pair<std::string_view, const std::string*> known[] = {
      {"${namespace}", &asker.ns}, {"${job}", &asker.job_id}, {"${group}", &asker.group}, {"${task}", &asker.task}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto* hit = std::ranges::find_if(
        known, [&](const auto& entry) { return std::string_view(text).substr(at).starts_with(entry.first); });
    if (hit == std::end(known)) {
      out += text[at++];
    } else {
      out += *hit->second;
      at += hit->first.size();
    }
  }
  return out;
}

bool is_allowed(std::string_view path, const std::vector<std::string>& patterns, const Asker& asker) {
  return std::ranges::any_of(patterns, [&](std::string pattern) {
    // Before names are put in: a job that is called "a*" may not read what is of "ab".
    const bool open = pattern.ends_with('*');
    if (open) pattern.pop_back();
    const std::string wanted = for_asker(std::move(pattern), asker);
    return open ? path.starts_with(wanted) : path == wanted;
  });
}

}  // namespace underway::sources
