#include "image/detail/compression.hpp"

#include <zstd.h>

#include "base/error.hpp"

namespace underway::image::detail {

std::string compress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  constexpr int kLevel = 9;
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw Error(Code::internal, "cannot compress").because(ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

std::string decompress(std::string_view packed, std::size_t size, std::string_view what) {
  // Asked first, so that a small file cannot make us allocate what it never fills.
  const auto promised = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (promised != size)
    throw Error(Code::invalid, fmt::format("cannot unpack {}", what))
        .because(fmt::format("it is no frame of {} bytes", size));
  std::string out(size, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0)
    throw Error(Code::invalid, fmt::format("cannot unpack {}", what)).because(ZSTD_getErrorName(got));
  if (got != size)
    throw Error(Code::invalid, fmt::format("cannot unpack {}", what))
        .because(fmt::format("it has {} bytes, not {}", got, size));
  return out;
}

}  // namespace underway::image::detail
