#pragma once
/// @file
/// Where work runs whose cost a client chooses: parsing, planning, searching. A few threads beside the loop, each piece
/// of work with an Allowance, and fair between clients: one has one piece under way, and the turns go round.

#include <deque>
#include <list>
#include <map>

#include "async/event.hpp"
#include "base/allowance.hpp"

namespace underway::async {

struct WorkerLimits {
  std::size_t threads = 2;
  Duration cpu = std::chrono::seconds(3);  ///< that one piece may compute
  std::uint64_t bytes = 512ull << 20;      ///< that one piece may make, by its own count (Allowance::make)
  std::size_t waiting_of_one = 32;         ///< pieces of one client that wait for their turn
  std::size_t waiting = 512;               ///< of all together
};

/// Thread: one loop.
class Workers {
 public:
  explicit Workers(WorkerLimits limits = {}) : limits_(limits), pool_(limits.threads) {}
  /// Ends what computes, and waits until it has.
  ~Workers() { end(); }

  /// `job()` on a worker, when it is the client's turn. `what` begins the refusal: "parsing the job". Throws what it
  /// throws; too_large when it took too long or too much memory; unavailable when too much waits already. `job` is a
  /// named object, as for on_pool.
  template <class Job>
  awaitable<std::invoke_result_t<Job&>> run(std::string client, std::string what, Job& job);
  template <class Job>
  void run(std::string client, std::string what, const Job&& job) = delete;

  /// From now on what computes is given up at its next look at the clock: the process shall end.
  void end() { ended_ = true; }
  std::size_t waiting() const { return waiting_; }

 private:
  /// One piece's place in the queue, and then at a worker.
  class Turn {
   public:
    Turn(Workers& workers, std::string client);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    awaitable<void> wait();

   private:
    friend class Workers;
    Workers& workers_;
    std::string client_;
    Event granted_event_;
    bool granted_ = false;
  };
  struct Client {
    std::deque<Turn*> waiting;
    bool working = false;
  };

  void grant();
  /// Gives memory back that much was made in, once it is free; allocators keep it otherwise.
  static void tidy(const Allowance& spent);

  WorkerLimits limits_;
  std::map<std::string, Client> clients_;  ///< those that wait or work
  std::list<std::string> turns_;           ///< those that wait, in order
  std::size_t waiting_ = 0;
  std::size_t working_ = 0;
  std::atomic<bool> ended_ = false;
  Pool pool_;
};

template <class Job>
awaitable<std::invoke_result_t<Job&>> Workers::run(std::string client, std::string what, Job& job) {
  Turn turn(*this, std::move(client));
  co_await turn.wait();
  auto bounded = [this, &job, &what]() -> std::invoke_result_t<Job&> {
    const Allowance allowance(std::move(what), limits_.cpu, limits_.bytes, &ended_);
    struct Tidy {
      const Allowance& spent;
      ~Tidy() { tidy(spent); }
    } const after{allowance};
    return job();
  };
  co_return co_await on_pool(pool_, bounded);
}

}  // namespace underway::async
