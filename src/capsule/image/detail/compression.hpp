#pragma once
/// @file
/// zstd, for the parts of an image behind its file system.

#include <string>
#include <string_view>

namespace underway::image::detail {

/// The same bytes for the same input, with one version of the library.
std::string compress(std::string_view bytes);
/// Throws Error(invalid) unless `packed` is one whole frame of exactly `size` bytes; never takes more memory than that.
std::string decompress(std::string_view packed, std::size_t size, std::string_view what);

}  // namespace underway::image::detail
