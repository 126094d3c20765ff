#pragma once
/// @file
/// A quota: how much the allocations of the namespaces that name it may ask for together, and how much may be stored
/// for them. Names and the wire are those of Nomad's API (documentation "Quota HTTP API" and "Resource quota
/// specification").

#include "model/job/job.hpp"

namespace underway::model {

struct QuotaDevice {
  std::string name;  ///< type, vendor/type or vendor/type/model
  std::int64_t count = 0;
};

struct QuotaStorage {
  std::int64_t variables_mb = 0;     ///< MiB
  std::int64_t host_volumes_mb = 0;  ///< MiB
};

/// In each: 0 bounds nothing, and below 0 nothing at all may be had.
struct QuotaResources {
  std::int64_t cpu = 0;  ///< MHz that tasks share
  std::int64_t cores = 0;
  std::int64_t memory_mb = 0;      ///< MiB
  std::int64_t memory_max_mb = 0;  ///< MiB; a task without memory_max counts with its memory
  std::vector<QuotaDevice> devices;
  QuotaStorage storage;
};

struct QuotaLimit {
  std::string region = "global";
  QuotaResources region_limit;
  std::int64_t variables_limit = 0;  ///< old spelling of storage.variables; folded into it by canonicalize()
  std::string hash;                  ///< of region and limit, in base64; the server's to set
};

struct Quota {
  std::string name;  ///< letters, digits, - and _, up to 128
  std::string description;
  std::vector<QuotaLimit> limits;
  Revision create_index = 0;
  Revision modify_index = 0;

  /// Of the region, or null when nothing is bounded there.
  const QuotaLimit* limit_of(std::string_view region) const;
};

/// What the namespaces of a quota have now, in the form of its limits.
struct QuotaUsage {
  std::string name;
  std::map<std::string, QuotaLimit> used;  ///< by the limit's hash
  Revision create_index = 0;
  Revision modify_index = 0;
};

void canonicalize(Quota& quota);
/// All problems of the quota itself, in words.
std::vector<std::string> problems(const Quota& quota);

const describe::Structure& description(describe::Tag<QuotaDevice>);
const describe::Structure& description(describe::Tag<QuotaStorage>);
const describe::Structure& description(describe::Tag<QuotaResources>);
const describe::Structure& description(describe::Tag<QuotaLimit>);
const describe::Structure& description(describe::Tag<Quota>);
const describe::Structure& description(describe::Tag<QuotaUsage>);

}  // namespace underway::model
