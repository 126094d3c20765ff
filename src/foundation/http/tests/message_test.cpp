#include "http/message.hpp"

#include <gtest/gtest.h>

#include "http/detail/gzip.hpp"
#include "http/detail/wire.hpp"

namespace underway::http {
namespace {

TEST(Headers, CompareNamesWithoutCase) {
  Headers headers{{"Content-Type", "text/plain"}};
  EXPECT_EQ(headers.find("content-TYPE"), "text/plain");
  headers.set("CONTENT-TYPE", "x");
  EXPECT_EQ(headers.fields().size(), 1u);
  EXPECT_FALSE(headers.find("Content").has_value());
}

TEST(Headers, KeepLineBreaksOut) {
  Headers headers;
  headers.add("X-Name", "a\r\nSet-Cookie: b");
  EXPECT_EQ(headers.find("X-Name"), "a  Set-Cookie: b");
}

TEST(Headers, FindTokensInLists) {
  const Headers headers{
      {"Accept-Encoding", "br;q=1.0, gzip;q=0.5"}, {"Connection", "keep-alive, Upgrade"}, {"X", "gzip;q=0"}};
  EXPECT_TRUE(headers.has_token("Accept-Encoding", "gzip"));
  EXPECT_TRUE(headers.has_token("connection", "upgrade"));
  EXPECT_FALSE(headers.has_token("Accept-Encoding", "zip"));
  EXPECT_FALSE(headers.has_token("X", "gzip"));
}

TEST(Query, DecodesItsParts) {
  const Query query = Query::parse("a=1&b=x%20y+z&&c&a=2&d=%C3%A9&e=a=b");
  EXPECT_EQ(query.find("a"), "1");
  EXPECT_EQ(query.all("a"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(query.find("b"), "x y z");
  EXPECT_EQ(query.find("c"), "");
  EXPECT_EQ(query.find("d"), "é");
  EXPECT_EQ(query.find("e"), "a=b");
  EXPECT_FALSE(query.find("f"));
}

TEST(Query, ReadsFlagsAsNomadDoes) {
  const Query query = Query::parse("a&b=true&c=false&d=0&e=False");
  EXPECT_TRUE(query.flag("a"));
  EXPECT_TRUE(query.flag("b"));
  EXPECT_FALSE(query.flag("c"));
  EXPECT_FALSE(query.flag("d"));
  EXPECT_FALSE(query.flag("e"));
  EXPECT_FALSE(query.flag("absent"));
}

TEST(Query, SurvivesARoundTrip) {
  const Query query{{"name", "a b&c=d/é"}, {"", "x"}, {"empty", ""}};
  EXPECT_EQ(Query::parse(query.encode()).items(), query.items());
}

TEST(Escapes, RefuseWhatIsNoEscape) {
  for (const char* bad : {"%", "%4", "%zz", "a%", "%00"}) {
    SCOPED_TRACE(bad);
    EXPECT_THROW(percent_decode(bad), Error);
    EXPECT_THROW(Query::parse(bad), Error);
  }
  EXPECT_EQ(percent_decode("%41%2f+"), "A/+");
}

TEST(Target, IsSplitAndDecoded) {
  struct Case {
    const char* target;
    const char* path;
    const char* query;
  };
  for (const auto& c : {Case{"/v1/job/a%2Fb?x=1", "/v1/job/a/b", "x=1"}, Case{"/", "/", ""},
                        Case{"http://host:1/p?q=2#f", "/p", "q=2"}, Case{"http://host", "/", ""}, Case{"*", "*", ""}}) {
    SCOPED_TRACE(c.target);
    std::string path;
    Query query;
    detail::parse_target(c.target, path, query);
    EXPECT_EQ(path, c.path);
    EXPECT_EQ(query.encode(), c.query);
  }
  std::string path;
  Query query;
  EXPECT_THROW(detail::parse_target("no-slash", path, query), Error);
  EXPECT_THROW(detail::parse_target("", path, query), Error);
}

TEST(Request, IsBuiltWithAnEncodedQuery) {
  EXPECT_EQ(request("GET", "/v1/jobs", {{"prefix", "a b"}}).target, "/v1/jobs?prefix=a%20b");
  EXPECT_EQ(request("GET", "/v1/jobs?x", {{"y", "1"}}).target, "/v1/jobs?x&y=1");
  EXPECT_THROW(Request{}.param("id"), Error);
}

TEST(Gzip, SurvivesARoundTripAndStopsAtItsLimit) {
  const std::string data(100'000, 'x');
  const std::string packed = detail::gzip(data);
  EXPECT_LT(packed.size(), 1000u);
  EXPECT_EQ(detail::gunzip(packed, data.size()), data);
  EXPECT_THROW(detail::gunzip(packed, 50'000), Error);
  EXPECT_THROW(detail::gunzip("no gzip at all", 100), Error);
  EXPECT_THROW(detail::gunzip(packed.substr(0, packed.size() / 2), data.size()), Error);
}

TEST(Wire, WritesDatesAndHandshakesAsTheRfcsDo) {
  EXPECT_EQ(detail::http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");                         // RFC 9110, 5.6.7
  EXPECT_EQ(detail::websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // RFC 6455, 1.3
}

TEST(RequestParser, RefusesWhatSmugglersSend) {
  for (const std::string_view bad :
       {"GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "GET / HTTP/1.1\r\nX : y\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\n\n", "G\x01T / HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\n\r\n"}) {
    SCOPED_TRACE(bad);
    detail::RequestParser parser(1000);
    EXPECT_THROW(parser.put(bad), detail::Refused);
  }
}

}  // namespace
}  // namespace underway::http
