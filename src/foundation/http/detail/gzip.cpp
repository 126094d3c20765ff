#include "http/detail/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include "base/error.hpp"

namespace underway::http::detail {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib.h: 15 bits of window, +16 selects the gzip wrapper

Bytef* input(std::string_view data) { return reinterpret_cast<Bytef*>(const_cast<char*>(data.data())); }

}  // namespace

std::string gzip(std::string_view data) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error(Code::exhausted, "cannot start a compressor");
  }
  std::string out(::deflateBound(&stream, data.size()) + 18, '\0');
  stream.next_in = input(data);
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (result != Z_STREAM_END) throw Error(Code::internal, "compression did not finish");
  return out;
}

std::string gunzip(std::string_view data, std::size_t limit) {
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipWindow) != Z_OK) throw Error(Code::exhausted, "cannot start a decompressor");
  stream.next_in = input(data);
  stream.avail_in = static_cast<uInt>(data.size());
  std::string out;
  std::array<char, 32 * 1024> piece{};
  int result = Z_OK;
  while (result == Z_OK && out.size() <= limit) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = ::inflate(&stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (out.size() > limit) {
    throw Error(Code::too_large, "compressed data is too large")
        .because(fmt::format("it unpacks to more than {} bytes", limit));
  }
  if (result != Z_STREAM_END) throw Error(Code::invalid, "invalid gzip data");
  return out;
}

}  // namespace underway::http::detail
