#pragma once
/// @file
/// What a source needs of the outside: its server, tokens, time. Tests play it.

#include "async/event.hpp"
#include "http/client.hpp"
#include "sources/settings.hpp"

#include <functional>

namespace underway::sources {

using async::awaitable;

/// Asks the cluster's server for the identity that a task shows to Vault.
using SignIdentity = std::function<awaitable<std::string>(Asker asker)>;

class Environment {
 public:
  virtual ~Environment() = default;
  /// Throws as http::Client.
  virtual awaitable<http::Response> send(http::Request request, Duration timeout) = 0;
  /// Empty: there is none. Throws denied when others could read its file.
  virtual awaitable<std::string> site_token() = 0;
  virtual awaitable<std::string> identity(Asker asker) = 0;
  /// Runs `job`, whose length an answer decides, beside the loop. What it refers to must outlive the wait.
  virtual awaitable<void> apart(std::function<void()> job) = 0;
  virtual TimePoint now() const = 0;
  /// In [0, 1).
  virtual double random() = 0;
  /// False: `span` has passed without news.
  virtual awaitable<bool> wait(async::Event& news, Duration span) = 0;
};

/// The real one. Throws invalid when a file of TLS cannot be used. `pool` must outlive it.
std::unique_ptr<Environment> make_environment(async::Executor executor, async::Pool& pool, const Clock& clock,
                                              Access access, SignIdentity identity);

/// The token in the file, without blanks around it. Errors: denied unless the file is a plain one that only its owner,
/// root or ourselves, may read; not_found; invalid. Blocks: yes (disk).
std::string read_token_file(const std::string& path);

}  // namespace underway::sources
