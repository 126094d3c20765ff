#pragma once
/// @file
/// Names the application that speaks, from the first bytes that a side says. A guess, shown with its evidence: the
/// division never rests on it alone.

#include <cstdint>
#include <string>
#include <string_view>

namespace underway::traffic {

struct Application {
  std::string_view name;  ///< empty: not recognised
  /// A few printable words: "GET /overlay-file/c1". Never what follows a '?', never a body: secrets travel there.
  std::string hint;
};

/// `port` is the server's; some protocols have nothing else to know them by.
Application recognise(std::string_view payload, bool tcp, bool from_client, std::uint16_t port);

}  // namespace underway::traffic
