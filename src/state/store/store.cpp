#include "store/store.hpp"

#include <future>

namespace underway::store {

namespace {
constexpr char kToTheLast[] = "\0";
}

KeyRange KeyRange::prefix(std::string prefix) {
  std::string end = prefix;
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty())
    end.assign(kToTheLast, 1);
  else
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {std::move(prefix), std::move(end)};
}

bool KeyRange::contains(std::string_view key) const {
  if (end.empty()) return key == begin;
  return key >= begin && (end == std::string_view(kToTheLast, 1) || key < end);
}

Outcome Store::commit_and_wait(Transaction transaction) {
  std::promise<CommitResult> promise;
  auto result = promise.get_future();
  commit(std::move(transaction), [&promise](CommitResult r) { promise.set_value(std::move(r)); });
  CommitResult outcome = result.get();
  if (auto* error = std::get_if<Error>(&outcome)) throw std::move(*error);
  return std::get<Outcome>(outcome);
}

}  // namespace underway::store
