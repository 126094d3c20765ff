#pragma once
/// @file
/// A genuine Nomad beside ours, where its program is at hand.

#include <memory>
#include <string>

#include "harness/command.hpp"

namespace underway::strangers {

class Genuine {
 public:
  /// Starts the program that UNDERWAY_REAL_NOMAD names; null when it names none.
  static std::unique_ptr<Genuine> find();

  const std::string& address() const { return address_; }  ///< "127.0.0.1:port"
  const std::string& token() const { return token_; }      ///< of its bootstrap: it may do everything
  const std::string& program() const { return program_; }
  const std::string& version() const { return version_; }

 private:
  explicit Genuine(std::string program);

  std::string program_, version_, address_, token_;
  harness::TemporaryDirectory directory_;
  std::unique_ptr<harness::Background> agent_;
};

}  // namespace underway::strangers
