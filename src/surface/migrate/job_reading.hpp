#pragma once
/// @file
/// A job of another control plane as one of ours: what its author wrote of it, without what that control plane added.

#include "migrate/inventory.hpp"

namespace underway::migrate {

struct JobReading {
  std::optional<model::Job> job;      ///< canonicalized, not stopped; absent when it is refused
  std::vector<std::string> refusals;  ///< all reasons why it cannot be a job here
  std::vector<std::string> notes;     ///< what is different here, and what is left out
};

/// `object` is a job. Constraints that Nomad derives from a job (on Consul's version, on signals, …) are dropped unless
/// its file has them: Underway derives its own.
JobReading read_job(const Object& object);

struct ReadJob {
  const Object* from = nullptr;  ///< in the inventory
  JobReading reading;
};
/// All jobs of the inventory, those first that others depend on; else in its order.
std::vector<ReadJob> read_jobs(const Inventory& inventory);

/// Whether both are the same job for who writes job files: status, versions and indexes aside.
bool same_job(const model::Job& a, const model::Job& b);

}  // namespace underway::migrate
