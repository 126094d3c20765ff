#include "http/tls.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "crypto/authority.hpp"
#include "serving.hpp"

namespace underway::http {
namespace {

using testing::HasSubstr;

/// An authority and the certificates it signs, in PEM files of the test's directory.
class Authority {
 public:
  explicit Authority(const std::string& name) : authority_(crypto::Authority::make(name, 1h, SystemClock().now())) {
    write(name + ".pem", authority_.certificate());
  }
  std::string file(const std::string& name) const { return directory_ / name; }
  const crypto::Authority& signer() const { return authority_; }

  TlsFiles sign(const std::string& name, TimePoint now = SystemClock().now()) {
    const auto made = authority_.issue(leaf(name), now);
    write(name + ".pem", made.certificate);
    write(name + ".key", made.key.bytes());
    return {.certificate = file(name + ".pem"), .key = file(name + ".key")};
  }
  static crypto::Leaf leaf(const std::string& name) {
    return {.common_name = name, .names = {name, "127.0.0.1"}, .lifetime = 1h, .server = true};
  }

 private:
  void write(const std::string& name, std::string_view text) const { std::ofstream(file(name)) << text; }

  Directory directory_;
  crypto::Authority authority_;
};

awaitable<Response> tell_tls_peer(Request request) {
  std::string names;
  for (const auto& name : request.remote.certificate_names) names += name + ";";
  names += request.remote.certificate_problem;
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
Router tls_routes() {
  Router router;
  router.add("GET|PUT", "/peer", "peer", tell_tls_peer);
  router.add("GET", "/ws", "ws", upgrade);
  return router;
}

struct TlsTest : testing::Test {
  Authority authority{"authority"};
  Serving serving{tls_routes(), {}, TlsContext::server(authority.sign("server"))};
  Client client(TlsContext context) {
    return Client(serving.loop.executor(), Url{.endpoint = serving.endpoint, .tls = true}, {.tls = std::move(context)});
  }
  /// What a request with these files fails with, in one line; its answer when it succeeds.
  std::string ask(const Url& url, TlsContext context) {
    Client dialled(serving.loop.executor(), url, {.tls = std::move(context)});
    try {
      return serving.run(dialled.send(request("GET", "/peer"))).body;
    } catch (const Error& error) {
      return error.one_line();
    }
  }
  Url listen(ClientCertificates clients) {
    const TlsFiles files = trusting(authority.sign("mutual"));
    return {.endpoint = serving.server.listen(Endpoint{.host = "127.0.0.1"}, TlsContext::server(files, clients)),
            .tls = true};
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
  auto dialled = client(TlsContext::client(TlsFiles{.authority = other.file("other.pem")}));
  try {
    serving.run(dialled.send(request("GET", "/peer")));
    FAIL() << "trusted a stranger";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::denied);
    EXPECT_NE(error.one_line().find("certificate"), std::string::npos) << error.one_line();
  }
  auto careless = client(TlsContext::client(TlsFiles{}, "", false));
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
  const Endpoint at =
      serving.server.listen(Endpoint{.host = "127.0.0.1"}, TlsContext::server(files, ClientCertificates::demanded));
  const Url url{.endpoint = at, .tls = true};
  Client anonymous(serving.loop.executor(), url, {.tls = TlsContext::client(trusting())});
  EXPECT_THROW(serving.run(anonymous.send(request("GET", "/peer"))), Error);
  Client known(serving.loop.executor(), url, {.tls = TlsContext::client(trusting(authority.sign("node-7")))});
  EXPECT_EQ(serving.run(known.send(request("GET", "/peer"))).body, "node-7;node-7;127.0.0.1;");
  Authority other("other");
  Client foreign(serving.loop.executor(), url, {.tls = TlsContext::client(trusting(other.sign("node-8")))});
  EXPECT_THROW(serving.run(foreign.send(request("GET", "/peer"))), Error);
}

TEST_F(TlsTest, TellsAHandlerWhatIsWrongWithARequestedCertificate) {
  const Url url = listen(ClientCertificates::requested);
  EXPECT_EQ(ask(url, TlsContext::client(trusting())), "");
  EXPECT_EQ(ask(url, TlsContext::client(trusting(authority.sign("node-7")))), "node-7;node-7;127.0.0.1;");
  EXPECT_THAT(ask(url, TlsContext::client(trusting(authority.sign("late", SystemClock().now() - 2h)))),
              HasSubstr("the certificate of 'late' expired at "));
  Authority other("other");
  EXPECT_EQ(ask(url, TlsContext::client(trusting(other.sign("node-8")))),
            "the certificate of 'node-8' is of authority 'other', which is not trusted here");
}

TEST_F(TlsTest, BothEndsSayWhichCertificateIsRefusedAndWhy) {
  const Url url = listen(ClientCertificates::demanded);
  EXPECT_THAT(ask(url, TlsContext::client(trusting())), HasSubstr("the peer demands a certificate"));
  EXPECT_THAT(ask(url, TlsContext::client(trusting(authority.sign("late", SystemClock().now() - 2h)))),
              HasSubstr("the peer refuses our certificate of 'late'"));
  Authority other("other");
  EXPECT_THAT(ask(url, TlsContext::client(trusting(other.sign("node-8")))),
              HasSubstr("the peer refuses our certificate of 'node-8' (by 'other', until "));
  EXPECT_THAT(ask(url, TlsContext::client(trusting(), "elsewhere")),
              HasSubstr("the certificate of 'mutual' is for mutual, 127.0.0.1, and not for 'elsewhere'"));
  EXPECT_THAT(ask(url, TlsContext::client(TlsFiles{.authority = other.file("other.pem")})),
              HasSubstr("the certificate of 'mutual' is of authority 'authority', which is not trusted here"));
}

TEST_F(TlsTest, NewConnectionsUseAReplacedCertificateAndOldOnesGoOn) {
  const auto holder = std::make_shared<TlsHolder>(TlsContext::server(authority.sign("first")));
  const Url url{.endpoint = serving.server.listen(Endpoint{.host = "127.0.0.1"}, holder), .tls = true};
  Client old(serving.loop.executor(), url, {.tls = TlsContext::client(trusting(), "first")});
  const auto socket = serving.run(old.dial(request("GET", "/ws")));
  EXPECT_EQ(serving.run(old.send(request("GET", "/peer"))).status, 200);
  holder->replace(TlsContext::server(authority.sign("second")));
  EXPECT_EQ(serving.run(old.send(request("GET", "/peer"))).status, 200);
  serving.run(socket->write({"still here"}));
  EXPECT_EQ(serving.run(socket->read())->data, "still here");
  EXPECT_THAT(ask(url, TlsContext::client(trusting(), "first")), HasSubstr("is for second, 127.0.0.1, and not for"));
  EXPECT_EQ(ask(url, TlsContext::client(trusting(), "second")), "");
}

TEST_F(TlsTest, KnowsAnAuthorityByItsFingerprint) {
  const auto made = authority.signer().issue(Authority::leaf("server"), SystemClock().now());
  const std::string chain = made.certificate + authority.signer().certificate();
  const TlsTexts texts{.certificate = chain, .key = made.key.bytes()};
  const Url url{.endpoint = serving.server.listen(Endpoint{.host = "127.0.0.1"}, TlsContext::server(texts)),
                .tls = true};
  const std::string known = authority.signer().info().fingerprint;
  EXPECT_EQ(ask(url, TlsContext::pinning_client(known, "server")), "");
  EXPECT_THAT(ask(url, TlsContext::pinning_client(known, "elsewhere")), HasSubstr("and not for 'elsewhere'"));
  const std::string other = Authority("other").signer().info().fingerprint;
  EXPECT_THAT(ask(url, TlsContext::pinning_client(other, "server")),
              HasSubstr("the server shows no authority with the fingerprint " + other));
  // A leaf is no authority, however well its fingerprint is known.
  EXPECT_NE(ask(url, TlsContext::pinning_client(crypto::describe_certificate(chain).fingerprint, "server")), "");
}

TEST_F(TlsTest, GoesOverAUnixSocketUnderANameThatIsGiven) {
  const Directory directory;
  Endpoint at;
  at.socket_path = directory / "link.sock";
  serving.server.listen(at, TlsContext::server(authority.sign("server.global.nomad")));
  const Url url = parse_url("https+unix://" + at.socket_path);
  EXPECT_EQ(ask(url, TlsContext::client(trusting(), "server.global.nomad")), "");
  EXPECT_THAT(ask(url, TlsContext::client(trusting())), HasSubstr("no name is given"));
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
  EXPECT_THROW(TlsContext::server(TlsFiles{}), Error);
}

}  // namespace
}  // namespace underway::http
