#pragma once
/// @file
/// A bounded quantity that many parties share: bytes of unfinished bodies, connections.

#include <cstddef>
#include <map>
#include <string>

namespace underway::http::detail {

/// Nobody gets more than what is then still free for all others together: whoever is alone gets half, the next a
/// quarter, so one party that takes what it can keeps nobody out. Thread: one loop. Outlives its shares.
/// Source: the dynamic thresholds of shared-memory switches, Choudhury and Hahne 1998.
class Budget {
 public:
  explicit Budget(std::size_t total) : total_(total) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  std::size_t held() const { return held_; }
  std::size_t total() const { return total_; }
  /// Whether `party` may have `more` than it has.
  bool fits(const std::string& party, std::size_t more) const;

  /// What one connection holds of it; given back when it ends.
  class Share {
   public:
    Share() = default;
    Share(Budget& of, std::string party) : of_(&of), party_(std::move(party)) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    ~Share() { reset(); }

    /// Holds `amount` from now on; false, and as before, when that is more than the party may have.
    bool hold(std::size_t amount);
    void reset();

   private:
    Budget* of_ = nullptr;  ///< null: holds nothing, and may have anything
    std::string party_;
    std::size_t amount_ = 0;
  };

 private:
  std::size_t total_;
  std::size_t held_ = 0;
  std::map<std::string, std::size_t> parties_;
};

}  // namespace underway::http::detail
