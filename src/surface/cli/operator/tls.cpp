// Certificates: authorities and certificates as files, and those of the running server.
#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "crypto/authority.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

/// The names that Nomad's own `tls` commands give their files.
struct AuthorityFiles {
  std::string certificate, key;
};
std::string domain_of(const Arguments& arguments) { return arguments.get("domain", "nomad"); }
AuthorityFiles authority_files(const Arguments& arguments) {
  // It becomes a file's name.
  const std::string domain = domain_of(arguments);
  if (domain.empty() || domain.find('/') != std::string::npos)
    throw Error(Code::invalid, fmt::format("-domain '{}' is no domain", domain));
  return {domain + "-agent-ca.pem", domain + "-agent-ca-key.pem"};
}

constexpr Range kDays{1, 99'999};

Duration days_of(const Arguments& arguments, std::int64_t otherwise) {
  return std::chrono::hours(24) * arguments.number("days").value_or(otherwise);
}

/// `what` it is, for whoever reads what was saved.
void write_new(const std::string& path, std::string_view text, mode_t mode, std::string_view what) {
  if (os::exists(path)) {
    throw Error(Code::conflict, fmt::format("'{}' is there already", path))
        .advise("move it away, or run the command in another directory");
  }
  os::write_file(path, text, mode);
  print(fmt::format("==> {} saved to{} {}\n", what, what.starts_with("CA") ? ":" : "", path));
}

std::string print_certificate(const crypto::CertificateInfo& info) {
  return key_values({{"Name", info.common_name},
                     {"Issuer", info.issuer},
                     {"Authority", info.is_authority ? "yes" : "no"},
                     {"Valid from", format_time(info.not_before)},
                     {"Valid until", format_time(info.not_after)},
                     {"Names", join(info.names, ", ")},
                     {"Fingerprint", info.fingerprint}});
}

crypto::Subject subject_of(const Arguments& arguments) {
  return {.common_name = arguments.get("common-name", "Nomad Agent CA"),
          .country = arguments.get("country"),
          .province = arguments.get("province"),
          .locality = arguments.get("locality"),
          .street_address = arguments.get("street-address"),
          .postal_code = arguments.get("postal-code"),
          .organization = arguments.get("organization"),
          .organizational_unit = arguments.get("organizational-unit")};
}

/// In which names of its certificates may be; none: anywhere.
std::vector<std::string> permitted_domains(const Arguments& arguments) {
  const auto more = arguments.all("additional-domain");
  if (!arguments.has("name-constraint")) {
    if (!more.empty()) throw Error(Code::invalid, "-additional-domain goes with -name-constraint");
    return {};
  }
  std::vector<std::string> out = {"localhost", domain_of(arguments)};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

int create_authority(const Arguments& arguments) {
  const auto files = authority_files(arguments);
  const auto made = crypto::Authority::make(subject_of(arguments), days_of(arguments, 1825), current_time(),
                                            permitted_domains(arguments));
  if (os::exists(files.certificate) || os::exists(files.key))
    throw Error(Code::conflict, "there is an authority in this directory already")
        .because(fmt::format("its files are {} and {}", files.certificate, files.key));
  write_new(files.key, made.key_pem().bytes(), 0600, "CA certificate key");
  write_new(files.certificate, made.certificate(), 0644, "CA certificate");
  return kDone;
}

int show_authority(const Arguments& arguments) {
  std::string pem;
  if (arguments.positional().empty()) {
    const auto answer = make_client(arguments).tls();
    pem = std::string_view(answer.at("PEM").as_string());
  } else {
    pem = os::read_file(arguments.positional().front(), 1u << 20);
  }
  if (arguments.has("pem")) {
    for (const auto& certificate : crypto::split_certificates(pem)) print(certificate);
    return kDone;
  }
  std::string between;
  for (const auto& info : crypto::describe_certificates(pem)) {
    print(between + print_certificate(info));
    between = "\n";
  }
  return kDone;
}

struct Role {
  const char* flag;
  const char* title;
  std::string (*name)(std::string_view region, std::string_view domain);
};

const Role& role_of(const Arguments& arguments) {
  static const std::vector<Role> roles = {{"server", "Server", crypto::server_name},
                                          {"client", "Client", crypto::client_name},
                                          {"cli", "Cli", crypto::cli_name}};
  const Role* chosen = nullptr;
  for (const auto& role : roles) {
    if (!arguments.has(role.flag)) continue;
    if (chosen != nullptr) throw Error(Code::invalid, "give one of -server, -client and -cli");
    chosen = &role;
  }
  if (chosen == nullptr) throw Error(Code::invalid, "one of -server, -client and -cli must be given");
  return *chosen;
}

/// The one that is named, else that of this directory, else that of this machine's server.
crypto::Authority open_authority(const Arguments& arguments) {
  std::string certificate = arguments.get("ca"), key = arguments.get("key");
  if (certificate.empty() && key.empty()) {
    const std::string own = state_directory(arguments) + "/server/tls/authority.pem";
    const auto files = authority_files(arguments);
    const bool here = os::exists(files.certificate);
    certificate = here ? files.certificate : own;
    key = here ? files.key : own;
  }
  if (certificate.empty() || key.empty()) throw Error(Code::invalid, "-ca and -key go together");
  // Both are in one file of a server's own authority.
  const auto read = [](const std::string& file) { return crypto::Secret::take(os::read_file(file, 1u << 20)); };
  const auto certificates = crypto::split_certificates(read(certificate).bytes());
  return crypto::Authority::load(certificates.front(), read(key).bytes());
}

int create_certificate(const Arguments& arguments) {
  const Role& role = role_of(arguments);
  const std::string region = arguments.get("cluster-region", arguments.get("region", "global")),
                    domain = domain_of(arguments);
  const std::string file = fmt::format("{}-{}-{}", region, role.flag, domain);
  const std::string name = role.name(region, domain);
  crypto::Leaf leaf{.common_name = name, .names = {name, "localhost", "127.0.0.1"}};
  leaf.server = std::string_view(role.flag) == "server";
  leaf.lifetime = days_of(arguments, 365);
  for (const char* flag : {"additional-dnsname", "additional-ipaddress"}) {
    for (const auto& more : arguments.all(flag)) leaf.names.push_back(more);
  }
  const auto authority = open_authority(arguments);
  const auto made = authority.issue(leaf, current_time());
  // An authority that is bound to domains signs other names too, and nobody believes it.
  crypto::verify_certificate(made.certificate, authority.certificate(), current_time());
  write_new(file + "-key.pem", made.key.bytes(), 0600, fmt::format("{} Certificate key", role.title));
  write_new(file + ".pem", made.certificate, 0644, fmt::format("{} Certificate", role.title));
  return kDone;
}

int rotate_tls(const Arguments& arguments) {
  const auto answer = make_client(arguments).rotate_tls(arguments.has("authority"));
  const auto text = [](const boost::json::value& value) { return std::string(std::string_view(value.as_string())); };
  if (arguments.has("authority")) {
    print(
        fmt::format("The server has a new authority, \"{}\". The former one is trusted until every certificate that it "
                    "gave has ended.\n",
                    text(answer.at("Authorities").at(0).at("CommonName"))));
  }
  print(fmt::format("The server has a new certificate, good until {}\n", text(answer.at("Server").at("NotAfter"))));
  return kDone;
}

}  // namespace

const Command& tls_ca_create_command() {
  static const Command command{
      .name = "tls ca create",
      .summary = "Makes an authority in the current directory, as files.",
      .details = "For a site that wants to keep its authority apart. A server without files makes its own by itself.",
      .flags = {{"common-name", "NAME", "Its name; Nomad Agent CA."},
                number_flag("days", "N", "How long it is good; 1825.", kDays),
                {"country", "CC", "Whose it is, as its certificate says: the country, by two letters."},
                {"province", "NAME", "The province or state."},
                {"locality", "NAME", "The town."},
                {"street-address", "TEXT", "The street."},
                {"postal-code", "TEXT", "The postal code."},
                {"organization", "NAME", "The organisation."},
                {"organizational-unit", "NAME", "The department."},
                {"domain", "NAME", "The domain of names of servers and nodes, and of the files; nomad."},
                {"name-constraint", "", "It vouches for names in -domain and localhost only."},
                {"additional-domain", "NAME", "With -name-constraint: in this domain too.", true}},
      .talks_to_server = false,
      .run = create_authority};
  return command;
}

const Command& tls_ca_info_command() {
  static const Command command{.name = "tls ca info",
                               .arguments = "[FILE]",
                               .summary = "Shows the server's authority, or the certificates in a file.",
                               .examples = {"underway tls ca info -pem > ca.pem"},
                               .flags = {{"pem", "", "In PEM, for -ca-cert and tls.ca_file."}},
                               .least = 0,
                               .most = 1,
                               .run = show_authority};
  return command;
}

const Command& tls_cert_create_command() {
  static const Command command{
      .name = "tls cert create",
      .summary = "Makes a certificate and its key in the current directory.",
      .details = "Signed by the authority in the current directory, or by that of this machine's server.",
      .examples = {"underway tls cert create -cli", "underway tls cert create -server -additional-dnsname mgmt.site"},
      .flags = {{"server", "", "For a server: server.REGION.nomad."},
                {"client", "", "For a node: client.REGION.nomad."},
                {"cli", "", "For a command line: cli.REGION.nomad."},
                {"domain", "NAME", "Instead of nomad at the end of the name, and in that of the authority's file."},
                {"additional-dnsname", "NAME", "A further name.", true},
                {"additional-ipaddress", "ADDRESS", "A further address.", true},
                number_flag("days", "N", "How long it is good; 365.", kDays),
                {"ca", "FILE", "The authority's certificate."},
                {"key", "FILE", "The authority's key."},
                {"region", "NAME", "The region; global."},
                {"state", "DIR", "The state directory of this machine's agent."}},
      .talks_to_server = false,
      .run = create_certificate};
  return command;
}

const Command& tls_rotate_command() {
  static const Command command{
      .name = "tls rotate",
      .summary = "Has the server make itself a new certificate, while it runs.",
      .details =
          "With -authority a new authority too. Nodes trust it through the former one, and renew their "
          "certificates at once. Links and requests go on.",
      .flags = {{"authority", "", "A new authority as well."}},
      .run = rotate_tls};
  return command;
}

}  // namespace underway::cli
