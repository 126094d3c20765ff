/// Durable transactions per second of SqliteStore, beside what the disk does of plain 4 KiB flushes.
/// Usage: store_bench [directory on the disk to measure]

#include "store/sqlite_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>

namespace {

using namespace underway;
using Clock = std::chrono::steady_clock;
constexpr auto kTime = std::chrono::seconds(3);
constexpr std::size_t kValue = 1024;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double flushes_per_second(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string block(4096, 'f');
  const auto start = Clock::now();
  int count = 0;
  for (; Clock::now() - start < std::chrono::seconds(1); ++count) {
    if (::pwrite(fd, block.data(), block.size(), 4096L * count) < 0 || ::fdatasync(fd) != 0) break;
  }
  ::close(fd);
  return count / seconds_since(start);
}

/// Closed loops: each writer commits again from its own acknowledgement.
class Writers {
 public:
  Writers(store::Store& store, int puts) : store_(store), puts_(puts) {}

  void run(int writers) {
    running_ = writers;
    start_ = Clock::now();
    for (int i = 0; i < writers; ++i) next();
    finished_.get_future().wait();
    elapsed_ = seconds_since(start_);
    std::sort(waits_.begin(), waits_.end());
  }
  double transactions_per_second() const { return static_cast<double>(waits_.size()) / elapsed_; }
  double milliseconds(double quantile) const {
    return waits_.empty() ? 0 : waits_[static_cast<std::size_t>(quantile * static_cast<double>(waits_.size() - 1))];
  }

 private:
  void next() {
    store::Transaction transaction;
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < puts_; ++i)
        transaction.then.push_back(store::Put{fmt::format("a/{:016x}-{:016x}", random_(), random_()), value_});
    }
    store_.commit(std::move(transaction), [this, began = Clock::now()](const store::Store::CommitResult& result) {
      if (std::holds_alternative<Error>(result)) std::abort();
      waits_.push_back(seconds_since(began) * 1000);
      if (Clock::now() - start_ < kTime)
        next();
      else if (--running_ == 0)
        finished_.set_value();
    });
  }

  store::Store& store_;
  const int puts_;
  const std::string value_ = std::string(kValue, 'v');
  std::mutex mutex_;
  std::mt19937_64 random_{1};
  std::vector<double> waits_;  ///< of the store's thread
  std::atomic<int> running_{0};
  Clock::time_point start_;
  double elapsed_ = 0;
  std::promise<void> finished_;
};

std::int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::string directory = fs::absolute(fs::path(argc > 1 ? argv[1] : ".") / "store-bench-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  fmt::print("in {}; values of {} bytes under random keys; WAL, synchronous=FULL\n", directory, kValue);
  fmt::print("plain 4 KiB write + fdatasync: {:.0f} / s\n\n", flushes_per_second(directory + "/flush"));
  fmt::print("{:>8} {:>12} {:>16} {:>10} {:>9} {:>9} {:>9} {:>8}\n", "writers", "puts/transact", "transactions/s",
             "puts/s", "p50 ms", "p99 ms", "max ms", "RSS MiB");
  for (const auto& [writers, puts] : {std::pair{1, 1}, {64, 1}, {1024, 1}, {1, 1024}, {4, 1024}}) {
    const std::string path = directory + "/s.db";
    fs::remove(path);
    store::SqliteStore store(path);
    Writers load(store, puts);
    load.run(writers);
    fmt::print("{:>8} {:>12} {:>16.0f} {:>10.0f} {:>9.2f} {:>9.2f} {:>9.1f} {:>8.1f}\n", writers, puts,
               load.transactions_per_second(), load.transactions_per_second() * puts, load.milliseconds(0.5),
               load.milliseconds(0.99), load.milliseconds(1), static_cast<double>(resident_kib()) / 1024);
  }
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}
