#include "http/endpoint.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::http {
namespace {

TEST(ParseEndpoint, KnowsTcpAndUnix) {
  EXPECT_EQ(parse_endpoint("127.0.0.1:4646"), (Endpoint{.host = "127.0.0.1", .port = 4646}));
  EXPECT_EQ(parse_endpoint("[::1]:4646"), (Endpoint{.host = "::1", .port = 4646}));
  EXPECT_EQ(parse_endpoint("tcp://node-1:0"), (Endpoint{.host = "node-1", .port = 0}));
  EXPECT_EQ(parse_endpoint("unix:/run/x.sock"), (Endpoint{.socket_path = "/run/x.sock"}));
  EXPECT_EQ(parse_endpoint("unix:///run/x.sock"), (Endpoint{.socket_path = "/run/x.sock"}));
}

TEST(ParseEndpoint, RefusesWhatIsMalformed) {
  for (const char* bad :
       {"", "host", ":80", "host:", "host:x", "host:70000", "::1:80", "[::1:80", "a b:80", "unix:relative", "unix:"}) {
    SCOPED_TRACE(bad);
    EXPECT_THROW(parse_endpoint(bad), Error);
  }
  EXPECT_THROW(parse_endpoint("unix:/" + std::string(107, 'x')), Error);
}

TEST(ParseListener, TakesTheUsualPortUnlessTheTextHasOne) {
  for (const auto& [text, host, port] :
       {std::tuple("127.0.0.1", "127.0.0.1", 4646), std::tuple("127.0.0.1:80", "127.0.0.1", 80),
        std::tuple("mgmt:0", "mgmt", 0), std::tuple("::1", "::1", 4646), std::tuple("[::1]", "::1", 4646),
        std::tuple("[fd00::7]:80", "fd00::7", 80)}) {
    const Endpoint expected{.host = host, .port = static_cast<std::uint16_t>(port)};
    EXPECT_EQ(parse_listener(text, 4646), expected) << text;
  }
}

TEST(ParseListener, SaysWhatIsWrong) {
  for (const auto& [text, why] :
       {std::pair("127.0.0.1:99999", "'99999' is no port (0 to 65535)"), std::pair("mgmt:http", "'http' is no port"),
        std::pair("mgmt:", "'' is no port"), std::pair("mgmt:+80", "'+80' is no port"),
        std::pair("10.0.0.1:80:81", "an IPv6 address is written in brackets"), std::pair("[::1", "a ']' is missing"),
        std::pair("[::1]80", "the port is missing"), std::pair("", "the host is missing"),
        std::pair("http://mgmt", "'//mgmt' is no port")}) {
    SCOPED_TRACE(text);
    try {
      parse_listener(text, 4646);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(error.one_line().find(why), std::string::npos) << error.one_line();
    }
  }
}

TEST(ParseUrl, KnowsItsSchemes) {
  EXPECT_EQ(parse_url("http://127.0.0.1:4646"), (Url{.endpoint = {.host = "127.0.0.1", .port = 4646}}));
  EXPECT_EQ(parse_url("https://host/prefix/"),
            (Url{.endpoint = {.host = "host", .port = 443}, .tls = true, .path = "/prefix"}));
  EXPECT_EQ(parse_url("host:4646"), (Url{.endpoint = {.host = "host", .port = 4646}}));
  EXPECT_EQ(parse_url("unix:///run/x.sock"), (Url{.endpoint = {.socket_path = "/run/x.sock"}}));
  for (const char* bad : {"ftp://host", "http://", "http://host/?q", "http://u@h", "https://host:99999"}) {
    SCOPED_TRACE(bad);
    EXPECT_THROW(parse_url(bad), Error);
  }
}

TEST(ToString, IsWhatParseReads) {
  for (const char* text :
       {"http://127.0.0.1:4646", "https://[::1]:1/x", "unix:///run/x.sock", "https+unix:///run/x.sock"}) {
    EXPECT_EQ(to_string(parse_url(text)), text);
  }
  for (const char* text : {"127.0.0.1:4646", "[::1]:1", "unix:/run/x.sock"})
    EXPECT_EQ(to_string(parse_endpoint(text)), text);
}

}  // namespace
}  // namespace underway::http
