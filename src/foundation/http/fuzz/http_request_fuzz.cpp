// Requests as they come from strangers: the parser, then target and query, whose encoding must survive a round trip.
#include <cstdlib>

#include "http/detail/wire.hpp"
#include "http/endpoint.hpp"

using namespace underway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    http::detail::RequestParser parser(8192);
    std::size_t used = parser.put(input);
    if (parser.head_done()) {
      parser.body_limit(65536);
      if (!parser.done()) used += parser.put(input.substr(used));
    }
    if (used > size) std::abort();
    if (parser.done()) {
      parser.head();
      parser.take_body();
    }
  } catch (const http::detail::Refused&) {
  }
  try {
    std::string path;
    http::Query query;
    http::detail::parse_target(input, path, query);
    if (http::Query::parse(query.encode()).encode() != query.encode()) std::abort();
    if (http::percent_decode(http::percent_encode(path)) != path) std::abort();
  } catch (const Error& error) {
    if (error.code() != Code::invalid) std::abort();
  }
  try {
    const http::Url url = http::parse_url(input);
    if (!(http::parse_url(to_string(url)) == url)) std::abort();
  } catch (const Error& error) {
    if (error.code() != Code::invalid) std::abort();
  }
  return 0;
}
