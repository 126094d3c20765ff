#include "trust/membership.hpp"

#include <fmt/format.h>

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "http/plain_error.hpp"
#include "os/file.hpp"
#include "trust/join_token.hpp"

namespace underway::trust {
namespace {

constexpr std::size_t kMembershipFileLimit = 1u << 20;
constexpr Duration kJoinPatience = std::chrono::seconds(20);
constexpr Duration kRenewAgain = std::chrono::seconds(30);

crypto::Secret read_secret(const std::string& path) {
  return crypto::Secret::take(os::read_file(path, kMembershipFileLimit));
}

awaitable<crypto::Secret> token_from(std::string file) {
  if (file.empty()) {
    throw Error(Code::not_found, "there is no join token")
        .advise(
            "make one on the server with `underway node join-token create`, and name its file in "
            "client.join_token_file");
  }
  co_return read_secret(file);
}

Certified certified_of(const http::Response& response, const std::string& server) {
  if (response.status != 200) {
    const auto told = http::parse_plain_error(response.status, response.body);
    Error error(told.code(), fmt::format("{} refuses this node", server));
    error.because(told.message());
    if (!told.advice().empty()) error.advise(told.advice());
    throw error;
  }
  return json::decode_text<Certified>(response.body);
}

}  // namespace

std::function<awaitable<crypto::Secret>()> token_in(std::string file) {
  return [file = std::move(file)] { return token_from(file); };
}

Membership::Membership(MembershipOptions options, async::Executor executor, const Clock& clock)
    : options_(std::move(options)), executor_(std::move(executor)), clock_(clock) {
  if (options_.given.certificate.empty()) load();
}

void Membership::load() {
  os::make_directories(options_.directory, 0700);
  const std::string path = options_.directory + "/node.pem";
  if (auto text = os::find_file(path, kMembershipFileLimit)) {
    const crypto::Secret kept = crypto::Secret::take(std::move(*text));
    try {
      key_ = crypto::PrivateKey::from_pem(kept.bytes());
      for (const auto& pem : crypto::split_certificates(kept.bytes())) chain_ += pem;
      certificate_ = crypto::describe_certificate(chain_);
      authorities_ = os::read_file(options_.directory + "/authorities.pem", kMembershipFileLimit);
    } catch (Error& error) {
      error.while_doing(fmt::format("reading the node's certificate in '{}'", path))
          .advise(fmt::format("remove '{}' and give the node a new join token", options_.directory));
      throw;
    }
  }
}

awaitable<std::optional<http::TlsContext>> Membership::prepare(std::string server) {
  if (!http::parse_url(server).tls) co_return std::nullopt;
  if (!options_.given.certificate.empty())
    co_return http::TlsContext::client(options_.given, crypto::server_name(options_.region));
  if (!joined() || certificate_->is_expired(clock_.now())) co_await join(std::move(server));
  const crypto::Secret key = key_->pem();
  co_return http::TlsContext::client(
      http::TlsTexts{.certificate = chain_, .key = key.bytes(), .authority = authorities_},
      crypto::server_name(options_.region));
}

awaitable<void> Membership::join(std::string server) {
  std::string why = "this node has not joined yet";
  if (joined()) {
    why = fmt::format("the certificate of '{}' expired at {}", certificate_->common_name,
                      format_time(certificate_->not_after));
  }
  try {
    const crypto::Secret text = co_await options_.token();
    const JoinToken token = parse_join_token(text.bytes());
    const crypto::PrivateKey key = joining_key();
    JoinRequest body{.token = std::string(text.bytes()),
                     .node_id = options_.node_id,
                     .secret = options_.secret,
                     .name = options_.name,
                     .pool = options_.pool,
                     .request = key.request(common_name())};
    http::ClientOptions client_options;
    client_options.tls = first_contact(token.authority_fingerprint);
    http::Client client(executor_, http::parse_url(server), client_options);
    auto request = http::request("PUT", "/v1/underway/node/join", {}, json::encode(body));
    crypto::wipe(body.token);
    request.headers.set("Content-Type", "application/json");
    const auto response = co_await client.send(std::move(request), kJoinPatience);
    accept(key, certified_of(response, server));
    os::remove_tree(options_.directory + "/joining.pem");
  } catch (Error& error) {
    error.because(why);
    throw;
  }
  log::info("node: joined as {}, with a certificate until {}", options_.name, format_time(certificate_->not_after));
}

/// Kept before it is used: an answer that is lost can be asked for again with the same token, by this key alone.
crypto::PrivateKey Membership::joining_key() const {
  const std::string path = options_.directory + "/joining.pem";
  if (auto text = os::find_file(path, kMembershipFileLimit)) {
    return crypto::PrivateKey::from_pem(crypto::Secret::take(std::move(*text)).bytes());
  }
  auto key = crypto::PrivateKey::generate();
  os::write_file(path, key.pem().bytes(), 0600);
  return key;
}

http::TlsContext Membership::first_contact(const std::string& authority_fingerprint) const {
  const std::string name = crypto::server_name(options_.region);
  if (options_.authorities_file.empty()) return http::TlsContext::pinning_client(authority_fingerprint, name);
  return http::TlsContext::client(http::TlsFiles{.authority = options_.authorities_file}, name);
}

void Membership::accept(const crypto::PrivateKey& key, const Certified& made) {
  auto info = crypto::describe_certificate(made.certificate);
  crypto::describe_certificates(made.authorities);  // throws what would keep us from trusting anybody later
  const auto text = crypto::Secret::take(fmt::format("{}{}", key.pem().bytes(), made.certificate));
  os::write_file(options_.directory + "/authorities.pem", made.authorities, 0644);
  os::write_file(options_.directory + "/node.pem", text.bytes(), 0600);
  key_ = key;
  chain_ = made.certificate;
  authorities_ = made.authorities;
  certificate_ = std::move(info);
}

bool Membership::renewal_due() const {
  if (!joined() || clock_.now() < not_before_) return false;
  return renew_now_ || certificate_->is_half_spent(clock_.now());
}

awaitable<void> Membership::renew(Ask ask) {
  try {
    const auto key = crypto::PrivateKey::generate();
    CertificateRequest request{.request = key.request(common_name())};
    const Certified made = co_await ask(std::move(request));
    accept(key, made);
    renew_now_ = false;
    if (failing_) failing_->succeeded();
    failing_.reset();
    log::info("node: the certificate was renewed and is good until {}", format_time(certificate_->not_after));
  } catch (const Error& error) {
    if (!failing_) {
      const Duration most = std::min(kRenewAgain, (certificate_->not_after - certificate_->not_before) / 10);
      failing_.emplace(
          clock_,
          fmt::format("node: the certificate, good until {}, cannot be renewed", format_time(certificate_->not_after)),
          async::RetryPolicy::up_to(most));
    }
    not_before_ = clock_.now() + failing_->failed(error.one_line());
  }
}

/// What a request says is for people who look at it; the certificate says what the server decides.
std::string Membership::common_name() const { return options_.name.substr(0, 64); }

}  // namespace underway::trust
