// Exits 0 when a capturing lambda inside a co_await expression is destroyed exactly once (g++ 12.2: twice).
#include <coroutine>
#include <utility>

namespace {
int alive = 0;

struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted(Counted&&) noexcept { ++alive; }
  ~Counted() { --alive; }
};

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

template <class F>
struct Call {
  F f;
  bool await_ready() { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  void await_resume() { f(); }
};

template <class F>
Call<F> call(F f) {
  return {std::move(f)};
}

Task run() {
  Counted counted;
  co_await call([counted] { (void)counted; });
}
}  // namespace

int main() {
  run();
  return alive == 0 ? 0 : 1;
}
