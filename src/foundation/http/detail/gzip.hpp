#pragma once
/// @file
/// gzip (RFC 1952) over zlib.

#include <string>
#include <string_view>

namespace underway::http::detail {

std::string gzip(std::string_view data);
/// Throws Error(invalid) when `data` is no gzip, Error(too_large) beyond `limit` bytes.
std::string gunzip(std::string_view data, std::size_t limit);

}  // namespace underway::http::detail
