#pragma once
/// @file
/// A cluster with a capsule that counts: on one of the hosts sms1 and sms2, asked by c1 and c2. It finds out itself
/// whether two of it live (counting_service.cpp).

#include "harness/capsule/capsule.hpp"
#include "harness/capsule/prober.hpp"

namespace underway::harness {

class CountingCapsule : public Capsule {
 public:
  /// stateless: it counts in memory that goes with it, and has neither steps nor versions; it cannot be held.
  /// saving: it counts in a file that it replaces; synced: the same with `sync` in its block `protect`.
  enum class Kind { stateful, stateless, saving, synced };
  /// Brings everything up and waits until it answers. `config`: blocks that its task's config has besides. Throws what
  /// does not work.
  explicit CountingCapsule(Kind kind = Kind::stateful, const std::string& config = {});

  /// Makes the image counter:VERSION known; it runs counter:1. Versions are numbers: what a greater one has started
  /// from, a smaller one does not.
  void push(const std::string& version) const;
  /// The version that started last, of its data; empty: it does not run.
  std::string schema() const { return inside("cat /srv/schema").out; }

  /// Its check fails until let_go("fail").
  void fail_check() const { hold("fail"); }
  /// What two that lived at once said.
  std::string doubled() const;

  /// A client on `host` that connects so often.
  Prober client(const std::string& host, std::chrono::milliseconds every) const;

  /// Pids on a host, as the machine numbers them.
  std::vector<int> services(const std::string& host) const { return on_host(host, "counting_service"); }

 private:
  void declare() const;
  void build() const;
  bool counts_in_place() const { return kind_ == Kind::stateful; }

  Kind kind_;
  TemporaryDirectory files_;
};

}  // namespace underway::harness
