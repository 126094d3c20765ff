#include "suite/release.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "control/stanza.hpp"
#include "control/writer.hpp"

namespace underway::suite {
namespace {

constexpr std::size_t kMaxFiles = 100'000;
constexpr Duration kMaxFuture = std::chrono::seconds{10};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

[[noreturn]] void refuse(std::string why) {
  throw Error(Code::invalid, "this is no Release file").because(std::move(why));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (const auto& word : split(control::join_lines(text), ' ')) {
    if (const auto bare = trim(word); !bare.empty()) out.emplace_back(bare);
  }
  return out;
}

/// Below the suite, and nowhere else.
bool stays_inside(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.size() > 1024) return false;
  for (const auto& part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return std::all_of(path.begin(), path.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::vector<IndexFile> parse_files(std::string_view value) {
  std::vector<IndexFile> out;
  for (const auto& line : split(value, '\n')) {
    const auto parts = words_of(line);
    if (parts.empty()) continue;
    const auto size = parts.size() == 3 ? parse_number<std::uint64_t>(parts[1]) : std::nullopt;
    if (!size || !is_sha256(parts[0])) refuse(fmt::format("'{}' is not a digest, a size and a path", trim(line)));
    if (!stays_inside(parts[2])) refuse(fmt::format("'{}' is no path below it", parts[2]));
    if (out.size() == kMaxFiles)
      throw Error(Code::too_large, "this Release names too many files").because(fmt::format("more than {}", kMaxFiles));
    out.push_back({parts[2], *size, parts[0]});
  }
  std::ranges::sort(out, {}, &IndexFile::path);
  const auto twice = std::ranges::adjacent_find(out, {}, &IndexFile::path);
  if (twice != out.end()) refuse(fmt::format("it names '{}' twice", twice->path));
  return out;
}

std::optional<TimePoint> parse_field(const control::Stanza& stanza, std::string_view name) {
  const auto value = stanza.find(name);
  if (!value) return std::nullopt;
  const auto time = parse_date(*value);
  if (!time) refuse(fmt::format("its {} is '{}', which is no date in UTC", name, *value));
  return time;
}

/// What can be written again as it was read.
void check_line(std::string_view name, std::string_view text) {
  const auto odd = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (text == "." || std::any_of(text.begin(), text.end(), odd)) refuse(fmt::format("its {} is no line of text", name));
}

bool says_yes(const control::Stanza& stanza, std::string_view name) {
  const auto value = stanza.find(name);
  return value && control::same_name(*value, "yes");
}

}  // namespace

const IndexFile* Release::find(std::string_view path) const {
  const auto at = std::ranges::lower_bound(files, path, {}, &IndexFile::path);
  return at == files.end() || at->path != path ? nullptr : &*at;
}

Release parse_release(std::string_view text) {
  const auto stanza = control::single_stanza(text);
  const auto word = [&](std::string_view name) { return std::string(stanza.find(name).value_or("")); };
  Release out{.origin = word("Origin"),
              .label = word("Label"),
              .suite = word("Suite"),
              .codename = word("Codename"),
              .version = word("Version"),
              .description = control::join_lines(word("Description")),
              .acquire_by_hash = says_yes(stanza, "Acquire-By-Hash"),
              .not_automatic = says_yes(stanza, "NotAutomatic"),
              .but_automatic_upgrades = says_yes(stanza, "ButAutomaticUpgrades"),
              .components = words_of(word("Components")),
              .architectures = words_of(word("Architectures"))};
  const auto date = parse_field(stanza, "Date");
  if (!date) refuse("it has no Date: whether it is newer than another could not be told");
  out.date = *date;
  out.valid_until = parse_field(stanza, "Valid-Until");
  if (out.suite.empty() && out.codename.empty()) refuse("it has neither a Suite nor a Codename");
  const auto components = join(out.components, " "), architectures = join(out.architectures, " ");
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{{"Origin", out.origin},
                                                                            {"Label", out.label},
                                                                            {"Suite", out.suite},
                                                                            {"Version", out.version},
                                                                            {"Codename", out.codename},
                                                                            {"Description", out.description},
                                                                            {"Components", components},
                                                                            {"Architectures", architectures}})
    check_line(name, value);
  out.files = parse_files(stanza.find("SHA256").value_or(""));
  return out;
}

std::string write_release(const Release& release) {
  control::Writer writer;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) writer.add(name, value);
  };
  add("Origin", release.origin);
  add("Label", release.label);
  add("Suite", release.suite);
  add("Version", release.version);
  add("Codename", release.codename);
  add("Date", format_date(release.date));
  if (release.valid_until) add("Valid-Until", format_date(*release.valid_until));
  if (release.not_automatic) add("NotAutomatic", "yes");
  if (release.but_automatic_upgrades) add("ButAutomaticUpgrades", "yes");
  if (release.acquire_by_hash) add("Acquire-By-Hash", "yes");
  add("Architectures", join(release.architectures, " "));
  add("Components", join(release.components, " "));
  add("Description", release.description);
  std::string files;
  for (const auto& file : release.files) files += fmt::format("\n{} {:>8} {}", file.sha256, file.size, file.path);
  add("SHA256", files);
  writer.end();
  auto text = writer.text();
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::vector<std::string> refusals(const Release& release, const Expectation& expected) {
  std::vector<std::string> out;
  if (release.suite != expected.suite && release.codename != expected.suite)
    out.push_back(fmt::format("it is of suite '{}' ('{}'), and '{}' was asked for", release.suite, release.codename,
                              expected.suite));
  if (release.date > expected.now + kMaxFuture)
    out.push_back(fmt::format("it is of {}, which is {} ahead: one of the two clocks is wrong",
                              format_date(release.date), human_duration(release.date - expected.now)));
  if (expected.before && release.date < *expected.before)
    out.push_back(
        fmt::format("it is of {}, and one of {} is known: upstream, or somebody on the way, goes back in time",
                    format_date(release.date), format_date(*expected.before)));
  if (release.valid_until) {
    if (*release.valid_until < expected.now)
      out.push_back(fmt::format("it held until {}, which is {} ago", format_date(*release.valid_until),
                                human_duration(expected.now - *release.valid_until)));
  } else if (expected.max_age > Duration{0} && expected.now - release.date > expected.max_age) {
    out.push_back(fmt::format("it is {} old, and max_age is {}", human_duration(expected.now - release.date),
                              human_duration(expected.max_age)));
  }
  const auto lacks = [&](std::string_view what, const std::vector<std::string>& all,
                         const std::vector<std::string>& wanted) {
    for (const auto& each : wanted) {
      if (std::ranges::find(all, each) == all.end())
        out.push_back(
            fmt::format("it has no {} '{}'; it has {}", what, each, all.empty() ? "none" : join_some(all, 20)));
    }
  };
  lacks("component", release.components, expected.components);
  lacks("architecture", release.architectures, expected.architectures);
  return out;
}

std::string format_date(TimePoint time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} UTC",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(
                         std::chrono::time_point_cast<std::chrono::system_clock::duration>(seconds))));
}

std::optional<TimePoint> parse_date(std::string_view text) {
  auto words = split(std::string(trim(text)), ' ');
  std::erase(words, "");
  if (!words.empty() && words.front().ends_with(','))
    words.erase(words.begin());  // the day of the week says nothing more
  if (words.size() != 5 || (words[4] != "UTC" && words[4] != "GMT" && words[4] != "+0000")) return std::nullopt;
  const auto month = std::ranges::find(kMonths, words[1]);
  if (month == kMonths.end() || words[0].size() > 2 || words[2].size() != 4 || words[3].size() != 8)
    return std::nullopt;
  // Read as RFC 3339, which knows how many days a month has.
  return parse_time(fmt::format("{}-{:02}-{:0>2}T{}Z", words[2], month - kMonths.begin() + 1, words[0], words[3]));
}

}  // namespace underway::suite
