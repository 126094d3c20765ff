#pragma once
/// @file
/// What a task that runs from an image holds beside its process: a directory, the lease on the image, and numbers of
/// users.

#include <memory>
#include <string>

#include "oci/store.hpp"
#include "pod/detail/parts.hpp"
#include "pod/ids.hpp"

namespace underway::pod::detail {

inline constexpr std::string_view kLease = "image lease";

/// Leases and ids that nobody gave back are given back when the ledger is settled.
inline void undo_holdings(os::Ledger* ledger, std::shared_ptr<oci::Store> store) {
  if (ledger == nullptr) return;
  ledger->on_undo(std::string(kLease), [store](const os::LedgerItem& item) { store->release(item.object); });
  ledger->on_undo(std::string(kIds), [](const os::LedgerItem&) {});  // the entry is all there is of them
}

struct Surroundings {
  Surroundings(const TaskSpec& spec, os::Ledger* its_ledger, std::shared_ptr<oci::Store> its_store)
      : owner(fmt::format("pod/{}/{}", spec.alloc_id, spec.task)),
        directory(Place(spec).directory),
        ledger(its_ledger),
        store(std::move(its_store)),
        lease(spec.keeper_dir) {}

  std::string owner, directory;
  os::Ledger* ledger;
  std::shared_ptr<oci::Store> store;
  std::string lease;

  /// Before the lease is taken.
  void record() const {
    if (ledger != nullptr)
      ledger->record({.kind = std::string(kLease), .object = lease, .context = {}, .owner = owner});
  }
  /// Of the run, whose directory is there, until it is cleared away.
  IdMaps take_ids(const UserNamespace& wanted) const {
    if (ledger == nullptr)
      throw Error(Code::unsupported, "no container can have a user namespace of its own")
          .because("nothing here remembers who has which users of the host");
    return pod::take_ids(wanted, *ledger, owner, directory);
  }
  void clear_away() const {
    os::remove_tree(directory);
    store->release(lease);
    if (ledger == nullptr) return;
    auto failures = ledger->undo([&](const os::LedgerItem& item) {
      return item.owner == owner && (item.object == lease || item.object == directory);
    });
    if (!failures.empty()) throw std::move(failures.front());
  }
  /// After a start that failed.
  void clear_away(Error& cause) const {
    try {
      clear_away();
    } catch (const Error& second) {
      cause.because(fmt::format("and what was made of it stays: {}", second.one_line()));
    }
  }
};

}  // namespace underway::pod::detail
