#include "cli/impact/standstill.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace underway::cli {
namespace {

constexpr Duration kPassing = std::chrono::seconds(3);
/// Tasks are started again after 15 s unless their job says otherwise, and may take as long to fail anew.
constexpr Duration kStill = std::chrono::seconds(40);

using Words = std::vector<std::string>;

/// Without what punctuates it. Quotes stay: what stands between them is a name.
std::string_view unpunctuated(std::string_view word) {
  while (word.starts_with('(')) word.remove_prefix(1);
  while (!word.empty() && std::string_view("),;:.").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return word;
}

bool is_number(std::string_view word) { return !word.empty() && std::ranges::all_of(word, is_digit); }

/// "6m", "1.5s", and "2d3h", as human_duration writes it.
bool is_span(std::string_view word) {
  if (is_number(word)) return false;
  const auto days = word.find('d');
  if (days != std::string_view::npos && is_number(word.substr(0, days))) word.remove_prefix(days + 1);
  return parse_duration(word).has_value();
}

/// For how long, since when, or how often in a row the same is in vain: it changes though nothing happens.
bool goes_on_by_itself(const Words& words, std::size_t at) {
  const auto word = unpunctuated(words[at]);
  if (is_number(word))  // "7 times in a row"
    return at + 4 < words.size() && words[at + 1].starts_with("time") && unpunctuated(words[at + 4]) == "row";
  return is_span(word) || parse_time(word).has_value();
}

/// What may change though the cause stays: besides that, how often or how many. Other numbers tell causes apart, as
/// those of ports and exit codes do.
bool says_nothing_of_the_cause(const Words& words, std::size_t at) {
  static const std::set<std::string_view> counted = {"time", "times", "more", "allocation", "allocations"};
  const bool count =
      is_number(unpunctuated(words[at])) && at + 1 < words.size() && counted.contains(unpunctuated(words[at + 1]));
  return count || goes_on_by_itself(words, at);
}

std::string words_without(bool (*left_out)(const Words&, std::size_t), const wire::Attention& attention) {
  const Words words = split(attention.what + " \n " + attention.why, ' ');
  std::string text;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (!left_out(words, at)) text += words[at] + " ";
  }
  return text;
}

std::string all_that_moves(const wire::Status& status) {
  std::string text;
  for (const auto& host : status.hosts)
    text += fmt::format("{} {} {}\n", host.name, describe::spell(host.status), host.node_id);
  for (const auto& service : status.services) {
    text += fmt::format("{} {} {} {} {} {}\n", service.id, service.version, service.wanted, service.running,
                        service.healthy, join(service.waits, ";"));
  }
  // How often a task was restarted is in them, and may be all that tells of one that ends at once.
  for (const auto& attention : status.attention) text += words_without(goes_on_by_itself, attention) + "\n";
  return text;
}

bool are_there(const std::vector<wire::HostState>& hosts) {
  return std::ranges::all_of(hosts, &wire::HostState::stands);
}

bool is_missing(const wire::ServiceStatus& service) {
  return service.healthy != service.wanted || !service.waits.empty();
}

bool needs_somebody(const wire::Status& status, const wire::ServiceStatus& service) {
  const std::string name = "'" + service.id + "'";
  return std::ranges::any_of(status.attention, [&](const wire::Attention& attention) {
    return attention.what.find(name) != std::string::npos;
  });
}

}  // namespace

std::vector<wire::Attention> Standstill::untold(const wire::Status& status, async::SteadyTime now) {
  std::vector<wire::Attention> out;
  std::map<std::string, async::SteadyTime> seen;
  for (const auto& attention : status.attention) {
    const std::string cause = words_without(says_nothing_of_the_cause, attention);
    const auto before = seen_.find(cause);
    const auto since = before == seen_.end() ? now : before->second;
    seen.emplace(cause, since);
    if (now - since >= kPassing && told_.insert(cause).second) out.push_back(attention);
  }
  seen_ = std::move(seen);
  return out;
}

std::vector<std::string> Standstill::find_missing_for_good(const wire::Status& status, async::SteadyTime now) {
  std::string moves = all_that_moves(status);
  if (moves != last_) {
    last_ = std::move(moves);
    moved_ = now;
  }
  if (now - moved_ < kStill || !are_there(status.hosts)) return {};
  std::vector<std::string> missing;
  std::set<std::string> explained;
  for (const auto& service : status.services) {
    if (!is_missing(service)) continue;
    missing.push_back(service.id);
    if (needs_somebody(status, service)) explained.insert(service.id);
  }
  for (bool more = true; more;) {
    more = false;
    for (const auto& service : status.services) {
      const bool held = is_missing(service) && std::ranges::any_of(service.depends_on, [&](const std::string& other) {
                          return explained.contains(other);
                        });
      more = (held && explained.insert(service.id).second) || more;
    }
  }
  if (explained.size() != missing.size()) return {};
  return missing;
}

}  // namespace underway::cli
