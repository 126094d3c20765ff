#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace underway::crypto {

using namespace std::chrono_literals;

inline const TimePoint kNow{std::chrono::seconds{1'700'000'000}};  // 2023-11-14T22:13:20Z

inline std::string unhex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return out;
}

/// What `action` throws, in one line with its code: "denied: …"; empty when it throws nothing.
inline std::string failure_of(const std::function<void()>& action) {
  try {
    action();
    return {};
  } catch (const Error& error) {
    return fmt::format("{}: {}", to_string(error.code()), error.one_line());
  }
}

}  // namespace underway::crypto
