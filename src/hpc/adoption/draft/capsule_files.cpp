// Drafts of capsules as files.
#include "adoption/draft/capsule_draft.hpp"
#include "adoption/draft/hcl_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

std::string service_block(const DraftService& service) {
  std::string out;
  for (const auto& note : service.notes) out += comment("Look: " + note + ".", "        ");
  if (!service.state.empty()) out += comment("Its state: " + join(service.state, ", ") + ".", "        ");
  out += fmt::format("        service {} {{\n          command = {}\n", hcl_string(service.name),
                     hcl_list(service.command));
  if (!service.user.empty()) out += fmt::format("          user = {}\n", hcl_string(service.user));
  if (!service.depends_on.empty()) out += fmt::format("          depends_on = {}\n", hcl_list(service.depends_on));
  if (!service.ready.empty()) out += fmt::format("          ready = {}\n", hcl_list(service.ready));
  if (!service.stop_timeout.empty())
    out += fmt::format("          stop_timeout = {}\n", hcl_string(service.stop_timeout));
  return out + "        }\n";
}

std::string step_block(const DraftStep& step) {
  std::string out = comment(step.why, "        ");
  out += fmt::format("        step {} {{\n          command = {}\n", hcl_string(step.moment), hcl_list(step.command));
  if (!step.timeout.empty()) out += fmt::format("          timeout = {}\n", hcl_string(step.timeout));
  return out + "        }\n";
}

/// As long as all services may take one after the other: then everything is killed.
std::int64_t seconds_to_stop(const CapsuleDraft& draft) {
  constexpr std::int64_t kWithoutSaying = 20;  // docs/reference/drivers.md, stop_timeout
  std::int64_t sum = 0;
  for (const auto& service : draft.programs) {
    sum += leading_number_or(service.stop_timeout, kWithoutSaying);  // "60s"
  }
  return std::max(sum, kWithoutSaying);
}

std::string network_block(const DraftNetwork& network, const std::string& address) {
  std::string out = fmt::format("        network {} {{\n          bridge = {}\n          addresses = [{}]\n",
                                hcl_string(network.name), hcl_string(network.bridge), hcl_string(address));
  if (!network.gateway.empty()) out += fmt::format("          gateway = {}\n", hcl_string(network.gateway));
  return out + "        }\n";
}

std::string networks_of(const CapsuleDraft& draft, const DraftPlace& place) {
  std::string out;
  for (std::size_t i = 0; i < place.networks.size(); ++i) {
    const auto& network = place.networks[i];
    // A router is on all networks; the others are where the nodes are.
    if (i > 0 && !draft.routes) {
      out += comment(fmt::format("The server is on {} ({}) too. Add it, if this capsule needs the way out.",
                                 network.name, network.address),
                     "        ");
      continue;
    }
    const std::string& address = i < draft.addresses.size() ? draft.addresses[i] : network.address;
    if (network.address.starts_with("192.0.2."))
      out += comment("Fill in: the survey does not tell the server's address.", "        ");
    else if (address == network.address)
      out += comment("The address that nodes know: the server gives it up before this capsule starts.", "        ");
    else
      out += comment("A suggestion that nobody was seen with; the driver refuses it if somebody answers.", "        ");
    out += network_block(network, address);
  }
  return out;
}

/// "bookworm" of "Debian GNU/Linux 12 (bookworm)".
std::string debian_suite(const std::string& distribution) {
  const auto open = distribution.find('(');
  const auto close = distribution.find(')', open == std::string::npos ? 0 : open);
  if (!distribution.starts_with("Debian") || open == std::string::npos || close == std::string::npos) return {};
  return distribution.substr(open + 1, close - open - 1);
}

}  // namespace

