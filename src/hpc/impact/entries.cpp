#include "impact/entries.hpp"

#include "base/numbers.hpp"

#include <algorithm>

namespace underway::impact {

namespace {

/// The number that was given out last.
constexpr const char* kLast = "changes/last";
constexpr std::size_t kLongestText = 200;

std::int64_t last_number(const tables::Tables& tables) {
  const auto value = tables.setting(kLast);
  return value && value->is_int64() ? value->get_int64() : 0;
}

std::string month_of(std::int64_t at) { return format_time(from_unix_nanos(at)).substr(0, 7); }

std::string month_after(const std::string& month) {
  const int year = parse_number<int>(month.substr(0, 4)).value(), number = parse_number<int>(month.substr(5)).value();
  return number == 12 ? fmt::format("{:04}-01", year + 1) : fmt::format("{:04}-{:02}", year, number + 1);
}

}  // namespace

void keep(const tables::Tables& tables, std::vector<tables::Change>& changes, ChangeEntry entry) {
  entry.number = last_number(tables) + 1;
  for (auto* text : {&entry.who, &entry.request_id, &entry.what, &entry.ns})
    *text = shortened(std::move(*text), kLongestText);
  changes.push_back(tables::PutSetting{kLast, entry.number});
  changes.push_back(tables::put_record(entry));
  if (entry.number > kMostEntries) {
    const ChangeEntry oldest{.number = entry.number - kMostEntries};
    changes.push_back(tables::delete_record<ChangeEntry>(tables::RecordOf<ChangeEntry>::name(oldest)));
  }
}

std::vector<ChangeEntry> entries_since(const tables::Tables& tables, TimePoint since, std::size_t limit) {
  const auto rows = tables.rows<model::Record>(tables::record_key<ChangeEntry>(""));
  std::vector<ChangeEntry> out;
  for (auto it = rows.rbegin(); it != rows.rend() && out.size() < limit; ++it) {
    auto entry = tables::decode_record<ChangeEntry>(**it);
    // Clocks are set: one that seems older does not hide what was made before it.
    if (entry.at >= unix_nanos(since)) out.push_back(std::move(entry));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

void add(Tally& tally, Impact impact) {
  switch (impact) {
    case Impact::none:
      ++tally.none;
      break;
    case Impact::brief:
      ++tally.brief;
      break;
    case Impact::drain:
      ++tally.drain;
      break;
    case Impact::outage:
      ++tally.outage;
      break;
  }
}

Tally tally_of(const std::vector<ChangeEntry>& entries) {
  Tally tally;
  for (const auto& entry : entries) add(tally, entry.impact);
  return tally;
}

std::string sentence(const Tally& tally) {
  const std::string brief = tally.brief > 0 ? fmt::format(" ({} brief)", tally.brief) : "";
  return fmt::format("{}: {} no-impact{}, {} drain, {} outage",
                     counted(static_cast<std::size_t>(tally.all()), "change"), tally.no_impact(), brief, tally.drain,
                     tally.outage);
}

std::map<std::string, Tally> by_month(const std::vector<ChangeEntry>& entries) {
  std::map<std::string, Tally> months;
  for (const auto& entry : entries) add(months[month_of(entry.at)], entry.impact);
  if (months.empty()) return months;
  const std::string last = months.rbegin()->first;
  for (std::string month = months.begin()->first; month < last; month = month_after(month)) months.try_emplace(month);
  return months;
}

const describe::Structure& description(describe::Tag<Tally>) {
  static const describe::Structure s =
      describe::Builder<Tally>("change tally", "Changes by their class.")
          .wire<&Tally::none>("None", "How many changes nobody noticed.")
          .wire<&Tally::brief>(
              "Brief", "How many took a service away for seconds and ended no work; they count as no-impact, too.")
          .wire<&Tally::drain>("Drain", "How many kept new work off nodes until they were empty.")
          .wire<&Tally::outage>("Outage", "How many ended work that ran, or left a service without a way to go on.")
          .done();
  return s;
}

}  // namespace underway::impact
