// What is checked without a server: the agent's configuration, and certificates in files.
#include "agent/config/config.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "crypto/authority.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

int validate_configuration(const Arguments& arguments) {
  std::vector<std::string> warnings;
  const auto config = agent::load(arguments.positional(), {}, &warnings);
  for (const auto& warning : warnings) say("warning: " + warning);
  if (const auto wrong = agent::problems(config); !wrong.empty())
    throw Error(Code::invalid, "the agent's configuration is not valid").because(wrong);
  print("Configuration is valid!\n");
  return kDone;
}

int show_certificate(const Arguments& arguments) {
  const std::string pem = os::read_file(arguments.positional().front(), 1u << 20);
  std::string between;
  for (const auto& info : crypto::describe_certificates(pem)) {
    print(between + key_values({{"Serial Number", info.serial},
                                {"Issuer CN", info.issuer},
                                {"Common Name", info.common_name},
                                {"Expiry Date", format_time(info.not_after)},
                                {"DNS Names and Addresses", join(info.names, ", ")}}));
    between = "\n";
  }
  return kDone;
}

}  // namespace

const Command& config_validate_command() {
  static const Command command{.name = "config validate",
                               .arguments = "PATH…",
                               .summary = "Checks files or directories of an agent's configuration.",
                               .examples = {"underway config validate /etc/underway"},
                               .least = 1,
                               .most = 100,
                               .talks_to_server = false,
                               .run = validate_configuration};
  return command;
}

const Command& tls_cert_info_command() {
  static const Command command{.name = "tls cert info",
                               .arguments = "FILE",
                               .summary = "Shows the certificates in a file.",
                               .least = 1,
                               .most = 1,
                               .talks_to_server = false,
                               .run = show_certificate};
  return command;
}

}  // namespace underway::cli