std::string job_file(const CapsuleDraft& draft, const DraftPlace& place) {
  std::string out = comment("Drafted by `underway survey`. Time-critical, because:");
  for (const auto& reason : draft.reasons) out += comment("- " + reason);
  out += fmt::format(
      "\njob {0} {{\n  type      = \"service\"\n  node_pool = {1}\n  priority  = 90\n\n  group {0} {{\n    task {0} "
      "{{\n"
      "      driver       = \"capsule\"\n      kill_timeout = \"{5}s\"\n\n      config {{\n        image    = {2}\n    "
      "    hostname = {3}\n\n"
      "        overlay {{\n          kind = \"directory\"\n          size = \"{4}\"\n        }}\n\n",
      hcl_string(draft.name), hcl_string(place.node_pool), hcl_string(fmt::format("{}:{}", draft.name, draft.version)),
      hcl_string(place.hostname), draft.name == "slurm-services" ? "20G" : "4G", seconds_to_stop(draft));
  out += networks_of(draft, place) + "\n";
  if (std::any_of(draft.programs.begin(), draft.programs.end(),
                  [](const auto& program) { return program.name == "slurmctld"; }))
    out += comment("The controller finds its nodes by name: as its host does.", "        ") +
           "        dns {\n          host_file = true\n        }\n\n";
  for (const auto& service : draft.programs) out += service_block(service);
  for (const auto& step : draft.steps) out += step_block(step);
  if (draft.routes) out += "\n        sysctl = { \"net.ipv4.ip_forward\" = \"1\" }\n";
  out += "      }\n\n";
  if (draft.name == "slurm-services")
    out += comment("Look: as much as the controller and the database have on the server (`ps -o rss,comm`), and more.",
                   "      ");
  out += "      resources {\n        cpu    = 500\n        memory = 1024\n      }\n    }\n  }\n}\n";
  return out;
}

std::map<std::string, std::string> skeleton(const Drafts& drafts, const DraftPlace& place) {
  std::map<std::string, std::string> out;
  for (const auto& capsule : drafts.capsules) {
    out[capsule.name + ".hcl"] = job_file(capsule, place);
    out["images/" + capsule.name + ".hcl"] = image_file(capsule, place);
    for (const auto& file : capsule.files) out[fmt::format("images/files/{}/{}", capsule.name, file.name)] = file.text;
  }
  return out;
}

std::string image_file(const CapsuleDraft& draft, const DraftPlace& place) {
  std::vector<std::string> packages, state;
  const auto add = [](std::vector<std::string>& list, const std::vector<std::string>& words) {
    for (const auto& word : words)
      if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
  };
  for (const auto& service : draft.programs) {
    add(packages, service.packages);
    add(state, service.state);
  }
  std::string out =
      comment(fmt::format("The image of {0}: `underway capsule build images/{0}.hcl`. Take the repositories that "
                          "the nodes' image is made from, so that Slurm and munge are the nodes' own.",
                          draft.name));
  out += fmt::format("image {} {{\n  version = {}\n", hcl_string(draft.name), hcl_string(draft.version));
  const std::string suite = debian_suite(place.distribution);
  if (suite.empty()) {
    out += comment(fmt::format("The server runs {}, and the packages below have Debian's names: write those of its own "
                               "distribution, with `from rpm`.",
                               place.distribution.empty() ? "an unknown distribution" : place.distribution),
                   "  ");
  }
  out += fmt::format("  from debian {} {{\n    mirrors = [\"http://deb.debian.org/debian\"]\n  }}\n",
                     hcl_string(suite.empty() ? "bookworm" : suite));
  out += fmt::format("  packages = {}\n", hcl_list(packages));
  for (const auto& file : draft.files) {
    out += fmt::format("  file {} {{\n    source = {}\n    mode   = \"0755\"\n  }}\n",
                       hcl_string("/usr/lib/capsule/" + file.name),
                       hcl_string(fmt::format("files/{}/{}", draft.name, file.name)));
  }
  if (!state.empty()) {
    std::vector<std::string> empty;
    for (const auto& directory : state)
      if (directory != "/var/log") empty.push_back(directory + "/*");
    out += comment("What packages make there when they are installed would show through what is copied.", "  ");
    out += fmt::format("  remove = {}\n  writable = {}\n", hcl_list(empty), hcl_list(state));
  }
  return out + "}\n";
}

}  // namespace underway::adoption
