#include "harness/capsule/capsule.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;
namespace json = boost::json;

const json::value* find(const json::value& object, const char* key) {
  return object.is_object() ? object.get_object().if_contains(key) : nullptr;
}

std::string text_of(const json::value& object, const char* key) {
  const auto* found = find(object, key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

long long number_of(const json::value& object, const char* key) {
  const auto* found = find(object, key);
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

std::vector<int> processes(const std::function<bool(int pid)>& ours) {
  std::vector<int> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos && ours(std::stoi(name)))
      out.push_back(std::stoi(name));
  }
  return out;
}

}  // namespace

void Capsule::find_shared(const std::string& host, const std::string& path) {
  shared_ = "/proc/" + std::to_string(cluster_.agent_of(host)) + "/root" + path;
}

Finished Capsule::ok(std::vector<std::string> arguments) const {
  const std::string line = arguments[0] + " " + arguments[1];
  auto finished = cluster_.underway(std::move(arguments), seconds(60));
  if (finished.exit_code == 0) return finished;
  throw std::runtime_error(line + ": exit code " + std::to_string(finished.exit_code) + "\n" + finished.out +
                           finished.err + read_text(cluster_.state() + "/agent.log"));
}

void Capsule::up() const {
  const auto finished = cluster_.underway({"up", "-yes", cluster_.directory()}, seconds(60));
  if (finished.exit_code != 0)
    throw std::runtime_error("up: " + std::to_string(finished.exit_code) + "\n" + finished.out + finished.err +
                             status());
}

CapsuleRecord Capsule::record() const {
  CapsuleRecord out;
  boost::system::error_code failure;
  const auto said = cluster_.underway({"capsule", "status", "-json", name_}, seconds(10));
  const auto all = json::parse(said.out, failure);
  if (said.exit_code != 0 || failure || !all.is_object()) return out;
  out.state = text_of(all, "State");
  out.owner = text_of(all, "OwnerName");
  out.description = text_of(all, "Description");
  out.epoch = number_of(all, "Epoch");
  if (const auto* move = find(all, "Move")) out.phase = text_of(*move, "Phase");
  if (const auto* upgrade = find(all, "Upgrade"); upgrade != nullptr && upgrade->is_object())
    out.phase = text_of(*upgrade, "Phase");
  if (const auto* copies = find(all, "Replicas"); copies != nullptr && copies->is_array()) {
    for (const auto& copy : copies->get_array()) out.copied_at = std::max(out.copied_at, number_of(copy, "At"));
  }
  if (const auto* last = find(all, "LastMove"); last != nullptr && last->is_object()) {
    out.last_error = text_of(*last, "Error");
    out.moves_ended_at = number_of(*last, "EndedAt");
    out.gap_ms = number_of(*last, "Gap") / 1'000'000;
    const auto* back = find(*last, "RolledBack");
    out.rolled_back = back != nullptr && back->is_bool() && back->get_bool();
  }
  if (const auto* last = find(all, "LastUpgrade"); last != nullptr) out.upgrade_error = text_of(*last, "Error");
  return out;
}

std::string Capsule::status() const {
  return cluster_.underway({"capsule", "status", name_}).out + cluster_.underway({"node", "status"}).out +
         cluster_.underway({"job", "status", name_}).out + read_text(cluster_.state() + "/agent.log");
}

bool Capsule::at_rest() const {
  const auto now = record();
  return now.state == "held" && now.phase.empty() && now.description.empty();
}

void Capsule::keep_copies(const std::string& node, int every) const {
  const auto said = cluster_.underway(
      {"capsule", "standby", name_, "-node", node, "-every", std::to_string(every) + "s"}, seconds(20));
  ASSERT_EQ(said.exit_code, 0) << said.err;
  ASSERT_TRUE(eventually(seconds(30), [&] { return status().find("standby") != std::string::npos && at_rest(); }))
      << status();
}

void Capsule::hold(const std::string& what) const { write_text(shared_ + "/hold." + what, ""); }

void Capsule::let_go(const std::string& what) const { fs::remove(shared_ + "/hold." + what); }

void Capsule::write_much() const {
  const auto written = inside("dd if=/dev/urandom of=" + directory_ + "/much bs=1M count=128 2>&1");
  EXPECT_EQ(written.exit_code, 0) << written.out << written.err;
}

/// A host's processes are in groups below its own.
std::vector<int> Capsule::on_host(const std::string& host, const std::string& program) const {
  const std::string group = "/underway/" + cluster_.name() + "/" + host;
  return processes([&](int pid) {
    const std::string proc = "/proc/" + std::to_string(pid);
    if (!read_text(proc + "/comm").starts_with(program.substr(0, 15))) return false;
    const std::string groups = read_text(proc + "/cgroup");
    return groups.find(group + "/") != std::string::npos || groups.find(group + "\n") != std::string::npos;
  });
}

void Capsule::pull_the_plug(const std::string& host) const { cluster_.pull_the_plug(host); }

std::string Capsule::row_of(const std::string& host) const {
  std::istringstream rows(cluster_.underway({"node", "status"}, seconds(10)).out);
  for (std::string row; std::getline(rows, row);) {
    if (row.find("  " + host + "  ") != std::string::npos) return row;
  }
  return "";
}

bool Capsule::made_anew(const std::string& host, const std::string& before) const {
  const std::string row = row_of(host);
  return row.ends_with(" ready") && row != before;
}

Finished Capsule::inside(const std::string& line) const {
  return cluster_.underway({"alloc", "exec", "-job", name_, "sh", "-c", line});
}

}  // namespace underway::harness
