#include "http/resolve.hpp"

#include "async/event.hpp"

namespace underway::http {
namespace {

using asio::ip::tcp;

/// Belongs to who waits and to the handler: the one may be gone before the other is called.
struct Lookup {
  explicit Lookup(const async::Executor& executor) : resolver(executor) {}
  tcp::resolver resolver;
  async::Event ended;
  std::optional<boost::system::error_code> outcome;
  std::vector<tcp::endpoint> found;
};

/// One that waits for its turn on the thread, and that nobody waits for any more, is not begun.
class Waiting {
 public:
  explicit Waiting(Lookup& lookup) : lookup_(lookup) {}
  ~Waiting() { lookup_.resolver.cancel(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Lookup& lookup_;
};

}  // namespace

awaitable<std::vector<tcp::endpoint>> resolve(std::string host, std::uint16_t port) {
  boost::system::error_code is_name;
  const auto address = asio::ip::make_address(host, is_name);
  if (!is_name) co_return std::vector{tcp::endpoint(address, port)};
  const auto lookup = std::make_shared<Lookup>(co_await asio::this_coro::executor);
  const auto take = [lookup](boost::system::error_code failed, const tcp::resolver::results_type& results) {
    lookup->outcome = failed;
    for (const auto& result : results) lookup->found.push_back(result.endpoint());
    lookup->ended.notify_all();
  };
  lookup->resolver.async_resolve(host, std::to_string(port), take);
  const Waiting waiting(*lookup);
  while (!lookup->outcome) co_await lookup->ended.wait();
  if (*lookup->outcome)
    throw Error(Code::unavailable, fmt::format("cannot find host '{}'", host)).because(lookup->outcome->message());
  co_return std::move(lookup->found);
}

}  // namespace underway::http
