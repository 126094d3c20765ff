#include "trust/server_trust.hpp"

#include <fmt/format.h>

#include <span>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "crypto/secret.hpp"
#include "os/file.hpp"
#include "trust/identity.hpp"

namespace underway::trust {
namespace {

constexpr std::size_t kTrustFileLimit = 1u << 20;

/// The name tells authorities of one server apart: verification looks for issuers by name.
crypto::Authority make_authority(const ServerTrustOptions& options, TimePoint now) {
  return crypto::Authority::make(fmt::format("Underway {} {}", options.region, hex(random_bytes(4))),
                                 options.authority_lifetime, now);
}

}  // namespace

ServerTrust::Kept ServerTrust::parse(std::string_view text) {
  const auto certificates = crypto::split_certificates(text);
  Kept kept{crypto::Authority::load(certificates.front(), text)};
  for (const auto& pem : std::span(certificates).subspan(1)) {
    const auto info = crypto::describe_certificate(pem);
    (info.common_name == info.issuer ? kept.former : kept.vouched) += pem;
  }
  return kept;
}

ServerTrust::Kept ServerTrust::open_or_make(const ServerTrustOptions& options, TimePoint now) {
  os::make_directories(options.directory, 0700);
  const std::string path = options.directory + "/authority.pem";
  auto text = os::find_file(path, kTrustFileLimit);
  if (!text) return {make_authority(options, now)};
  const crypto::Secret secret = crypto::Secret::take(std::move(*text));
  try {
    Kept kept = parse(secret.bytes());
    if (!kept.authority.info().is_expired(now)) return kept;
    throw Error(Code::invalid, "the authority has expired")
        .because(fmt::format("it ended at {}", format_time(kept.authority.info().not_after)))
        .advise("move the file away: a new authority is made, and nodes join again");
  } catch (Error& error) {
    error.while_doing(fmt::format("reading '{}'", path));
    throw;
  }
}

ServerTrust::ServerTrust(ServerTrustOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), kept_(open_or_make(options_, clock.now())) {
  if (!os::exists(options_.directory + "/ca.pem")) keep(kept_);
  renew_certificate();
}

std::string ServerTrust::authorities() const { return authority().certificate() + kept_.former; }

Certified ServerTrust::certify_node(const Identity& identity, const std::string& name, const std::string& request,
                                    std::optional<Duration> at_most) const {
  const Duration lifetime = std::min(options_.node_lifetime, at_most.value_or(options_.node_lifetime));
  const auto leaf = node_leaf(options_.region, identity, name, lifetime);
  return {.certificate = authority().sign_request(request, leaf, clock_.now()) + kept_.vouched,
          .authorities = authorities()};
}

void ServerTrust::renew_certificate() {
  crypto::Leaf leaf{.common_name = crypto::server_name(options_.region),
                    .names = {crypto::server_name(options_.region), "localhost", "127.0.0.1", "::1"},
                    .lifetime = options_.server_lifetime,
                    .server = true};
  leaf.names.insert(leaf.names.end(), options_.names.begin(), options_.names.end());
  const auto made = authority().issue(leaf, clock_.now());
  // The authorities go along: a node that knows one by its fingerprint alone finds it in the chain.
  const std::string chain = made.certificate + kept_.vouched + authorities(), trusted = authorities();
  const http::TlsTexts texts{.certificate = chain, .key = made.key.bytes(), .authority = trusted};
  const auto use = [&](std::shared_ptr<http::TlsHolder>& holder, http::ClientCertificates clients) {
    auto context = http::TlsContext::server(texts, clients);
    if (holder)
      holder->replace(std::move(context));
    else
      holder = std::make_shared<http::TlsHolder>(std::move(context));
  };
  use(tls_, http::ClientCertificates::requested);
  use(demanding_tls_, http::ClientCertificates::demanded);
  certificate_ = crypto::describe_certificate(made.certificate);
}

void ServerTrust::rotate_authority() {
  const auto next = make_authority(options_, clock_.now());
  keep({next, authority().vouch_for(next, clock_.now()) + kept_.vouched, authorities()});
  renew_certificate();
}

std::string ServerTrust::keep_fresh() {
  const TimePoint now = clock_.now();
  if (former_are_over()) {
    keep({authority()});
    renew_certificate();
    return "the former authority is no longer trusted";
  }
  if (authority().info().is_half_spent(now)) {
    rotate_authority();
    return fmt::format("a new authority was made, half of the former one's life being over: '{}'",
                       authority().info().common_name);
  }
  if (!certificate_.is_half_spent(now)) return {};
  renew_certificate();
  return fmt::format("the server's certificate was renewed and is good until {}", format_time(certificate_.not_after));
}

/// Every certificate of a former authority was given before the present one was made.
bool ServerTrust::former_are_over() const {
  return !kept_.former.empty() && clock_.now() >= authority().info().not_before + 2 * options_.node_lifetime;
}

void ServerTrust::keep(Kept kept) {
  const crypto::Secret key = kept.authority.key_pem();
  const auto text = crypto::Secret::take(
      fmt::format("{}{}{}{}", key.bytes(), kept.authority.certificate(), kept.vouched, kept.former));
  os::write_file(options_.directory + "/authority.pem", text.bytes(), 0600);
  os::write_file(options_.directory + "/ca.pem", kept.authority.certificate() + kept.former, 0644);
  kept_ = std::move(kept);
}

}  // namespace underway::trust
