#include "slurm/elastic/reservation.hpp"

#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

constexpr std::size_t kLongestReservation = 1024UL * 1024;
constexpr Duration kSameTime = std::chrono::minutes(1);

/// The first of each: a comment, which is free text, is last.
std::map<std::string_view, std::string_view> values_in(std::string_view line) {
  std::map<std::string_view, std::string_view> out;
  while (!line.empty()) {
    const auto blank = line.find(' ');
    const auto word = line.substr(0, blank);
    line = blank == std::string_view::npos ? std::string_view{} : line.substr(blank + 1);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const auto value = word.substr(equals + 1);
    out.emplace(word.substr(0, equals), value == "(null)" ? std::string_view{} : value);
  }
  return out;
}

std::optional<TimePoint> utc_moment(std::string_view text) { return parse_time(std::string(text) + "Z"); }

std::set<std::string> names_in(std::string_view text) {
  const auto list = split_list(text);
  return {list.begin(), list.end()};
}

std::optional<Reservation> read_reservation(std::string_view line, std::size_t& left) {
  auto values = values_in(line);
  const auto begins = utc_moment(values["StartTime"]), ends = utc_moment(values["EndTime"]);
  if (values["ReservationName"].empty() || !begins || !ends) return std::nullopt;
  Reservation out{.name = std::string(values["ReservationName"]), .begins = *begins, .ends = *ends};
  try {
    const auto nodes = unfold_hosts(std::string(values["Nodes"]));
    if (nodes.size() <= left) out.nodes = {nodes.begin(), nodes.end()};
  } catch (const Error&) {
    // no host list: it has nodes that nobody knows of
  }
  left -= out.nodes.size();
  out.accounts = names_in(values["Accounts"]);
  out.users = names_in(values["Users"]);
  return out;
}

std::string name_list(const std::set<std::string>& all) {
  const std::vector<std::string> names(all.begin(), all.end());
  return join(names, ",");
}

std::string host_list(const std::set<std::string>& nodes) {
  return fold_hosts(std::vector<std::string>(nodes.begin(), nodes.end()));
}

/// As Slurm reads it, of UTC.
std::string utc_text(TimePoint at) { return format_time(at).substr(0, 19); }

bool same_time(TimePoint a, TimePoint b) { return (a < b ? b - a : a - b) < kSameTime; }

/// Times are read, and written, where scontrol runs.
Command scontrol_words(std::vector<std::string> words) {
  Command out{"env", "TZ=UTC", "scontrol"};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

}  // namespace

Command reservations_command() { return scontrol_words({"-o", "show", "reservation"}); }

std::vector<Reservation> parse_reservations(std::string_view text) {
  std::vector<Reservation> out;
  std::size_t left = kMostReserved;
  for (const auto& row : split(text, '\n')) {
    const auto line = trim(row);
    if (line.size() > kLongestReservation || !line.starts_with("ReservationName=")) continue;
    if (auto found = read_reservation(line, left)) out.push_back(std::move(*found));
  }
  return out;
}

Command create_command(const Reservation& wanted, TimePoint now) {
  auto out =
      scontrol_words({"create", "reservation", "reservationname=" + wanted.name,
                      "starttime=" + (wanted.begins <= now ? "now" : utc_text(wanted.begins)),
                      "endtime=" + utc_text(wanted.ends), "nodes=" + host_list(wanted.nodes), "flags=ignore_jobs"});
  if (!wanted.accounts.empty()) out.push_back("accounts=" + name_list(wanted.accounts));
  if (!wanted.users.empty()) out.push_back("users=" + name_list(wanted.users));
  return out;
}

Command update_command(const Reservation& has, const Reservation& wanted, TimePoint now) {
  std::vector<std::string> words;
  if (has.begins > now && wanted.begins > now && !same_time(has.begins, wanted.begins))
    words.push_back("starttime=" + utc_text(wanted.begins));
  if (!same_time(has.ends, wanted.ends)) words.push_back("endtime=" + utc_text(wanted.ends));
  if (has.nodes != wanted.nodes) words.push_back("nodes=" + host_list(wanted.nodes));
  if (has.accounts != wanted.accounts) words.push_back("accounts=" + name_list(wanted.accounts));
  if (has.users != wanted.users) words.push_back("users=" + name_list(wanted.users));
  if (words.empty()) return {};
  auto out = scontrol_words({"update", "reservationname=" + has.name});
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

Command delete_reservation_command(const std::string& name) { return {"scontrol", "delete", "reservation=" + name}; }

}  // namespace underway::slurm
