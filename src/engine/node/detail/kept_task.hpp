#pragma once
/// @file
/// A driver's task on the loop, as the runners have it.

#include "async/event.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "driver/driver.hpp"
#include "node/detail/exec_session.hpp"
#include "node/detail/socket_session.hpp"
#include "node/kernel_runtime.hpp"

namespace underway::node {

/// A driver's handle on the loop. One call of it at a time: what may block runs on the pool, and calls that come
/// meanwhile wait their turn. Those of machines go on beside it: nobody who stops one waits for its checkpoint.
class KeptTask final : public RunningTask {
 public:
  KeptTask(std::unique_ptr<driver::TaskHandle> handle, std::string directory, Runtime& runtime,
           std::function<void()> on_leaving, std::function<void()> on_over)
      : handle_(std::move(handle)),
        directory_(std::move(directory)),
        runtime_(runtime),
        on_leaving_(std::move(on_leaving)),
        on_over_(std::move(on_over)) {}

  boost::json::value handle() const override {
    const os::ProcessIdentity process = handle_->status().process;
    return boost::json::object{{"directory", directory_}, {"pid", process.pid}, {"start", process.start_time}};
  }
  std::int64_t started_at() const override { return unix_nanos(handle_->status().started); }
  std::vector<std::string> shortfalls() const override { return shortfalls_; }
  void falls_short(std::vector<std::string> found) { shortfalls_ = std::move(found); }
  std::string kept_in() const override { return kept_in_; }
  void keeps_in(std::string directory) { kept_in_ = std::move(directory); }

  awaitable<TaskEnd> wait() override {
    while (handle_->status().phase == driver::TaskStatus::Phase::running) {
      const int fd = handle_->fd();
      if (fd >= 0)
        co_await readable(fd);
      else
        co_await async::sleep_for(std::chrono::seconds{1});  // no news will come by itself: look, but not in a rush
      co_await exclusive([this] { handle_->poll(); });
    }
    co_return end_of(handle_->status());
  }

  awaitable<void> forget() override {
    try {
      co_await exclusive([this] { handle_->destroy(); });
    } catch (const Error& error) {
      log::warn("node: cannot clear away {}: {}; it is tried again with the allocation's directory", directory_,
                error.one_line());
    }
    on_over_();
    if (!handle_->status().left_running.empty()) on_leaving_();
  }

  void signal(int number) override {
    in_turn([this, number] { handle_->signal(number); });
  }
  void stop(int number, Duration timeout) override {
    in_turn([this, number, timeout] { handle_->stop(number, timeout); });
  }

  void set_cpuset(const std::string& cores) {
    in_turn([this, cores] {
      try {
        handle_->set_cpuset(cores);
      } catch (const Error& error) {
        log::warn("node: cannot move {} to cores {}: {}", directory_, cores, error.one_line());
      }
    });
  }

  TaskUsage usage() override {
    if (busy_) return {};
    const os::CgroupStats stats = handle_->usage();
    TaskUsage out;
    out.memory_bytes = stats.memory_bytes;
    out.memory_peak_bytes = stats.memory_peak_bytes;
    out.memory_anonymous_bytes = stats.memory_anonymous_bytes;
    out.memory_file_bytes = stats.memory_file_bytes;
    out.memory_kernel_bytes = stats.memory_kernel_bytes;
    out.memory_swap_bytes = stats.memory_swap_bytes;
    out.cpu_time = stats.cpu_time;
    out.cpu_user = stats.cpu_user;
    out.cpu_system = stats.cpu_system;
    out.cpu_throttled = stats.cpu_throttled;
    out.cpu_throttled_periods = stats.cpu_throttled_periods;
    out.pids = stats.pids;
    return out;
  }

  awaitable<std::shared_ptr<ExecSession>> exec(std::vector<std::string> command, bool tty, int width,
                                               int height) override {
    driver::ExecRequest request;
    request.argv = std::move(command);
    request.terminal = tty;
    if (width > 0) request.columns = static_cast<unsigned short>(width);
    if (height > 0) request.rows = static_cast<unsigned short>(height);
    std::optional<driver::ExecSession> session;
    co_await exclusive([&] { session.emplace(handle_->exec(request)); });
    co_return std::make_shared<detail::ChildSession>(runtime_.executor(), std::move(session->child),
                                                     std::move(session->in), std::move(session->out),
                                                     std::move(session->err), std::move(session->terminal));
  }

  awaitable<std::shared_ptr<ExecSession>> console() override {
    if (!console_.expired())
      throw Error(Code::conflict, "somebody else is on the console")
          .because("a serial line has room for one")
          .advise("what the guest says is in the task's log: `underway alloc logs -f`");
    auto turn = std::make_shared<int>(0);
    console_ = turn;
    os::Fd line;
    const auto job = [this, &line] { line = handle_->console(); };
    co_await blocking(runtime_, job);
    co_return std::make_shared<detail::SocketSession>(runtime_.executor(), std::move(line), std::move(turn));
  }

  awaitable<void> pause() override {
    const auto job = [this] { handle_->pause(); };
    co_await blocking(runtime_, job);
  }
  awaitable<void> resume() override {
    const auto job = [this] { handle_->resume(); };
    co_await blocking(runtime_, job);
  }
  awaitable<void> suspend() override {
    const auto job = [this] { handle_->suspend(); };
    co_await blocking(runtime_, job);
  }
  awaitable<protocol::TaskCheckpoint> checkpoint() override {
    driver::Checkpoint made;
    const auto job = [this, &made] { made = handle_->checkpoint(); };
    co_await blocking(runtime_, job);
    co_return protocol::TaskCheckpoint{{}, made.id, made.bytes, made.at};
  }

  // node/move/kept_task.cpp
  awaitable<protocol::LiveMachine> live() override;
  awaitable<Doors> departures() override;
  awaitable<protocol::Departure> depart() override;
  awaitable<void> stay() override;
  awaitable<void> leave() override;
  awaitable<os::Fd> entrance(bool disk) override;
  awaitable<void> await_memory() override;
  awaitable<void> go_on() override;

 private:
  static TaskEnd end_of(const driver::TaskStatus& status) {
    TaskEnd end;
    end.exit_code = status.exit.code;
    end.signal = status.exit.signal;
    end.oom_killed = status.oom_killed;
    end.lost = status.phase == driver::TaskStatus::Phase::lost;
    end.finished = status.finished;
    end.left_running = status.left_running;
    if (status.log_bytes_lost > 0)
      end.message = fmt::format("{} bytes of its log were lost to a full disk", status.log_bytes_lost);
    return end;
  }

  awaitable<void> exclusive(std::function<void()> call) {
    while (busy_) co_await turn_.wait();
    busy_ = true;
    std::exception_ptr failure;
    try {
      co_await blocking(runtime_, std::move(call));
    } catch (...) {
      failure = std::current_exception();
    }
    busy_ = false;
    for (auto& waiting : std::exchange(waiting_, {})) waiting();
    turn_.notify_all();
    if (failure) std::rethrow_exception(failure);
  }
  void in_turn(std::function<void()> call) {
    if (busy_)
      waiting_.push_back(std::move(call));
    else
      call();
  }

  std::unique_ptr<driver::TaskHandle> handle_;
  std::string directory_;
  std::vector<std::string> shortfalls_;
  std::string kept_in_;
  std::weak_ptr<void> console_;  ///< held by the session that is on it
  Runtime& runtime_;
  std::function<void()> on_leaving_;
  std::function<void()> on_over_;
  bool busy_ = false;
  std::vector<std::function<void()>> waiting_;
  async::Event turn_;
};

}  // namespace underway::node
