#include "cli/interrupt.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

namespace underway::cli {
namespace {

std::atomic<const std::string*> current = nullptr;

/// Only what signal-safety(7) allows: write(2), signal(2), raise(3).
void on_interrupt(int) {
  if (const std::string* message = current.load(); message != nullptr) {
    [[maybe_unused]] const auto written = ::write(2, message->data(), message->size());
  }
  ::signal(SIGINT, SIG_DFL);
  ::raise(SIGINT);
}

}  // namespace

OnInterrupt::OnInterrupt(std::string message)
    : message_("\n" + std::move(message) + "\n"), before_(current.exchange(&message_)) {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

OnInterrupt::~OnInterrupt() {
  current = before_;
  if (before_ == nullptr) ::signal(SIGINT, SIG_DFL);
}

}  // namespace underway::cli
