#include "http/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "http/detail/tls_context.hpp"

namespace underway::http {
namespace {

using detail::tls_reason;

std::string read_file(const std::string& path, const char* what) {
  if (path.empty()) return {};
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in && !text.empty()) return text;
  throw Error(Code::invalid, fmt::format("cannot use {} '{}'", what, path))
      .because(in ? "the file is empty" : "there is no such file, or no right to read it");
}

/// The texts of files; the key's is wiped.
class FileTexts {
 public:
  explicit FileTexts(const TlsFiles& files)
      : certificate_(read_file(files.certificate, "certificate")),
        key_(read_file(files.key, "private key")),
        authority_(read_file(files.authority, "authority")) {}
  ~FileTexts() { ::OPENSSL_cleanse(key_.data(), key_.size()); }
  FileTexts(const FileTexts&) = delete;
  FileTexts& operator=(const FileTexts&) = delete;
  TlsTexts texts() const { return {.certificate = certificate_, .key = key_, .authority = authority_}; }

 private:
  std::string certificate_, key_, authority_;
};

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

Bio memory(std::string_view text) {
  return {::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &::BIO_free_all};
}

Certificate next_certificate(const Bio& in) {
  return {::PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), &::X509_free};
}

/// Names what cannot be used: the file, when it came from one.
Error unusable(const char* what, const std::string& file) {
  return Error(Code::invalid,
               file.empty() ? fmt::format("cannot use the {}", what) : fmt::format("cannot use {} '{}'", what, file))
      .because(tls_reason());
}

void use_certificate(SSL_CTX* context, std::string_view pem, const std::string& file) {
  const Bio in = memory(pem);
  const Certificate leaf = next_certificate(in);
  if (leaf == nullptr || ::SSL_CTX_use_certificate(context, leaf.get()) != 1) throw unusable("certificate", file);
  while (Certificate more = next_certificate(in)) {
    if (::SSL_CTX_add1_chain_cert(context, more.get()) != 1) throw unusable("certificate", file);
  }
  ::ERR_clear_error();
}

/// Instead of a prompt on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

void use_key(SSL_CTX* context, std::string_view pem, const std::string& file) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      ::PEM_read_bio_PrivateKey(memory(pem).get(), nullptr, &no_passphrase, nullptr), &::EVP_PKEY_free);
  if (key == nullptr || ::SSL_CTX_use_PrivateKey(context, key.get()) != 1) throw unusable("private key", file);
}

void use_authority(SSL_CTX* context, std::string_view pem, const std::string& file) {
  const Bio in = memory(pem);
  std::size_t count = 0;
  for (; Certificate certificate = next_certificate(in); ++count) {
    if (::X509_STORE_add_cert(::SSL_CTX_get_cert_store(context), certificate.get()) != 1)
      throw unusable("authority", file);
  }
  if (count == 0) throw unusable("authority", file);
  ::ERR_clear_error();
}

std::shared_ptr<TlsContext::Native> make_native(const TlsTexts& texts, const TlsFiles& files, bool is_server) {
  auto native = std::make_shared<TlsContext::Native>();
  native->is_server = is_server;
  native->context.reset(::SSL_CTX_new(is_server ? ::TLS_server_method() : ::TLS_client_method()));
  SSL_CTX* context = native->context.get();
  if (context == nullptr) throw Error(Code::internal, "cannot set up TLS").because(tls_reason());
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // Idle connections give their record buffers back: ten thousand of them are idle most of the time.
  ::SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  if (!texts.certificate.empty()) use_certificate(context, texts.certificate, files.certificate);
  if (!texts.key.empty()) use_key(context, texts.key, files.key);
  if (!texts.authority.empty()) use_authority(context, texts.authority, files.authority);
  return native;
}

void ask_clients(TlsContext::Native& native, ClientCertificates clients) {
  SSL_CTX* context = native.context.get();
  native.tells_instead_of_refusing = clients == ClientCertificates::requested;
  const int must = clients == ClientCertificates::demanded ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER | must, &detail::on_verified);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  ::SSL_CTX_set_num_tickets(context, 0);
}

std::shared_ptr<TlsContext::Native> make_server(const TlsTexts& texts, const TlsFiles& files,
                                                ClientCertificates clients) {
  if (texts.certificate.empty() || texts.key.empty()) {
    throw Error(Code::invalid, "a TLS server needs a certificate and its key");
  }
  if (clients != ClientCertificates::ignored && texts.authority.empty()) {
    throw Error(Code::invalid, "client certificates are asked for but no authority is given");
  }
  auto native = make_native(texts, files, true);
  if (clients != ClientCertificates::ignored) ask_clients(*native, clients);
  return native;
}

std::shared_ptr<TlsContext::Native> make_client(const TlsTexts& texts, const TlsFiles& files, std::string server_name,
                                                bool verify) {
  auto native = make_native(texts, files, false);
  native->server_name = std::move(server_name);
  native->verify = verify;
  if (texts.authority.empty()) ::SSL_CTX_set_default_verify_paths(native->context.get());
  ::SSL_CTX_set_verify(native->context.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       verify ? &detail::on_verified : nullptr);
  return native;
}

}  // namespace

TlsContext TlsContext::server(const TlsFiles& files, ClientCertificates clients) {
  const FileTexts read(files);
  return TlsContext(make_server(read.texts(), files, clients));
}

TlsContext TlsContext::server(const TlsTexts& texts, ClientCertificates clients) {
  return TlsContext(make_server(texts, {}, clients));
}

TlsContext TlsContext::client(const TlsFiles& files, std::string server_name, bool verify) {
  const FileTexts read(files);
  return TlsContext(make_client(read.texts(), files, std::move(server_name), verify));
}

TlsContext TlsContext::client(const TlsTexts& texts, std::string server_name, bool verify) {
  return TlsContext(make_client(texts, {}, std::move(server_name), verify));
}

TlsContext TlsContext::pinning_client(std::string authority_fingerprint, std::string server_name) {
  auto native = make_client({}, {}, std::move(server_name), true);
  native->pinned_authority = std::move(authority_fingerprint);
  ::SSL_CTX_set_cert_verify_callback(native->context.get(), &detail::verify_pinned, nullptr);
  return TlsContext(std::move(native));
}

}  // namespace underway::http
