#include "serving.hpp"

namespace underway::http {
namespace {

/// Takes a body piece by piece, unless its sender is not wanted.
awaitable<Response> count_body(Request request, BodyReader& body) {
  if (request.headers.has("Stranger")) throw Error(Code::denied, "strangers may not send");
  std::size_t bytes = 0, longest = 0;
  while (true) {
    const std::string piece = co_await body.read();
    if (piece.empty()) break;
    bytes += piece.size();
    longest = std::max(longest, piece.size());
  }
  co_return text(200, fmt::format("{} bytes, {}", bytes, longest < 1'000'000 ? "in pieces" : "in one"));
}

Router streamed_router() {
  Router router;
  router.add("GET", "/echo/*rest", "echo", echo);
  router.add("PUT", "/stream", "stream", echo, {.body_limit = 5'000'000, .streamed = count_body});
  return router;
}

TEST(StreamedBody, IsHandedOnPieceByPiece) {
  Serving serving(streamed_router());
  auto client = serving.client();
  for (int i = 0; i < 2; ++i) {
    const Response response = serving.run(client.send(request("PUT", "/stream", {}, std::string(4'000'000, 'x'))));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "4000000 bytes, in pieces");
  }
  EXPECT_EQ(serving.run(client.send(request("PUT", "/stream"))).body, "0 bytes, in pieces");
  Raw raw(serving);
  serving.run(
      raw.send("PUT /stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
               "GET /echo/next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const std::string answers = serving.run(raw.read_to_end());
  EXPECT_NE(answers.find("5 bytes, in pieces"), std::string::npos) << answers;
  EXPECT_NE(answers.find("GET /echo/next"), std::string::npos) << answers;
}

TEST(StreamedBody, IsNotTakenFromASenderWhoIsRefused) {
  Serving serving(streamed_router());
  Raw raw(serving);
  serving.run(
      raw.send("PUT /stream HTTP/1.1\r\nHost: x\r\nStranger: 1\r\nExpect: 100-continue\r\n"
               "Content-Length: 4000000\r\n\r\n"));
  const std::string answer = serving.run(raw.read_until("strangers"));
  EXPECT_EQ(answer.find("100 Continue"), std::string::npos);
  EXPECT_NE(answer.find("403"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
}

TEST(StreamedBody, IsBounded) {
  Serving serving(streamed_router());
  Raw declared(serving);
  serving.run(declared.send("PUT /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 5000001\r\n\r\n"));
  EXPECT_NE(serving.run(declared.read_until("413")).find("413"), std::string::npos);
  Raw chunked(serving);
  std::string body = "PUT /stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 6; ++i) body += "f4240\r\n" + std::string(1'000'000, 'x') + "\r\n";
  serving.run(chunked.send(body));
  EXPECT_NE(serving.run(chunked.read_until("413")).find("413"), std::string::npos);
}

TEST(StreamedBody, ThatEndsEarlyEndsNothingElse) {
  Serving serving(streamed_router());
  Raw raw(serving);
  serving.run(raw.send("PUT /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"));
  raw.close();
  auto client = serving.client();
  EXPECT_EQ(serving.run(client.send(request("GET", "/echo/x"))).status, 200) << "the server goes on";
}

}  // namespace
}  // namespace underway::http
