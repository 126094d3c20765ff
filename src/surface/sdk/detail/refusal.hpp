#pragma once

#include "http/message.hpp"

namespace underway::sdk::detail {

/// Throws what the server says, when it does not do what it was asked for.
void throw_refusal(const http::Response& response);

}  // namespace underway::sdk::detail
