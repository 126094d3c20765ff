#include "http/detail/budget.hpp"

#include <utility>

namespace underway::http::detail {

bool Budget::fits(const std::string& party, std::size_t more) const {
  const auto known = parties_.find(party);
  const std::size_t own = known == parties_.end() ? 0 : known->second;
  const std::size_t free = total_ - held_;
  return more <= free && own + more <= free - more + 1;  // one that is left over goes to who asks first
}

Budget::Share::Share(Share&& other) noexcept
    : of_(std::exchange(other.of_, nullptr)),
      party_(std::move(other.party_)),
      amount_(std::exchange(other.amount_, 0)) {}

Budget::Share& Budget::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  reset();
  of_ = std::exchange(other.of_, nullptr);
  party_ = std::move(other.party_);
  amount_ = std::exchange(other.amount_, 0);
  return *this;
}

bool Budget::Share::hold(std::size_t amount) {
  if (of_ == nullptr || amount <= amount_) return true;
  const std::size_t more = amount - amount_;
  if (!of_->fits(party_, more)) return false;
  of_->parties_[party_] += more;
  of_->held_ += more;
  amount_ = amount;
  return true;
}

void Budget::Share::reset() {
  if (of_ == nullptr || amount_ == 0) return;
  const auto own = of_->parties_.find(party_);
  own->second -= amount_;
  if (own->second == 0) of_->parties_.erase(own);
  of_->held_ -= amount_;
  amount_ = 0;
}

}  // namespace underway::http::detail
