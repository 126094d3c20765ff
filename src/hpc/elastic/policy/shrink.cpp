#include <algorithm>

#include "elastic/detail/round.hpp"

namespace underway::elastic::detail {
namespace {

class Shrinking {
 public:
  explicit Shrinking(Round& round) : round_(round) {}

  void run() {
    for (auto& book : round_.supply->books()) {
      end_drains(book);
      look_at(book);
    }
  }

 private:
  /// What has become empty while it took no new job.
  void end_drains(Book& book) {
    for (const auto* node : book.draining) {
      if (node->jobs.empty() && may_lose_one(book)) take(book, *node, "it is empty at last");
    }
  }

  void look_at(Book& book) {
    const Duration keep = keep_alive_of(round_.policy, *book.type);
    const auto idle = static_cast<std::int64_t>(book.idle.size());
    // Nodes that are made for the queue and for nobody in particular stand empty until the queue is put on them.
    const std::int64_t used = book.empties + book.granted - book.open.empty();
    std::int64_t spare = idle - std::max<std::int64_t>(used, 0);
    const auto warm = round_.tick.warm.find(book.type->name);
    if (warm != round_.tick.warm.end()) spare -= warm->second;
    if (spare <= 0) {
      if (idle > 0) book.kept = fmt::format("{} idle: the queue has work for them", idle);
      return;
    }
    auto order = book.idle;
    std::sort(order.begin(), order.end(), [&](const NodeView* a, const NodeView* b) {
      const bool first = round_.freed.contains(a->name), other = round_.freed.contains(b->name);
      if (first != other) return first;
      if (a->since != b->since) return a->since < b->since;
      // The one that was made last: "c10" before "c9".
      return std::pair(a->name.size(), a->name) > std::pair(b->name.size(), b->name);
    });
    for (const auto* node : order) {
      if (spare == 0 || !may_lose_one(book)) break;
      const TimePoint until = round_.since(node->since) + keep;
      if (round_.freed.contains(node->name)) {
        take(book, *node, fmt::format("Slurm job {} did not get all of its nodes", job_of(node->gang)));
      } else if (until <= round_.now()) {
        take(book, *node,
             fmt::format("idle for {}, kept for {}", human_duration(round_.now() - round_.since(node->since)),
                         human_duration(keep)));
      } else {
        book.kept =
            fmt::format("{} idle: kept for {}, the first until {}", spare, human_duration(keep), format_time(until));
        round_.look_again(until);
        break;  // those that follow have been idle for less
      }
      --spare;
    }
    if (spare > 0 && !may_lose_one(book))
      book.kept = fmt::format("{} idle: there are always {}", spare, book.type->min_nodes);
  }

  static std::string job_of(const std::string& label) { return label.substr(0, label.rfind('/')); }

  bool may_lose_one(const Book& book) const { return book.counted > book.type->min_nodes; }

  void take(Book& book, const NodeView& node, std::string why) {
    --book.counted;
    round_.remove(node, std::move(why));
  }

  Round& round_;
};

}  // namespace

void shrink(Round& round) { Shrinking(round).run(); }

}  // namespace underway::elastic::detail
