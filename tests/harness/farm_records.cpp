#include "harness/farm_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace underway::harness {
namespace {

/// The sum after tick `number` of job `id`: a job that lost its memory cannot go on with it.
long long next_sum(long long sum, long long number, long long id) { return (sum * 1000003 + number + id) % 4294967291; }

class Reader {
 public:
  explicit Reader(JobRecord& record) : record_(record) {}

  void take(const std::string& line) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "start") {
      take_start(in);
    } else if (word == "end") {
      take_end(in);
    } else if (word == "signal" || !take_tick(word, in)) {
      record_.broken.push_back(line);
    }
  }

 private:
  void take_start(std::istringstream& in) {
    std::string restarts;
    long long at = 0;
    in >> restarts >> at >> last_;
    record_.started.push_back(at);
    record_.restarts.push_back(restarts);
    number_ = sum_ = 0;
  }
  void take_end(std::istringstream& in) {
    int code = 0;
    long long at = 0;
    in >> code >> at;
    record_.exit_code = code;
    record_.ended = at;
  }
  bool take_tick(const std::string& word, std::istringstream& in) {
    long long sum = -1;
    double at = 0;
    in >> sum >> at;
    ++number_;
    sum_ = next_sum(sum_, number_, std::atoll(record_.id.c_str()));
    ++record_.ticks;
    if (!in || word != std::to_string(number_) || sum != sum_) return false;
    record_.longest_gap = std::max(record_.longest_gap, at - last_);
    last_ = at;
    return true;
  }

  JobRecord& record_;
  long long number_ = 0, sum_ = 0;
  double last_ = 0;
};

void compare_with_truth(const PlantedJob& job, const JobRecord& record, double gap, std::vector<std::string>& out) {
  const std::string who = fmt::format("job {} on {}", job.id, record.host);
  if (record.started.size() != 1) out.push_back(fmt::format("{} started {} times", who, record.started.size()));
  for (const auto& restarts : record.restarts) {
    if (restarts != "0") out.push_back(fmt::format("{} was started again by Slurm (restart {})", who, restarts));
  }
  for (const auto& line : record.broken) out.push_back(fmt::format("{} wrote '{}'", who, line));
  if (record.longest_gap > gap) {
    out.push_back(fmt::format("{} stood still for {:.1f} s, more than {:.1f} s", who, record.longest_gap, gap));
  }
  if (record.exit_code != job.exit_code) {
    out.push_back(fmt::format("{} ended {}, not with {}", who,
                              record.exit_code ? fmt::format("with {}", *record.exit_code) : "without saying so",
                              job.exit_code));
  }
}

void compare_with_accounting(const PlantedJob& job, const JobRecord& record, const AccountingRow& row,
                             std::vector<std::string>& out) {
  const auto expect = [&](const char* what, const std::string& told, const std::string& truth) {
    if (told != truth)
      out.push_back(fmt::format("job {}: sacct has {} {}, the truth is {}", job.id, what, told, truth));
  };
  expect("state", row.state, job.exit_code == 0 ? "COMPLETED" : "FAILED");
  expect("exit code", row.exit_code, fmt::format("{}:0", job.exit_code));
  expect("node", row.nodes, record.host);
  // The controller starts a job before its first line, and hears of its end after its last one.
  if (!record.started.empty() && (!row.start || *row.start > record.started.front())) {
    out.push_back(fmt::format("job {}: sacct has a start {} s after the truth", job.id,
                              row.start.value_or(0) - record.started.front()));
  }
  if (record.ended && (!row.end || *row.end < *record.ended)) {
    out.push_back(
        fmt::format("job {}: sacct has an end {} s before the truth", job.id, *record.ended - row.end.value_or(0)));
  }
}

std::string hosts_of(const std::vector<const JobRecord*>& records) {
  std::string out;
  for (const auto* record : records) out += (out.empty() ? "" : ", ") + record->host;
  return out;
}

}  // namespace

std::vector<JobRecord> parse_records(const std::string& text) {
  std::vector<JobRecord> records;
  std::istringstream in(text);
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> lines;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string host, id, rest;
    words >> host >> id >> std::ws;
    std::getline(words, rest);
    lines[{host, id}].push_back(rest);
  }
  for (const auto& [whose, written] : lines) {
    JobRecord& record = records.emplace_back();
    record.host = whose.first;
    record.id = whose.second;
    Reader reader(record);
    for (const auto& line : written) reader.take(line);
  }
  return records;
}

std::vector<AccountingRow> parse_accounting(const std::string& text) {
  const auto time_of = [](const std::string& word) -> std::optional<long long> {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stoll(word);
  };
  std::vector<AccountingRow> rows;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> words;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '|');) words.push_back(cell);
    words.resize(6);
    // "CANCELLED by 0" has its reason behind it.
    rows.push_back(
        {words[0], words[1].substr(0, words[1].find(' ')), words[2], words[3], time_of(words[4]), time_of(words[5])});
  }
  return rows;
}

bool is_over(const AccountingRow& row) {
  static const std::set<std::string> going_on = {"PENDING",     "RUNNING",  "SUSPENDED", "COMPLETING",
                                                 "CONFIGURING", "REQUEUED", "RESIZING"};
  // A controller that tells the accounting late begins with the job's start, and the state that it has by then.
  return row.end && !going_on.contains(row.state);
}

std::vector<std::string> differences(const std::vector<PlantedJob>& planted, const std::vector<JobRecord>& records,
                                     const std::vector<AccountingRow>& rows, double gap, int unanswered) {
  std::vector<std::string> out;
  std::map<std::string, std::vector<const JobRecord*>> truth;
  for (const auto& record : records) truth[record.id].push_back(&record);
  std::map<std::string, std::vector<const AccountingRow*>> told;
  for (const auto& row : rows) told[row.id].push_back(&row);
  for (const auto& job : planted) {
    const auto& ran = truth[job.id];
    const auto& said = told[job.id];
    if (ran.empty()) out.push_back(fmt::format("job {} was acknowledged and never ran", job.id));
    if (ran.size() > 1) out.push_back(fmt::format("job {} ran on {}", job.id, hosts_of(ran)));
    for (const auto* record : ran) compare_with_truth(job, *record, gap, out);
    if (said.size() != 1) out.push_back(fmt::format("job {} is {} times in the accounting", job.id, said.size()));
    if (!ran.empty() && !said.empty()) compare_with_accounting(job, *ran.front(), *said.back(), out);
    truth.erase(job.id);
    told.erase(job.id);
  }
  std::set<std::string> strangers;
  for (const auto& [id, _] : truth) strangers.insert(id);
  for (const auto& [id, _] : told) strangers.insert(id);
  if (std::cmp_greater(strangers.size(), unanswered)) {
    for (const auto& id : strangers) out.push_back(fmt::format("job {} exists, and nobody was told of it", id));
  }
  return out;
}

}  // namespace underway::harness
