#pragma once
/// @file
/// gpg-agent, without which gpg 2.2 reaches no secret key. Left to itself gpg starts one that stays for ever; this one
/// is our child, and ends with this object, with the thread that made it, or with the process, however that ends.

#include <string>

#include "os/process/process.hpp"

namespace underway::openpgp::detail {

class Agent {
 public:
  /// Of a home, which nobody else has an agent for now. Errors: invalid when the path of its socket would be too long
  /// (unix(7): 107 bytes); unsupported without gpg-agent. Blocks: yes. Thread: it must outlive this object.
  explicit Agent(const std::string& home);
  ~Agent();
  Agent(const Agent&) = delete;

 private:
  struct Socket {
    std::string path;
    std::string made;  ///< the directory that was made for it, if one was
    os::Fd listening;
  };
  static Socket listen(const std::string& home);

  Socket socket_;
  os::Child child_;
};

}  // namespace underway::openpgp::detail
