// Who may not speak through somebody's browser to a server that asks for no token.
#include "api/access/host_names.hpp"

#include <gtest/gtest.h>

namespace underway::api {
namespace {

http::Request asking(std::string method, std::string host, std::string origin = {}, bool upgrade = false) {
  http::Request request;
  request.method = std::move(method);
  request.remote.address = "127.0.0.1:50000";
  if (!host.empty()) request.headers.set("Host", std::move(host));
  if (!origin.empty()) request.headers.set("Origin", std::move(origin));
  if (upgrade) request.headers.set("Upgrade", "websocket");
  return request;
}

TEST(HostNames, OnlyAddressesAndNamesOfTheServerAreServed) {
  const HostNames names({"mgmt", "Mgmt.cluster.example"});
  for (const char* host : {"localhost:4646", "LOCALHOST", "localhost.:4646", "ui.localhost", "127.0.0.1:4646",
                           "127.9.9.9", "[::1]:4646", "10.0.0.7:4646", "mgmt:4646", "mgmt.cluster.example", ""}) {
    EXPECT_FALSE(names.refusal(asking("GET", host))) << host;
  }
  for (const char* host : {"rebound.attacker.example:4646", "localhost.attacker.example", "127.0.0.1.attacker.example",
                           "mgmt.attacker.example", "notlocalhost"}) {
    const auto refusal = names.refusal(asking("GET", host));
    ASSERT_TRUE(refusal) << host;
    EXPECT_EQ(refusal->status, 403);
    EXPECT_NE(refusal->body.find("mgmt"), std::string::npos) << "it says what to use: " << refusal->body;
  }
}

TEST(HostNames, PagesOfOthersChangeNothing) {
  const HostNames names({});
  const std::string host = "localhost:4646";
  EXPECT_FALSE(names.refusal(asking("PUT", host))) << "a program";
  EXPECT_FALSE(names.refusal(asking("PUT", host, "http://localhost:4646"))) << "its own page";
  EXPECT_FALSE(names.refusal(asking("GET", host, "https://attacker.example"))) << "browsers show it no answer";
  for (const char* origin :
       {"https://attacker.example", "null", "http://localhost:3000", "http://localhost:4646.evil"}) {
    EXPECT_TRUE(names.refusal(asking("PUT", host, origin))) << origin;
    EXPECT_TRUE(names.refusal(asking("DELETE", host, origin))) << origin;
    EXPECT_TRUE(names.refusal(asking("GET", host, origin, true))) << origin << " opens a WebSocket";
  }
}

TEST(HostNames, TheUnixSocketHasNoNames) {
  http::Request request = asking("PUT", "anything", "https://attacker.example");
  request.remote = {.address = "unix", .uid = 1000};
  EXPECT_FALSE(HostNames({}).refusal(request));
}

}  // namespace
}  // namespace underway::api
