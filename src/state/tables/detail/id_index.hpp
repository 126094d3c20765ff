#pragma once
/// @file
/// Rows by id: found like in a hash table, walked in order of id. Made for UUIDs, whose leading hexadecimal digits are
/// as good as a hash that keeps the order; other ids are correct, and slower when there are very many.

#include "tables/tables.hpp"

#include <algorithm>

namespace underway::tables::detail {

template <class T>
class IdIndex {
 public:
  Row<T> find(std::string_view id) const {
    const Bucket& bucket = buckets_[place(number(id, 0))];
    const auto it = position(bucket, id);
    return it != bucket.end() && (*it)->id == id ? *it : nullptr;
  }

  /// In place of the row with that id, if there is one.
  void put(Row<T> row) {
    if (size_ >= (kPerBucket << bits_) && bits_ < kMostBits) grow();
    Bucket& bucket = buckets_[place(number(row->id, 0))];
    const auto it = position(bucket, row->id);
    if (it != bucket.end() && (*it)->id == row->id) {
      *it = std::move(row);
      return;
    }
    bucket.insert(it, std::move(row));
    ++size_;
  }

  void erase(std::string_view id) {
    Bucket& bucket = buckets_[place(number(id, 0))];
    const auto it = position(bucket, id);
    if (it == bucket.end() || (*it)->id != id) return;
    bucket.erase(it);
    --size_;
  }

  /// Calls visit(row) for every id that starts with `prefix`, in order.
  template <class Visit>
  void each(std::string_view prefix, Visit visit) const {
    const std::size_t last = place(number(prefix, 0xf));
    for (std::size_t i = place(number(prefix, 0)); i <= last; ++i) {
      for (const auto& row : buckets_[i]) {
        if (row->id.starts_with(prefix)) visit(row);
      }
    }
  }

  std::vector<Row<T>> rows(std::string_view prefix) const {
    std::vector<Row<T>> found;
    if (prefix.empty()) found.reserve(size_);
    each(prefix, [&](const Row<T>& row) { found.push_back(row); });
    return found;
  }

  std::size_t size() const { return size_; }
  void clear() { *this = IdIndex(); }

 private:
  using Bucket = std::vector<Row<T>>;
  static constexpr std::size_t kPerBucket = 12;  // measured: a few cache lines, little slack in the vectors
  static constexpr int kMostBits = 24;
  static constexpr int kDigits = 8;

  /// The first eight digits as a number that grows with the id: what is no digit takes the place of the digits' gap it
  /// sorts into, and the rest with it. `fill` stands for digits that are missing: 0, or 0xf for the end of a prefix.
  static std::uint32_t number(std::string_view id, std::uint32_t fill) {
    std::uint32_t result = 0;
    for (std::size_t i = 0; i < kDigits; ++i) {
      if (i >= id.size()) {
        result = result << 4 | fill;
        continue;
      }
      const auto c = static_cast<unsigned char>(id[i]);
      if (c >= '0' && c <= '9') {
        result = result << 4 | static_cast<std::uint32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        result = result << 4 | static_cast<std::uint32_t>(c - 'a' + 10);
      } else {
        const std::uint32_t ones = 0xffffffffu >> (4 * i);
        result = static_cast<std::uint32_t>(static_cast<std::uint64_t>(result) << (4 * (kDigits - i)));
        if (c < '0') return result;
        if (c < 'a') return result | (ones >> 4) | (9u << (4 * (kDigits - 1 - i)));
        return result | ones;
      }
    }
    return result;
  }
  std::size_t place(std::uint32_t n) const { return static_cast<std::size_t>(std::uint64_t{n} >> (32 - bits_)); }

  template <class B>
  static auto position(B& bucket, std::string_view id) {
    return std::lower_bound(bucket.begin(), bucket.end(), id,
                            [](const Row<T>& row, std::string_view wanted) { return row->id < wanted; });
  }

  void grow() {
    std::vector<Bucket> old(std::size_t{1} << (bits_ + 1));
    old.swap(buckets_);
    ++bits_;
    for (auto& bucket : old) {
      for (auto& row : bucket) {
        Bucket& target = buckets_[place(number(row->id, 0))];
        target.push_back(std::move(row));
      }
      Bucket().swap(bucket);
    }
  }

  std::vector<Bucket> buckets_{1};
  std::size_t size_ = 0;
  int bits_ = 0;
};

}  // namespace underway::tables::detail
