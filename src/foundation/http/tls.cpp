#include "http/tls.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "http/detail/transport.hpp"

namespace underway::http {

struct TlsContext::Native {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{nullptr, &SSL_CTX_free};
  std::string server_name;
  bool is_server = false;
  bool verify = true;
};

namespace {

std::string openssl_reason() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  if (code == 0) return "the TLS library gave no reason";
  const char* reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("TLS error {:#x}", code);
}

std::shared_ptr<TlsContext::Native> make_native(const TlsFiles& files, bool is_server) {
  auto native = std::make_shared<TlsContext::Native>();
  native->is_server = is_server;
  native->context.reset(::SSL_CTX_new(is_server ? ::TLS_server_method() : ::TLS_client_method()));
  SSL_CTX* context = native->context.get();
  if (context == nullptr) throw Error(Code::internal, "cannot set up TLS").because(openssl_reason());
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // Idle connections give their record buffers back: ten thousand of them are idle most of the time.
  ::SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  if (!files.certificate.empty() && ::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    throw Error(Code::invalid, fmt::format("cannot use certificate '{}'", files.certificate)).because(openssl_reason());
  }
  if (!files.key.empty() && ::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    throw Error(Code::invalid, fmt::format("cannot use private key '{}'", files.key)).because(openssl_reason());
  }
  if (!files.authority.empty() && ::SSL_CTX_load_verify_locations(context, files.authority.c_str(), nullptr) != 1) {
    throw Error(Code::invalid, fmt::format("cannot use authority '{}'", files.authority)).because(openssl_reason());
  }
  return native;
}

std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> names;
  const auto add = [&names](const ASN1_STRING* text) {
    names.emplace_back(reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
                       static_cast<std::size_t>(::ASN1_STRING_length(text)));
  };
  X509_NAME* subject = ::X509_get_subject_name(certificate);
  const int common = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (common >= 0) add(::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, common)));
  auto* alternatives =
      static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; alternatives != nullptr && i < sk_GENERAL_NAME_num(alternatives); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives, i);
    if (name->type == GEN_DNS) add(name->d.dNSName);
    if (name->type == GEN_URI) add(name->d.uniformResourceIdentifier);
  }
  ::GENERAL_NAMES_free(alternatives);
  return names;
}

/// A BIO over a socket that, unlike OpenSSL's own, raises no SIGPIPE.
int bio_write(BIO* bio, const char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));
  ::BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) ::BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}
int bio_read(BIO* bio, char* data, int size) {
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));
  ::BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(fd, data, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) ::BIO_set_retry_read(bio);
  if (got == 0) ::BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}
long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return ::BIO_test_flags(bio, BIO_FLAGS_IN_EOF);
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* make_bio(int fd) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "underway socket");
    ::BIO_meth_set_write(made, bio_write);
    ::BIO_meth_set_read(made, bio_read);
    ::BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  BIO* bio = ::BIO_new(method);
  if (bio == nullptr) throw Error(Code::exhausted, "cannot set up a TLS connection");
  ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  ::BIO_set_init(bio, 1);
  return bio;
}

class TlsTransport final : public detail::Transport {
 public:
  TlsTransport(detail::NativeSocket socket, Peer peer, std::shared_ptr<const TlsContext::Native> native,
               const std::string& host)
      : Transport(std::move(socket), std::move(peer)),
        native_(std::move(native)),
        ssl_(::SSL_new(native_->context.get()), &::SSL_free) {
    if (ssl_ == nullptr) throw Error(Code::exhausted, "cannot set up a TLS connection").because(openssl_reason());
    BIO* bio = make_bio(this->socket().native_handle());
    ::SSL_set_bio(ssl_.get(), bio, bio);
    if (native_->is_server)
      ::SSL_set_accept_state(ssl_.get());
    else
      expect(native_->server_name.empty() ? host : native_->server_name);
  }

