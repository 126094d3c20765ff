#include "net/nftables.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/fd.hpp"
#include "os/process/process.hpp"

namespace underway::net {
namespace {

namespace json = boost::json;

/// All the rules of a machine with thousands of containers.
constexpr std::size_t kLongestAnswer = 64U << 20;
constexpr std::size_t kMostWords = 2000;

os::Output run(const Namespace& in, const std::string& document, const Nft& nft) {
  // A file and no pipe: what is no JSON nft reads once more, as its other language. Of a pipe nothing would be left,
  // and nothing is what it then does, without a complaint.
  const os::Fd input = os::sealed_memory("nftables", document);
  os::SpawnSpec spec{.argv = {"nft", "-j", "-f", "-"}};
  spec.env = {"PATH=" + nft.path, "LC_ALL=C"};
  spec.in = input.get();
  spec.setup.enter_namespaces(in.fd(), CLONE_NEWNET);
  // What Ctrl-C interrupts is the agent, which undoes things before it ends: with rules.
  spec.new_session = true;
  // An agent that is started again writes its rules anew: those of the one before must not come later.
  spec.parent_death_signal = SIGKILL;
  return os::run_program(std::move(spec), nft.within, kLongestAnswer);
}

/// nft's own words, on one line; behind its verdict comes a copy of what it read.
std::string complaint(const os::Output& output) {
  auto lines = split(output.err, '\n');
  std::erase_if(lines, [](const std::string& line) { return trim(line).empty(); });
  if (lines.empty()) return os::to_string(output.status);
  return join(lines, " ").substr(0, kMostWords);
}

json::object table_object(const std::string& table) { return {{"family", "ip"}, {"name", table}}; }

json::object in_prefix(const Cidr& cidr, bool inside, std::string_view field) {
  return {{"match",
           {{"op", inside ? "==" : "!="},
            {"left", {{"payload", {{"protocol", "ip"}, {"field", field}}}}},
            {"right", {{"prefix", {{"addr", to_string(cidr.network().ip)}, {"len", cidr.prefix}}}}}}}};
}

}  // namespace

bool is_installed(const Nft& nft) {
  return std::ranges::any_of(os::command_candidates("nft", nft.path),
                             [](const std::string& program) { return ::access(program.c_str(), X_OK) == 0; });
}

std::string run_nftables(const Namespace& in, const std::string& json, const Nft& nft) {
  os::Output output;
  try {
    output = run(in, json, nft);
  } catch (Error& failed) {
    // Not not_found: to those who undo things that means that nothing is left to be undone.
    if (failed.code() == Code::not_found) {
      throw Error(Code::unsupported, fmt::format("cannot change nftables in network namespace '{}'", in.label()))
          .because(failed.one_line())
          .advise("install the package nftables");
    }
    failed.while_doing(fmt::format("changing nftables in network namespace '{}'", in.label()));
    throw;
  }
  if (!output.status.success()) {
    throw Error(Code::invalid, fmt::format("nftables refused a change in network namespace '{}'", in.label()))
        .because(complaint(output));
  }
  return std::move(output.out);
}

void set_masquerade(const Namespace& in, const std::string& table, const std::vector<Cidr>& sources) {
  // One transaction: "add" makes the delete safe when there is none, so that a repeat replaces and never doubles.
  json::array steps = {{{"add", {{"table", table_object(table)}}}},
                       {{"delete", {{"table", table_object(table)}}}},
                       {{"add", {{"table", table_object(table)}}}}};
  const json::object chain = {{"family", "ip"},        {"table", table}, {"name", "postrouting"}, {"type", "nat"},
                              {"hook", "postrouting"}, {"prio", 100},    {"policy", "accept"}};
  steps.push_back({{"add", {{"chain", chain}}}});
  for (const auto& source : sources) {
    const json::array expression = {in_prefix(source, true, "saddr"), in_prefix(source, false, "daddr"),
                                    json::object{{"masquerade", nullptr}}};
    steps.push_back(
        {{"add", {{"rule", {{"family", "ip"}, {"table", table}, {"chain", "postrouting"}, {"expr", expression}}}}}});
  }
  run_nftables(in, json::serialize(json::object{{"nftables", steps}}));
}

bool remove_table(const Namespace& in, const std::string& table) {
  const auto tables = list_tables(in);
  if (std::find(tables.begin(), tables.end(), table) == tables.end()) return false;
  const json::array steps = {{{"add", {{"table", table_object(table)}}}},
                             {{"delete", {{"table", table_object(table)}}}}};
  run_nftables(in, json::serialize(json::object{{"nftables", steps}}));
  return true;
}

std::vector<std::string> list_tables(const Namespace& in) {
  const auto text = run_nftables(in, R"({"nftables":[{"list":{"tables":{"family":"ip"}}}]})");
  std::vector<std::string> names;
  boost::system::error_code problem;
  const auto answer = json::parse(text, problem);
  if (problem) throw Error(Code::internal, "nftables answered with invalid JSON").because(problem.message());
  for (const auto& item : answer.at("nftables").as_array()) {
    if (const auto* table = item.as_object().if_contains("table")) {
      names.emplace_back(table->at("name").as_string());
    }
  }
  return names;
}

}  // namespace underway::net
