#include "agent/config/nomad_compat.hpp"

#include "base/text.hpp"

namespace underway::agent {

bool Config::is_alone() const {
  const auto listener = http_endpoint();
  return !listener || listener->host.starts_with("127.") || listener->host == "::1" || listener->host == "localhost";
}

bool Config::nomad_compat_on() const { return nomad_compat.value_or(compat_by != CompatBy::nothing && is_alone()); }

bool Config::plain_http() const {
  if (tls.http) return !*tls.http;
  // Who names a certificate wants it shown, whatever else is as in Nomad.
  const bool is_said = !tls.cert_file.empty() || tls.verify_https_client;
  return (dev && is_alone()) || (nomad_compat_on() && !is_said);
}

bool Config::acl_enabled() const { return acl.enabled.value_or(!((dev || nomad_compat_on()) && is_alone())); }

bool Config::network_bootstrap() const {
  return acl.network_bootstrap.value_or(!acl.trust_root_socket || (nomad_compat_on() && is_alone()));
}

bool Config::readable_token_secrets() const { return acl.readable_token_secrets.value_or(nomad_compat_on()); }
bool Config::raw_exec_as_root() const { return server.raw_exec_as_root.value_or(dev || nomad_compat_on()); }

std::string Config::service_provider() const {
  return server.service_provider.value_or(nomad_compat_on() ? "consul" : "nomad");
}

namespace {

std::string words(CompatBy by) {
  return by == CompatBy::environment ? "UNDERWAY_NOMAD_COMPAT in the environment" : "-dev, called as `nomad`";
}

/// "0.0.0.0, beyond this machine"
std::string where(const Config& config) { return config.http_endpoint().value().host + ", beyond this machine"; }

class Report {
 public:
  explicit Report(const Config& config) : config_(config), has_tcp_(config.http_endpoint().has_value()) {}

  std::vector<CompatLine> run() {
    quiet(fmt::format("on, by {}: what is not set is as in Nomad; `nomad_compat = false` has all of it back",
                      config_.nomad_compat ? "its configuration" : words(config_.compat_by)));
    about_the_wire();
    about_callers();
    about_jobs();
    return std::move(lines_);
  }

 private:
  void quiet(std::string text) { lines_.push_back({false, std::move(text)}); }
  void loud(std::string text) { lines_.push_back({true, std::move(text)}); }

  void about_the_wire() {
    if (!has_tcp_ || config_.tls.http || !config_.plain_http()) return;
    const std::string back = "`tls { http = true }` makes it TLS";
    if (config_.is_alone())
      quiet("the HTTP API on TCP is plain; " + back);
    else
      loud(
          fmt::format("the HTTP API is PLAIN and listens at {}: who is on the way reads and takes tokens, variables "
                      "and sessions; {}",
                      where(config_), back));
  }

  void about_callers() {
    const auto& acl = config_.acl;
    const bool alone = config_.is_alone();
    if (!acl.enabled && alone) quiet("requests need no token; `acl { enabled = true }` asks for one");
    if (!acl.enabled && !alone)
      quiet(
          fmt::format("requests still need a token, as the API listens at {}; `acl {{ enabled = false }}` asks for "
                      "none, as Nomad does",
                      where(config_)));
    if (acl.enabled == false && !alone)
      loud(
          fmt::format("requests need NO TOKEN and the API listens at {}: whoever reaches it runs commands on every "
                      "node{}; `acl {{ enabled = true }}` asks for one",
                      where(config_), config_.raw_exec_as_root() ? ", as root where raw_exec is enabled" : ""));
    if (config_.acl_enabled()) about_the_first_token();
    if (!acl.readable_token_secrets)
      quiet(
          "management tokens read the secrets of tokens again; `acl { readable_token_secrets = false }` tells each "
          "once");
  }

  void about_the_first_token() {
    const auto& acl = config_.acl;
    if (acl.network_bootstrap == true && !config_.is_alone())
      loud(
          fmt::format("whoever ASKS FIRST makes the first ACL token, and the API listens at {}: bootstrap it now; "
                      "`acl {{ network_bootstrap = false }}` leaves it to root at the socket",
                      where(config_)));
    if (acl.network_bootstrap || !acl.trust_root_socket) return;
    if (config_.is_alone())
      quiet(
          "whoever asks first on this machine makes the first ACL token; `acl { network_bootstrap = false }` leaves "
          "it to root at the socket");
    else
      quiet(
          fmt::format("the first ACL token is still made by root at the socket alone, as the API listens at {}; "
                      "`acl {{ network_bootstrap = true }}` leaves it to whoever asks first, as Nomad does",
                      where(config_)));
  }

  void about_jobs() {
    if (!config_.server.raw_exec_as_root)
      quiet(
          "every namespace gives its jobs every right over their hosts, root by raw_exec where that is enabled; "
          "`server { raw_exec_as_root = false }` leaves it to each namespace");
    if (!config_.server.service_provider)
      quiet(
          "a service that is registered without a provider is shown with `consul`, and is in the built-in catalogue; "
          "`server { service_provider = \"nomad\" }` names that");
  }

  const Config& config_;
  bool has_tcp_;
  std::vector<CompatLine> lines_;
};

}  // namespace

std::vector<CompatLine> compat_report(const Config& config) {
  const bool asked = config.nomad_compat.value_or(config.compat_by != CompatBy::nothing);
  if (!asked) return {};
  if (!config.server.enabled) {
    if (!config.nomad_compat) return {};
    return {{false, "without effect: this agent is no server, and it is the server that asks for TLS and tokens"}};
  }
  if (!config.nomad_compat_on()) {
    return {{true, fmt::format("off, although {} asks for it: the API listens at {}; say it in the configuration, "
                               "`nomad_compat = true`, if others may read what goes over the wire",
                               words(config.compat_by), where(config))}};
  }
  return Report(config).run();
}

CompatBy compat_by_call(bool as_nomad, bool dev, const char* environment) {
  if (!as_nomad) return CompatBy::nothing;
  const std::string said = environment == nullptr ? "" : lower(environment);
  if (said == "true" || said == "1") return CompatBy::environment;
  if (said == "false" || said == "0") return CompatBy::nothing;
  return dev ? CompatBy::dev_as_nomad : CompatBy::nothing;
}

}  // namespace underway::agent
