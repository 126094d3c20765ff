#include "http/tls.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "serving.hpp"

namespace underway::http {
namespace {

/// An authority and the certificates it signs, in PEM files of the test's directory.
class Authority {
 public:
  explicit Authority(std::string name)
      : key_(::EVP_EC_gen("P-256")), certificate_(issue(key_, key_, nullptr, name, true)) {
    write(name + ".pem", certificate_, nullptr);
  }
  ~Authority() {
    ::X509_free(certificate_);
    ::EVP_PKEY_free(key_);
  }
  std::string file(const std::string& name) const { return directory_ / name; }

  TlsFiles sign(const std::string& name) {
    EVP_PKEY* key = ::EVP_EC_gen("P-256");
    X509* certificate = issue(key, key_, certificate_, name, false);
    write(name + ".pem", certificate, nullptr);
    write(name + ".key", nullptr, key);
    ::X509_free(certificate);
    ::EVP_PKEY_free(key);
    return {.certificate = file(name + ".pem"), .key = file(name + ".key")};
  }

 private:
  static X509* issue(EVP_PKEY* key, EVP_PKEY* signer, X509* issuer, const std::string& name, bool is_authority) {
    X509* made = ::X509_new();
    ::X509_set_version(made, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(made), is_authority ? 1 : 2);
    ::X509_gmtime_adj(::X509_getm_notBefore(made), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(made), 3600);
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(made), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    ::X509_set_issuer_name(made, ::X509_get_subject_name(issuer != nullptr ? issuer : made));
    ::X509_set_pubkey(made, key);
    const std::string names = "DNS:" + name + ",IP:127.0.0.1";
    extend(made, is_authority ? NID_basic_constraints : NID_subject_alt_name,
           is_authority ? "critical,CA:TRUE" : names);
    ::X509_sign(made, signer, ::EVP_sha256());
    return made;
  }
  static void extend(X509* certificate, int what, const std::string& value) {
    X509_EXTENSION* extension = ::X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
    ::X509_add_ext(certificate, extension, -1);
    ::X509_EXTENSION_free(extension);
  }
  void write(const std::string& name, X509* certificate, EVP_PKEY* key) const {
    std::FILE* out = std::fopen(file(name).c_str(), "w");
    if (certificate != nullptr) ::PEM_write_X509(out, certificate);
    if (key != nullptr) ::PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
  }

  Directory directory_;
  EVP_PKEY* key_;
  X509* certificate_;
};

awaitable<Response> tell_peer(Request request) {
  std::string names;
  for (const auto& name : request.remote.certificate_names) names += name + ";";
  co_return text(200, names + std::string(request.body.size(), 'x'));
}
awaitable<void> echo_one(std::shared_ptr<WebSocket> socket) {
  if (auto message = co_await socket->read()) co_await socket->write(std::move(*message));
  co_await socket->read();
}
awaitable<Response> upgrade(Request) {
  Response response;
  response.upgrade = echo_one;
  co_return response;
}
Router routes() {
  Router router;
  router.add("GET|PUT", "/peer", "peer", tell_peer);
  router.add("GET", "/ws", "ws", upgrade);
  return router;
}

struct TlsTest : testing::Test {
  Authority authority{"authority"};
  Serving serving{routes(), {}, TlsContext::server(authority.sign("server"))};
  Client client(TlsContext context) {
    return Client(serving.loop.executor(), Url{.endpoint = serving.endpoint, .tls = true}, {.tls = std::move(context)});
  }
  TlsFiles trusting(TlsFiles files = {}) const {
    files.authority = authority.file("authority.pem");
    return files;
  }
};

TEST_F(TlsTest, CarriesRequestsAndWebSockets) {
  auto dialled = client(TlsContext::client(trusting()));
  EXPECT_EQ(serving.run(dialled.send(request("GET", "/peer"))).body, "");
  const std::string body(5'000'000, 'b');
  EXPECT_EQ(serving.run(dialled.send(request("PUT", "/peer", {}, body))).body.size(), body.size());
  const auto socket = serving.run(dialled.dial(request("GET", "/ws")));
  serving.run(socket->write({std::string(1'000'000, 'y')}));
  const auto answer = serving.run(socket->read());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->data.size(), 1'000'000u);
  serving.run(socket->close());
}

TEST_F(TlsTest, RefusesAServerOfAnotherAuthority) {
  const Authority other("other");
  auto dialled = client(TlsContext::client({.authority = other.file("other.pem")}));
  try {
    serving.run(dialled.send(request("GET", "/peer")));
    FAIL() << "trusted a stranger";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::denied);
    EXPECT_NE(error.one_line().find("certificate"), std::string::npos) << error.one_line();
  }
  auto careless = client(TlsContext::client({}, "", false));
  EXPECT_EQ(serving.run(careless.send(request("GET", "/peer"))).status, 200);
}

TEST_F(TlsTest, RefusesAServerOfAnotherName) {
  auto named = client(TlsContext::client(trusting(), "server"));
  EXPECT_EQ(serving.run(named.send(request("GET", "/peer"))).status, 200);
  auto misnamed = client(TlsContext::client(trusting(), "elsewhere"));
  EXPECT_THROW(serving.run(misnamed.send(request("GET", "/peer"))), Error);
}

TEST_F(TlsTest, DemandsAClientCertificateWhenMutual) {
  TlsFiles files = trusting(authority.sign("mutual"));
  const Endpoint at = serving.server.listen(Endpoint{.host = "127.0.0.1"}, TlsContext::server(files, true));
  const Url url{.endpoint = at, .tls = true};
  Client anonymous(serving.loop.executor(), url, {.tls = TlsContext::client(trusting())});
  EXPECT_THROW(serving.run(anonymous.send(request("GET", "/peer"))), Error);
  Client known(serving.loop.executor(), url, {.tls = TlsContext::client(trusting(authority.sign("node-7")))});
  EXPECT_EQ(serving.run(known.send(request("GET", "/peer"))).body, "node-7;node-7;");
  Authority other("other");
  Client foreign(serving.loop.executor(), url, {.tls = TlsContext::client(trusting(other.sign("node-8")))});
  EXPECT_THROW(serving.run(foreign.send(request("GET", "/peer"))), Error);
}

TEST_F(TlsTest, CancelsAHandlerWhoseClientWentAway) {
  auto dialled = client(TlsContext::client(trusting()));
  {
    const auto stream = serving.run(dialled.open(request("GET", "/peer")));
    EXPECT_EQ(serving.server.connections(), 1u);
  }
  serving.run([](Server& server) -> awaitable<void> {
    while (server.connections() > 0) co_await async::sleep_for(1ms);
  }(serving.server));
  EXPECT_EQ(serving.server.connections(), 0u);
}

TEST_F(TlsTest, DropsAPlainClient) {
  Raw raw(serving);
  serving.run(raw.send("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(serving.run(raw.read_to_end()).find("HTTP/1.1 200"), std::string::npos);
}

TEST_F(TlsTest, NamesTheFileThatCannotBeUsed) {
  for (const TlsFiles& files :
       {TlsFiles{.certificate = "/nonexistent.pem"}, TlsFiles{.authority = "/nonexistent.pem"}}) {
    try {
      TlsContext::client(files);
      FAIL() << "used a missing file";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_NE(error.message().find("/nonexistent.pem"), std::string::npos);
    }
  }
  EXPECT_THROW(TlsContext::server({}), Error);
}

}  // namespace
}  // namespace underway::http
