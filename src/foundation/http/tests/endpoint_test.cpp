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