  detail::Attempt try_read(char* data, std::size_t size) override {
    std::size_t got = 0;
    ::ERR_clear_error();
    const int result = ::SSL_read_ex(ssl_.get(), data, size, &got);
    return result == 1 ? detail::Attempt{.bytes = got} : outcome(result);
  }

  detail::Attempt try_write(std::string_view data) override {
    std::size_t sent = 0;
    ::ERR_clear_error();
    const int result = ::SSL_write_ex(ssl_.get(), data.data(), data.size(), &sent);
    if (result == 1) return {.bytes = sent};
    detail::Attempt attempt = outcome(result);
    if (attempt.end) attempt.failure = "the peer has closed it";
    return attempt;
  }

  awaitable<void> handshake() override {
    while (true) {
      ::ERR_clear_error();
      const int result = ::SSL_do_handshake(ssl_.get());
      if (result == 1) break;
      const detail::Attempt attempt = outcome(result);
      if (attempt.blocked == detail::Want::nothing) {
        throw Error(Code::denied, fmt::format("TLS handshake with {} failed", peer().address))
            .because(attempt.end ? "the peer closed the connection" : attempt.failure);
      }
      co_await wait(attempt.blocked);
    }
    if (X509* certificate = ::SSL_get0_peer_certificate(ssl_.get())) peer().certificate_names = names_of(certificate);
  }

  void finish_sending() override {
    ::ERR_clear_error();
    ::SSL_shutdown(ssl_.get());
    Transport::finish_sending();
  }

 private:
  void expect(const std::string& name) {
    ::SSL_set_connect_state(ssl_.get());
    std::array<unsigned char, 16> address{};
    const bool is_address = ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
                            ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
    if (!is_address && !name.empty()) ::SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
    if (!native_->verify) return;
    if (is_address)
      ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), name.c_str());
    else
      ::SSL_set1_host(ssl_.get(), name.c_str());
  }

  detail::Attempt outcome(int result) {
    const int system_error = errno;
    switch (::SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {.blocked = detail::Want::read};
      case SSL_ERROR_WANT_WRITE:
        return {.blocked = detail::Want::write};
      case SSL_ERROR_ZERO_RETURN:
        return {.end = true};
      case SSL_ERROR_SYSCALL:
        return {.failure = errno_error(system_error, "").reasons().front()};
      default:
        break;
    }
    const long verdict = ::SSL_get_verify_result(ssl_.get());
    if (verdict != X509_V_OK) return {.failure = ::X509_verify_cert_error_string(verdict)};
    return {.failure = openssl_reason()};
  }

  std::shared_ptr<const TlsContext::Native> native_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

}  // namespace

TlsContext TlsContext::server(const TlsFiles& files, bool demand_client_certificate) {
  auto native = make_native(files, true);
  if (files.certificate.empty() || files.key.empty()) {
    throw Error(Code::invalid, "a TLS server needs a certificate and its key");
  }
  if (demand_client_certificate) {
    if (files.authority.empty())
      throw Error(Code::invalid, "client certificates are demanded but no authority is given");
    ::SSL_CTX_set_verify(native->context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    static constexpr std::string_view kSession = "underway";
    ::SSL_CTX_set_session_id_context(native->context.get(), reinterpret_cast<const unsigned char*>(kSession.data()),
                                     kSession.size());
  }
  return TlsContext(std::move(native));
}

TlsContext TlsContext::client(const TlsFiles& files, std::string server_name, bool verify) {
  auto native = make_native(files, false);
  native->server_name = std::move(server_name);
  native->verify = verify;
  if (files.authority.empty()) ::SSL_CTX_set_default_verify_paths(native->context.get());
  ::SSL_CTX_set_verify(native->context.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return TlsContext(std::move(native));
}

std::shared_ptr<detail::Transport> detail::tls_transport(NativeSocket socket, Peer peer, const TlsContext& tls,
                                                         const std::string& host) {
  return std::make_shared<TlsTransport>(std::move(socket), std::move(peer), tls.native(), host);
}

}  // namespace underway::http
