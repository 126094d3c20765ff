#include "harness/slurm/old_site.hpp"
#include "harness/places.hpp"

#include <filesystem>
#include <regex>
#include <stdexcept>

namespace underway::harness {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

void require(const Finished& done, const std::string& what) {
  if (done.exit_code != 0) throw std::runtime_error(what + ": " + done.out + done.err);
}

}  // namespace

OldSite::OldSite(const std::string& declared, const std::vector<std::string>& hosts) {
  const std::string directory = cluster_.directory();
  for (const auto& entry : fs::directory_iterator(directory)) fs::remove_all(entry);
  write_text(directory + "/cluster.hcl", std::regex_replace(declared, std::regex("CLUSTER"), cluster_.name()));
  cluster_.up();
  for (const auto& host : hosts) {
    std::string found = enter(host, "getent hosts " + host).out;
    addresses_[host] = found.substr(0, found.find(' '));
  }
}

std::string OldSite::root_of(const std::string& host) const {
  return "/proc/" + std::to_string(cluster_.agent_of(host)) + "/root";
}

void OldSite::put(const std::string& host, const std::string& path, const std::string& text, const std::string& owner,
                  const std::string& mode) const {
  const std::string file = root_of(host) + path;
  fs::create_directories(fs::path(file).parent_path());
  write_text(file, text);
  require(enter(host, "chown " + owner + ":" + owner + " " + path + " && chmod " + mode + " " + path), path);
}

void OldSite::daemon(const std::string& host, const std::string& line) {
  daemons_.emplace_back(Command{
      .argv = {"nsenter", "--all", "--target", std::to_string(cluster_.agent_of(host)), "sh", "-c", "exec " + line}});
}

void OldSite::take_installed_packages(const std::string& image) const {
  const std::string file = plan() + "/images/" + image + ".hcl", root = image + "-root";
  std::string text = read_text(file);
  std::smatch packages;
  if (!std::regex_search(text, packages, std::regex("packages = \\[(.*)\\]")))
    throw std::runtime_error("no packages: " + text);
  const std::string list = std::regex_replace(packages[1].str(), std::regex("[\",]"), " ");
  text = std::regex_replace(text, std::regex("  from debian[^}]*\\}\n"), "  from directory \"" + root + "\" {}\n");
  text = std::regex_replace(text, std::regex("  packages = .*\n"), "");
  write_text(file, text);
  require(shell(source_dir() + "/examples/decoupled/images/installed-root " + plan() + "/images/" + root + " " + list +
                    " iproute2 procps util-linux",
                seconds(120)),
          "no root directory");
}

}  // namespace underway::harness
