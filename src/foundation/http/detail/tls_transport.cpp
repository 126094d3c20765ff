// TLS over a connected socket.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "crypto/certificate.hpp"
#include "http/detail/tls_context.hpp"
#include "http/detail/transport.hpp"

namespace underway::http::detail {
namespace {

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
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number is all that the callbacks need, and nobody follows it
  ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  ::BIO_set_init(bio, 1);
  return bio;
}

class TlsTransport final : public Transport {
 public:
  TlsTransport(NativeSocket socket, Peer peer, std::shared_ptr<const TlsContext::Native> native,
               const std::string& host)
      : Transport(std::move(socket), std::move(peer)),
        native_(std::move(native)),
        ssl_(::SSL_new(native_->context.get()), &::SSL_free) {
    if (ssl_ == nullptr) throw Error(Code::exhausted, "cannot set up a TLS connection").because(tls_reason());
    BIO* bio = make_bio(this->socket().native_handle());
    ::SSL_set_bio(ssl_.get(), bio, bio);
    ::SSL_set_ex_data(ssl_.get(), 0, this);  // index 0: the app data
    if (native_->is_server)
      ::SSL_set_accept_state(ssl_.get());
    else
      expect(native_->server_name.empty() ? host : native_->server_name);
  }

  Attempt try_read(char* data, std::size_t size) override {
    std::size_t got = 0;
    ::ERR_clear_error();
    const int result = ::SSL_read_ex(ssl_.get(), data, size, &got);
    return result == 1 ? Attempt{.bytes = got} : outcome(result);
  }

  Attempt try_write(std::string_view data) override {
    std::size_t sent = 0;
    ::ERR_clear_error();
    const int result = ::SSL_write_ex(ssl_.get(), data.data(), data.size(), &sent);
    if (result == 1) return {.bytes = sent};
    Attempt attempt = outcome(result);
    if (attempt.end) attempt.failure = "the peer has closed it";
    return attempt;
  }

  awaitable<void> handshake(Turns* turns) override {
    while (true) {
      if (turns != nullptr) co_await turns->take();
      ::ERR_clear_error();
      const int result = ::SSL_do_handshake(ssl_.get());
      if (result == 1) break;
      const Attempt attempt = outcome(result);
      if (attempt.blocked == Want::nothing) throw failed_handshake(attempt);
      co_await wait(attempt.blocked);
    }
    note_peer();
  }

  void finish_sending() override {
    ::ERR_clear_error();
    ::SSL_shutdown(ssl_.get());
    Transport::finish_sending();
  }

  /// What verification does with a certificate that is not good.
  int judge(X509_STORE_CTX* context) {
    if (problem_.empty()) problem_ = describe_distrust(context, expected_);
    return native_->tells_instead_of_refusing ? 1 : 0;
  }
  void refuse(std::string why) { problem_ = std::move(why); }
  const TlsContext::Native& native() const { return *native_; }

 private:
  void expect(const std::string& name) {
    expected_ = name;
    ::SSL_set_connect_state(ssl_.get());
    std::array<unsigned char, 16> address{};
    const bool is_address = ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
                            ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
    if (!is_address && !name.empty()) ::SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
    if (!native_->verify) return;
    // Without a name OpenSSL takes any: whoever has a certificate of the authority could be the server.
    if (name.empty()) throw Error(Code::invalid, "no name is given that the server's certificate must have");
    if (is_address)
      ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), name.c_str());
    else
      ::SSL_set1_host(ssl_.get(), name.c_str());
  }

  /// A certificate that was not verified gives no name away: handlers decide by names.
  void note_peer() {
    X509* certificate = ::SSL_get0_peer_certificate(ssl_.get());
    if (certificate == nullptr || !native_->is_server) return;
    peer().certificate_problem = problem_;
    if (!problem_.empty()) return;
    const crypto::CertificateInfo info = crypto::describe(certificate);
    peer().certificate_names = {info.common_name};
    peer().certificate_names.insert(peer().certificate_names.end(), info.names.begin(), info.names.end());
    peer().certificate_until = info.not_after;
  }

  bool refused() const { return !problem_.empty() && !native_->tells_instead_of_refusing; }

  /// denied: a certificate, ours or theirs; everything else is no TLS, or the end of the connection.
  Error failed_handshake(const Attempt& attempt) const {
    const Code code = refused() || refused_by_peer_ ? Code::denied : attempt.end ? Code::unavailable : Code::invalid;
    return Error(code, fmt::format("TLS handshake with {} failed", peer().address))
        .because(attempt.end ? "the peer closed the connection" : attempt.failure);
  }

  Attempt outcome(int result) {
    const int system_error = errno;
    switch (::SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {.blocked = Want::read};
      case SSL_ERROR_WANT_WRITE:
        return {.blocked = Want::write};
      case SSL_ERROR_ZERO_RETURN:
        return {.end = true};
      case SSL_ERROR_SYSCALL:
        return {.failure = errno_error(system_error, "").reasons().front()};
      default:
        break;
    }
    if (refused()) return {.failure = problem_};
    if (auto refusal = describe_refusal(::ERR_peek_error(), ::SSL_get_certificate(ssl_.get())); !refusal.empty()) {
      ::ERR_clear_error();
      refused_by_peer_ = true;
      return {.failure = std::move(refusal)};
    }
    return {.failure = tls_reason()};
  }

  std::shared_ptr<const TlsContext::Native> native_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  std::string expected_;
  std::string problem_;
  bool refused_by_peer_ = false;
};

TlsTransport& transport_of(X509_STORE_CTX* context) {
  const void* ssl = ::X509_STORE_CTX_get_ex_data(context, ::SSL_get_ex_data_X509_STORE_CTX_idx());
  return *static_cast<TlsTransport*>(::SSL_get_ex_data(static_cast<const SSL*>(ssl), 0));
}

}  // namespace

int on_verified(int ok, X509_STORE_CTX* context) { return ok == 1 ? 1 : transport_of(context).judge(context); }

int verify_pinned(X509_STORE_CTX* context, void*) {
  TlsTransport& transport = transport_of(context);
  const STACK_OF(X509)* shown = ::X509_STORE_CTX_get0_untrusted(context);
  const auto free_stack = [](STACK_OF(X509) * stack) { sk_X509_free(stack); };
  const std::unique_ptr<STACK_OF(X509), decltype(free_stack)> trusted(sk_X509_new_null(), free_stack);
  for (int i = 0; i < sk_X509_num(shown); ++i) {
    X509* certificate = sk_X509_value(shown, i);
    if (crypto::fingerprint(certificate) == transport.native().pinned_authority)
      sk_X509_push(trusted.get(), certificate);
  }
  if (sk_X509_num(trusted.get()) == 0) {
    transport.refuse(
        fmt::format("the server shows no authority with the fingerprint {}", transport.native().pinned_authority));
    ::X509_STORE_CTX_set_error(context, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
    return 0;
  }
  ::X509_STORE_CTX_set0_trusted_stack(context, trusted.get());
  const int verified = ::X509_verify_cert(context);
  ::X509_STORE_CTX_set0_trusted_stack(context, nullptr);
  return verified > 0 ? 1 : 0;
}

std::shared_ptr<Transport> tls_transport(NativeSocket socket, Peer peer, const TlsContext& tls,
                                         const std::string& host) {
  return std::make_shared<TlsTransport>(std::move(socket), std::move(peer), tls.native(), host);
}

}  // namespace underway::http::detail
