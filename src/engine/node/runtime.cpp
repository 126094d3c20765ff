#include "node/runtime.hpp"

namespace underway::node {

awaitable<void> blocking(Runtime& runtime, std::function<void()> job) {
  // The operation knows no cancellation: a cancelled waiter still waits, for the job refers to its locals.
  std::exception_ptr failure;
  auto initiate = [&runtime, &job, &failure](auto handler) {
    auto home = asio::get_associated_executor(handler);
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    runtime.on_pool(std::move(job), [&failure, home, shared](std::exception_ptr thrown) {
      failure = std::move(thrown);
      asio::post(home, std::move(*shared));
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace underway::node
