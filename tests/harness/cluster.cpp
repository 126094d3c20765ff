#include "harness/cluster.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <sstream>

#include <filesystem>
#include <set>
#include <stdexcept>

#include "harness/examples.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

std::string cmdline_of(const std::string& pid) {
  std::string line = read_text("/proc/" + pid + "/cmdline");
  for (char& c : line) {
    if (c == '\0') c = ' ';
  }
  return line;
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

/// Processes whose program is `name` and whose command line or cgroup belongs to the cluster with this state directory.
std::vector<int> processes(const std::string& name,
                           const std::function<bool(const std::string& pid, const std::string& line)>& ours) {
  std::vector<int> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code gone;
    const auto program = std::filesystem::read_symlink(entry.path() / "exe", gone);
    if (gone || program.filename() != name) continue;
    if (ours(pid, cmdline_of(pid))) out.push_back(std::stoi(pid));
  }
  return out;
}

}  // namespace

Cluster::Cluster(const std::string& example)
    : example_(example),
      state_(directory_.path() + "/state"),
      examples_(directory_.path() + "/examples"),
      program_(binary_dir() + "/bin/underway"),
      name_("test-" + std::to_string(::getpid())) {
  copy_examples(examples_);
  // A name of its own: another cluster may be up on this machine.
  std::string text = read_text(Cluster::directory() + "/cluster.hcl");
  const std::size_t name = text.find("\ncluster \"") + std::string("\ncluster \"").size();
  write_text(Cluster::directory() + "/cluster.hcl", text.replace(name, text.find('"', name) - name, name_));
  build_images();
}

Cluster::~Cluster() {
  const auto left = down();
  EXPECT_TRUE(left.empty()) << "left behind:\n" << join_lines(left);
}

void Cluster::build_images() const {
  const std::string source = source_dir() + "/examples/" + example_ + "/images";
  const std::string built = binary_dir() + "/examples/" + example_ + "/images";
  if (!std::filesystem::exists(source + "/build")) return;
  std::filesystem::create_directories(built);
  // Of several tests that need them one builds them, and the others wait for it.
  const auto finished = run({.argv = {"flock", built + ".lock", source + "/build", "-installed", "-o", built},
                             .env = {{"UNDERWAY", program_}},
                             .limit = std::chrono::seconds(300)});
  if (finished.exit_code != 0) throw std::runtime_error("cannot build the images: " + finished.out + finished.err);
  for (const auto& entry : std::filesystem::directory_iterator(built)) {
    const std::string here = directory() + "/images/" + entry.path().filename().string();
    std::error_code on_another_disk;
    std::filesystem::create_hard_link(entry.path(), here, on_another_disk);
    if (on_another_disk) std::filesystem::copy_file(entry.path(), here);
  }
}

Command Cluster::command(std::vector<std::string> arguments, std::chrono::seconds limit) const {
  arguments.insert(arguments.begin(), program_);
  return {.argv = std::move(arguments),
          .env = {{"UNDERWAY_STATE", state_}, {"NO_COLOR", "1"}},
          .directory = directory_.path(),
          .limit = limit};
}

Finished Cluster::underway(std::vector<std::string> arguments, std::chrono::seconds limit) const {
  return run(command(std::move(arguments), limit));
}

std::set<std::string> Cluster::nodes_of(const std::string& job, const std::string& version) const {
  std::set<std::string> nodes;
  std::istringstream table(underway({"job", "allocs", job}).out);
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string id, node, group, of;
    if (words >> id >> node >> group >> of && of == version) nodes.insert(node);
  }
  return nodes;
}

Finished Cluster::on(const std::string& host, const std::string& line, std::chrono::seconds limit) const {
  return underway({"host", "exec", host, "--", "sh", "-c", line}, limit);
}

void Cluster::lose_patience() const {
  std::filesystem::create_directories(state_);
  write_text(state_ + "/agent.hcl", R"(server {
  min_heartbeat_ttl      = "3s"
  heartbeat_grace        = "2s"
  failover_heartbeat_ttl = "10s"
  capsule_lease          = "4s"
}
)");
}

void Cluster::declare_processors(int count) const {
  const std::string file = directory() + "/cluster.hcl";
  std::string text = read_text(file);
  const std::string line = "  default     = 0\n";
  const auto at = text.find(line, text.find("variable \"compute_cpus\""));
  if (at == std::string::npos) throw std::runtime_error(file + " does not have the variable compute_cpus");
  write_text(file, text.replace(at, line.size(), "  default     = " + std::to_string(count) + "\n"));
}

void Cluster::up(std::vector<std::string> more) const {
  std::vector<std::string> arguments{"up", "-yes"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.push_back(directory());
  const auto finished = underway(std::move(arguments), std::chrono::seconds(300));
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err << read_text(state_ + "/agent.log");
}

std::vector<std::string> Cluster::down() const {
  const auto finished = underway({"down", "-all", "-purge", "-no-trash", "-yes"}, std::chrono::seconds(150));
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  // The kernel takes network namespaces and cgroups apart a little after their last process.
  std::vector<std::string> left;
  eventually(std::chrono::seconds(10), [&] {
    left = leftovers(state_, name_);
    return left.empty();
  });
  return left;
}

std::vector<int> Cluster::server_agents() const {
  return processes("underway", [&](const std::string&, const std::string& line) {
    return line.find(" agent -server") != std::string::npos &&
           line.find("-data-dir=" + state_ + " ") != std::string::npos;
  });
}

std::vector<int> Cluster::agents() const {
  auto out = server_agents();
  const auto nodes = processes("underway", [&](const std::string&, const std::string& line) {
    return line.find(" agent -client") != std::string::npos && line.find(state_) != std::string::npos;
  });
  out.insert(out.end(), nodes.begin(), nodes.end());
  return out;
}

int Cluster::agent_of(const std::string& host) const {
  for (const int pid : agents()) {
    const auto told = shell("nsenter --uts --target " + std::to_string(pid) + " hostname");
    if (told.out == host + "\n") return pid;
  }
  throw std::runtime_error("no agent runs on host " + host);
}

void Cluster::pull_the_plug(const std::string& host) const {
  const auto agent = std::to_string(agent_of(host));
  const auto ended = shell("own=$(readlink /proc/" + agent + R"sh(/ns/pid)
for one in /proc/[0-9]*; do
  [ "$(readlink $one/ns/pid)" = "$own" ] && grep -q '^NSpid:.*[[:space:]]1$' $one/status || continue
  exec kill -9 ${one#/proc/}
done
exit 1)sh");
  if (ended.exit_code != 0) throw std::runtime_error("host " + host + " has no first process");
}

Finished Cluster::enter(const std::string& host, const std::string& line, std::chrono::seconds limit) const {
  return run(
      {.argv = {"nsenter", "--all", "--target", std::to_string(agent_of(host)), "sh", "-c", line}, .limit = limit});
}

std::vector<int> Cluster::keepers() const {
  // A keeper runs in a host's mount namespace: its root is one of ours.
  std::set<std::string> roots;
  for (const int pid : agents()) {
    std::error_code gone;
    roots.insert(std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/mnt", gone).string());
  }
  return processes("underway-keeper", [&](const std::string& pid, const std::string&) {
    std::error_code gone;
    return roots.contains(std::filesystem::read_symlink("/proc/" + pid + "/ns/mnt", gone).string());
  });
}

}  // namespace underway::harness
