#include "api/access/limiter.hpp"

#include <algorithm>

namespace underway::api {

double Limiter::capacity() const {
  return static_cast<double>(limits_.burst > 0 ? limits_.burst : limits_.requests_per_second);
}

void Limiter::fill(Bucket& bucket, TimePoint now) const {
  const double seconds = std::chrono::duration<double>(std::max(now - bucket.filled, Duration{0})).count();
  bucket.tokens = std::min(capacity(), bucket.tokens + seconds * static_cast<double>(limits_.requests_per_second));
  bucket.filled = now;
}

/// Those whose bucket is full again are like those who never came.
void Limiter::forget_quiet(TimePoint now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    fill(*entry.second, now);
    return entry.second->running == 0 && entry.second->tokens >= capacity();
  });
  // All of them busy: the map is bounded nevertheless. Who is under way keeps its count by its slot.
  while (buckets_.size() >= kMostCallers) buckets_.erase(buckets_.begin());
}

Limiter::Admission Limiter::admit(const std::string& caller) {
  Admission out;
  if (limits_.requests_per_second <= 0 && limits_.concurrent <= 0) return out;
  const TimePoint now = clock_.now();
  if (buckets_.size() >= kMostCallers && !buckets_.contains(caller)) forget_quiet(now);
  auto& bucket = buckets_[caller];
  if (!bucket) bucket = std::make_shared<Bucket>(Bucket{capacity(), now, 0});
  if (limits_.concurrent > 0 && bucket->running >= limits_.concurrent) {
    out.refused = true;
    return out;
  }
  if (limits_.requests_per_second > 0) {
    fill(*bucket, now);
    if (bucket->tokens < 1) {
      out.refused = true;
      out.retry_after = std::chrono::duration_cast<Duration>(
          std::chrono::duration<double>((1 - bucket->tokens) / static_cast<double>(limits_.requests_per_second)));
      return out;
    }
    bucket->tokens -= 1;
  }
  ++bucket->running;
  out.slot = std::shared_ptr<void>(bucket.get(), [bucket](void*) { --bucket->running; });
  return out;
}

}  // namespace underway::api
