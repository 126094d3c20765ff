#include <sys/mount.h>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "run/detail/capsule_task.hpp"
#include "run/network.hpp"

namespace underway::run::detail {
namespace {

class CapsuleTask final : public driver::TaskHandle {
 public:
  CapsuleTask(std::unique_ptr<driver::TaskHandle> task, Surroundings around)
      : task_(std::move(task)), around_(std::move(around)) {
    fall_silent();
  }

  int fd() const override { return task_->fd(); }
  bool poll() override {
    const bool news = task_->poll();
    fall_silent();
    return news;
  }
  const driver::TaskStatus& status() const override { return task_->status(); }
  bool wait(Duration within) override {
    const bool ended = task_->wait(within);
    fall_silent();
    return ended;
  }
  void signal(int number) override { task_->signal(number); }
  void stop(int number, Duration grace) override { task_->stop(number, grace); }
  os::CgroupStats usage() const override { return task_->usage(); }
  void set_cpuset(const std::string& cores) override { task_->set_cpuset(cores); }
  driver::ExecSession exec(const driver::ExecRequest& request) override { return task_->exec(request); }
  void destroy() override {
    clear_away(around_);
    task_->destroy();
  }

 private:
  /// Before anybody hears that it has ended, and starts it elsewhere: its namespace lives on for a moment, and would
  /// answer for its addresses. Taking the links away takes the kernel some 20 ms; that can wait until destroy().
  void fall_silent() {
    if (silent_ || status().phase == driver::TaskStatus::Phase::running) return;
    silent_ = true;
    if (around_.ledger != nullptr) silence(*around_.ledger, around_.owner);
  }

  std::unique_ptr<driver::TaskHandle> task_;
  Surroundings around_;
  bool silent_ = false;
};

}  // namespace

void clear_away(const Surroundings& around) {
  if (around.ledger != nullptr) {
    // Links, the image's mount of a start that was cut short, the overlay's file system.
    auto failures = around.ledger->undo([&](const os::LedgerItem& item) { return item.owner == around.owner; });
    if (!failures.empty()) throw std::move(failures.front());
  }
  if (!around.run) return;
  auto run = *around.run;
  const auto current = find_run(around.capsules, run.ns, run.name);
  if (!current || current->keeper_dir != run.keeper_dir || current->ended != 0) return;
  run.ended = unix_nanos(around.clock->now());
  write_run(around.capsules, run);
}

std::unique_ptr<driver::TaskHandle> make_task(std::unique_ptr<driver::TaskHandle> task, Surroundings around) {
  return std::make_unique<CapsuleTask>(std::move(task), std::move(around));
}

}  // namespace underway::run::detail
