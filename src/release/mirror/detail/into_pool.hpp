#pragma once
/// @file
/// A file of upstream's on its way into the pool.

#include <optional>

#include "pool/pool.hpp"
#include "transfer/transfer.hpp"

namespace underway::mirror::detail {

/// The part in the pool is opened when the first byte is asked for, and closed with the last: of many that are wanted
/// few are on their way.
class IntoPool : public transfer::Receiver {
 public:
  IntoPool(const pool::Pool& pool, const pool::Wanted& wanted) : pool_(&pool), wanted_(wanted) {}

  std::uint64_t received() override { return part().received(); }
  void take(std::string_view bytes) override { part().append(part().received(), bytes); }
  void restart() override { part().restart(); }
  void finish() override {
    part().finish();
    part_.reset();
  }

 private:
  pool::Incoming& part() {
    if (!part_) part_.emplace(pool_->receive(wanted_));
    return *part_;
  }

  const pool::Pool* pool_;
  pool::Wanted wanted_;
  std::optional<pool::Incoming> part_;
};

}  // namespace underway::mirror::detail
