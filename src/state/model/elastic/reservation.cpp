#include "model/elastic/reservation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

constexpr std::size_t kLongestNameForSlurm = 64;
constexpr std::size_t kMostReservations = 1000;   ///< of a pool: each is compared with all
constexpr std::size_t kMostNamesReserved = 1000;  ///< of accounts and users together: they stand in one command

/// What stands in Slurm's lists and keys without being taken apart there, and is no option of its programs.
bool is_name_for_slurm(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  if (name.empty() || name.size() > kLongestNameForSlurm || kLetters.find(name.front()) == std::string_view::npos)
    return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return kLetters.find(c) != std::string_view::npos || c == '-' || c == '.'; });
}

class ReservationCheck {
 public:
  ReservationCheck(std::int64_t most, const std::string& where) : most_(most), where_(where) {}

  std::vector<std::string> run(const std::vector<HostReservation>& all) {
    if (all.size() > kMostReservations)
      return {fmt::format("{}: {} reservations; at most {}", where_, all.size(), kMostReservations)};
    std::set<std::string> names;
    for (const auto& it : all) {
      if (!names.insert(it.name).second) say(it, "it is declared twice");
      check(it);
    }
    if (problems_.empty()) check_sums(all);
    return std::move(problems_);
  }

 private:
  void say(const HostReservation& of, const std::string& what) {
    problems_.push_back(fmt::format("{}: reservation '{}': {}", where_, of.name, what));
  }

  void check(const HostReservation& it) {
    if (!is_name_for_slurm(it.name))
      say(it, fmt::format("its name is at most {} letters, digits and _ - . and begins with none of the last two",
                          kLongestNameForSlurm));
    if (it.hosts < 1 || it.hosts > most_)
      say(it, fmt::format("hosts is {}; at least 1, and at most {}, as the pool has", it.hosts, most_));
    bool times = true;
    for (const auto& [key, text] : {std::pair{"from", &it.from}, {"until", &it.until}}) {
      if (parse_time(*text)) continue;
      say(it, fmt::format("{} is '{}', which is no time with a zone: write it as 2026-12-01T09:00:00Z", key, *text));
      times = false;
    }
    if (times && it.begins() >= it.ends())
      say(it, fmt::format("it is from {} until {}; the second is later", it.from, it.until));
    if (it.accounts.empty() && it.users.empty()) say(it, "it is for nobody: name `accounts`, or `users`, or both");
    if (it.accounts.size() + it.users.size() > kMostNamesReserved)
      say(it, fmt::format("it names {} accounts and users; at most {}", it.accounts.size() + it.users.size(),
                          kMostNamesReserved));
    for (const auto& [what, list] : {std::pair{"account", &it.accounts}, {"user", &it.users}}) {
      for (const auto& name : *list) {
        if (!is_name_for_slurm(name))
          say(it, fmt::format("'{}' is no name of {} {}", name, *what == 'a' ? "an" : "a", what));
      }
    }
  }

  /// The most that any moment needs is needed where one of them begins.
  void check_sums(const std::vector<HostReservation>& all) {
    for (const auto& begun : all) {
      std::int64_t hosts = 0;
      std::vector<std::string> names;
      for (const auto& it : all) {
        if (it.begins() > begun.begins() || it.ends() <= begun.begins()) continue;
        hosts += it.hosts;
        names.push_back("'" + it.name + "'");
      }
      if (hosts <= most_) continue;
      problems_.push_back(fmt::format("{}: reservations {} have {} hosts at {}, and the pool has at most {}", where_,
                                      join(names, ", "), hosts, begun.from, most_));
      return;
    }
  }

  std::int64_t most_;
  const std::string& where_;
  std::vector<std::string> problems_;
};

}  // namespace

TimePoint HostReservation::begins() const { return parse_time(from).value_or(TimePoint{}); }
TimePoint HostReservation::ends() const { return parse_time(until).value_or(TimePoint{}); }

std::vector<std::string> problems(const std::vector<HostReservation>& reservations, std::int64_t most,
                                  const std::string& where) {
  return ReservationCheck(most, where).run(reservations);
}

const Structure& description(Tag<HostReservation>) {
  static const Structure s =
      Builder<HostReservation>("reservation", "Hosts that are for some people alone, made in time.")
          .label<&HostReservation::name>("name", "Name", "Its name, which Slurm's reservation has, too.")
          .attribute<&HostReservation::hosts>("hosts", "Hosts", "How many hosts.")
          .attribute<&HostReservation::from>("from", "From", "Since when, as `2026-12-01T09:00:00Z`.")
          .required()
          .attribute<&HostReservation::until>("until", "Until", "Until when.")
          .required()
          .attribute<&HostReservation::accounts>("accounts", "Accounts", "Whose Slurm jobs may use them.")
          .attribute<&HostReservation::users>("users", "Users", "Likewise; where both are given a job must be of both.")
          .done();
  return s;
}

}  // namespace underway::model
