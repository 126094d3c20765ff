#include "cli/capsule/follow_capsule.hpp"

#include <fmt/format.h>

#include <thread>

namespace underway::cli {

model::Capsule follow_capsule(sdk::Client& client, const std::string& name,
                              const std::function<bool(const model::Capsule&)>& goes_on) {
  constexpr auto kPatience = std::chrono::minutes(2);
  constexpr auto kPause = std::chrono::milliseconds(500);
  sdk::Indexed<model::Capsule> at;
  for (auto heard = std::chrono::steady_clock::now();;) {
    try {
      at = client.capsule(name, {at.index, std::chrono::seconds(5)});
      heard = std::chrono::steady_clock::now();
    } catch (const Error& error) {
      if (error.code() != Code::unavailable || std::chrono::steady_clock::now() - heard > kPatience) throw;
      at.index = 0;
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (!goes_on(at.value)) return at.value;
  }
}

Error overtaken(const std::string& what, const std::string& name) {
  return Error(Code::conflict, fmt::format("the {} was overtaken by another one", what))
      .advise(fmt::format("see `underway capsule status {}`", name));
}

}  // namespace underway::cli
