#include "crypto/detail/openssl.hpp"

#include <fmt/format.h>
#include <openssl/err.h>

namespace underway::crypto::detail {
namespace {

constexpr std::size_t kPemLimit = 1u << 20;
constexpr std::size_t kCertificatesLimit = 256;
constexpr std::size_t kRequestLimit = 16u << 10;

}  // namespace

std::string reason() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  if (code == 0) return "OpenSSL gave no reason";
  const char* text = ::ERR_reason_error_string(code);
  return text != nullptr ? text : fmt::format("OpenSSL error {:#x}", code);
}

Error failure(std::string what) { return Error(Code::internal, std::move(what)).because(reason()); }

std::shared_ptr<evp_pkey_st> shared(Key key) { return {key.release(), &::EVP_PKEY_free}; }

Bio memory(std::string_view bytes) {
  Bio bio(::BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
  if (bio == nullptr) throw failure("cannot read from memory");
  return bio;
}

Bio memory() {
  Bio bio(::BIO_new(::BIO_s_secmem()));
  if (bio == nullptr) throw failure("cannot write to memory");
  return bio;
}

std::string_view written(const Bio& bio) {
  char* data = nullptr;
  const long size = ::BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::vector<Certificate> read_certificates(std::string_view pem) {
  if (pem.size() > kPemLimit) throw Error(Code::invalid, "the certificates are larger than 1 MiB");
  const Bio in = memory(pem);
  std::vector<Certificate> certificates;
  while (Certificate next{::PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(std::move(next));
    if (certificates.size() > kCertificatesLimit) throw Error(Code::invalid, "there are more than 256 certificates");
  }
  const unsigned long code = ::ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  if (!at_end) throw Error(Code::invalid, "the text is no certificate in PEM").because(reason());
  ::ERR_clear_error();
  if (certificates.empty()) {
    throw Error(Code::invalid, "the text is no certificate in PEM").because("it has no BEGIN CERTIFICATE");
  }
  return certificates;
}

CertificateRequest read_request(std::string_view pem) {
  if (pem.size() > kRequestLimit) throw Error(Code::invalid, "the certificate signing request is longer than 16 KiB");
  CertificateRequest request(::PEM_read_bio_X509_REQ(memory(pem).get(), nullptr, nullptr, nullptr));
  if (request == nullptr) {
    throw Error(Code::invalid, "the text is no certificate signing request in PEM").because(reason());
  }
  return request;
}

std::string write_certificate(X509* certificate) {
  const Bio out = memory();
  if (::PEM_write_bio_X509(out.get(), certificate) != 1) throw failure("cannot write a certificate");
  return std::string(written(out));
}

}  // namespace underway::crypto::detail
