#include "adoption/plan/carry_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "adoption/plan/plan_text.hpp"

namespace underway::adoption {
namespace {

/// Packages put files below /etc that concern others: the machine's boot, its network, its logs.
bool is_read_by_a_daemon(const std::string& file) {
  static constexpr std::string_view kOthers[] = {"apparmor.d", "cron",      "default", "dhcp", "init",   "logcheck",
                                                 "logrotate",  "network/",  "pam.d",   "ppp/", "rc",     "systemd/",
                                                 "tmpfiles.d", "sysctl.d/", "ufw/",    "X11/", "polkit-"};
  constexpr std::string_view kEtc = "/etc/";
  if (!file.starts_with(kEtc)) return false;
  const auto rest = std::string_view(file).substr(kEtc.size());
  return std::none_of(std::begin(kOthers), std::end(kOthers), [&](auto other) { return rest.starts_with(other); });
}

/// What Slurm and munge read comes as synchronised files, for the nodes have it too, and some of it is secret.
bool is_synchronised(const DraftService& service) {
  return service.name.starts_with("slurm") || service.name == "munge";
}

std::string upper_of(const CapsuleDraft& capsule) {
  return fmt::format("/var/lib/underway/capsules/default/{}/overlay/upper", capsule.name);
}

std::vector<std::string> state_of(const CapsuleDraft& capsule) {
  std::vector<std::string> out;
  for (const auto& service : capsule.programs)
    for (const auto& directory : service.state)
      if (directory.starts_with('/') && directory != "/" && directory != "/var/log") out.push_back(directory);
  return out;
}

/// Without its state a controller must not start, and what an earlier attempt left would be mixed with it.
bool must_be_whole(const CapsuleDraft& capsule) { return capsule.name == "slurm-services"; }

}  // namespace

std::vector<std::string> carry_over(const CapsuleDraft& capsule, const std::string& server) {
  std::vector<std::string> out;
  const std::string upper = upper_of(capsule);
  std::string files;
  for (const auto& service : capsule.programs)
    for (const auto& file : service.configuration)
      if (!is_synchronised(service) && is_read_by_a_daemon(file))
        files += fmt::format(" {}:{}", server, shell_word(file));
  if (!files.empty()) {
    out.push_back("mkdir -p " + shell_word(upper));
    out.push_back(
        fmt::format("rsync -aHAX --numeric-ids --relative --ignore-missing-args{} {}", files, shell_word(upper + "/")));
  }
  for (const auto& directory : state_of(capsule)) {
    const std::string to = shell_word(upper + directory + "/");
    out.push_back("mkdir -p " + to);
    out.push_back(fmt::format("rsync -aHAX --numeric-ids {} {}:{} {}",
                              must_be_whole(capsule) ? "--delete" : "--ignore-missing-args", server,
                              shell_word(directory + "/"), to));
  }
  if (!out.empty()) out.insert(out.begin(), {fmt::format("# on {}, which shall run it", kFirstHost), "umask 022"});
  return out;
}

std::vector<std::string> carry_back(const CapsuleDraft& capsule, const std::string& server) {
  std::vector<std::string> out;
  for (const auto& directory : state_of(capsule)) {
    if (out.empty()) out.push_back(fmt::format("# on the host that ran it, {} as before", kFirstHost));
    // An overlay says with device nodes what was removed of the image (overlayfs.rst, whiteouts).
    out.push_back(fmt::format("rsync -aHAX --numeric-ids --delete --no-devices --no-specials {} {}:{}",
                              shell_word(upper_of(capsule) + directory + "/"), server, shell_word(directory + "/")));
  }
  return out;
}

std::vector<std::string> run_where_it_was_carried(const CapsuleDraft& capsule) {
  const std::string run = "underway job run " + shell_word(capsule.name + ".hcl");
  return {fmt::format("# on the management side; it starts on {}, where its state is", kFirstHost),
          fmt::format("underway node eligibility -disable {}", kSecondHost), run,
          fmt::format("underway node eligibility -enable {}", kSecondHost)};
}

}  // namespace underway::adoption
