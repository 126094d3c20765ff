#include "elastic/explanation.hpp"

#include "base/text.hpp"
#include "model/elastic/money.hpp"

namespace underway::elastic {
namespace {

std::string mib(std::int64_t megabytes) {
  return human_bytes(static_cast<std::uint64_t>(megabytes < 0 ? 0 : megabytes) * 1024 * 1024);
}

std::string counted(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string in(std::int64_t until, std::int64_t now) {
  if (until <= now) return {};
  return fmt::format(", for another {}", human_duration(Duration{until - now}));
}

std::string asked_for(const ShapeExplanation& shape) {
  std::string out = fmt::format("{} on {}", counted(shape.cpus, "processor"), counted(shape.nodes, "node"));
  if (shape.nodes > 1)
    out = fmt::format("{} with {} each", counted(shape.nodes, "node"), counted(shape.cpus, "processor"));
  if (shape.memory_mb > 0) out += fmt::format(", {} of memory", mib(shape.memory_mb));
  if (!shape.features.empty()) out += fmt::format(", features {}", join(shape.features, " and "));
  return out;
}

std::string header(const ShapeExplanation& shape) {
  std::string out = shape.waiting > 0 ? fmt::format("{} of {}", shape.waiting, counted(shape.jobs, "job"))
                                      : counted(shape.jobs, "job");
  out += fmt::format(
      " of partition '{}' ({}; {})", shape.partition, asked_for(shape),
      join(shape.examples, ", ") + (shape.jobs > static_cast<std::int64_t>(shape.examples.size()) ? ", …" : ""));
  return out;
}

void render_class(const ClassExplanation& it, std::vector<std::string>& out) {
  std::string line =
      fmt::format("class '{}': {} of {} nodes up, {} booting", it.name, it.running, it.max_nodes, it.booting);
  if (it.asleep > 0) line += fmt::format(", {} asleep", it.asleep);
  if (it.draining > 0) line += fmt::format(", {} being emptied", it.draining);
  if (it.grown > 0) line += fmt::format("; {} more asked for", it.grown);
  if (it.shrunk > 0) line += fmt::format("; {} taken away", it.shrunk);
  if (!it.kept.empty()) line += fmt::format("; {}", it.kept);
  out.push_back(std::move(line));
}

void render_shape(const ShapeExplanation& shape, std::int64_t now, std::vector<std::string>& out) {
  if (shape.waiting == 0) {
    std::string how;
    if (shape.fit_now > 0) how = fmt::format("{} on nodes that are there", shape.fit_now);
    if (shape.booting > 0) how += fmt::format("{}nodes are made for {}", how.empty() ? "" : ", ", shape.booting);
    out.push_back(fmt::format("{}: {}", header(shape), how));
    return;
  }
  std::vector<std::string> why;
  for (const auto& refusal : shape.refusals) why.push_back(render(refusal, now));
  if (why.empty()) why.push_back("too few have waited for long enough");
  out.push_back(fmt::format("{} wait: {}", header(shape), join(why, "; ")));
}

}  // namespace

std::string render(const Refusal& r, std::int64_t now) {
  std::string who = fmt::format("class '{}'", r.class_name);
  switch (r.obstacle) {
    case Obstacle::partition:
      return fmt::format("{} does not serve partition '{}'", who, r.what);
    case Obstacle::cpus:
      return fmt::format("{} has {}, they need {}", who, counted(r.have, "processor"), r.need);
    case Obstacle::memory:
      return fmt::format("{} has {} of memory, they need {}", who, mib(r.have), mib(r.need));
    case Obstacle::features:
      return fmt::format("{} lacks the feature '{}'", who, r.what);
    case Obstacle::opportunistic:
      return fmt::format("{} is opportunistic, and they lost their node once already", who);
    case Obstacle::max_nodes:
      return fmt::format("{} has {} of {} nodes", who, r.have, r.need);
    case Obstacle::total_nodes:
      return fmt::format("{}: all classes have {} of {} nodes", who, r.have, r.need);
    case Obstacle::quota:
      return fmt::format("{}: the quota of {} {} has {} in use", who, r.need, r.what, r.have);
    case Obstacle::budget:
      return fmt::format("{}: of {} {}, {} are spent or bound", who, model::format_money(r.need), r.what,
                         model::format_money(r.have));
    case Obstacle::backing_off:
      return fmt::format("{} was refused {} in a row and is left alone{}", who, counted(r.have, "time"),
                         in(r.until, now));
    case Obstacle::breaker:
      return fmt::format("{} had {} and is left alone{}", who, counted(r.have, "failed boot"), in(r.until, now));
    case Obstacle::rate:
      return fmt::format("{} may have {} of {} asked for at once, the rest follows", who, r.have,
                         counted(r.need, "node"));
    case Obstacle::gang:
      return fmt::format("{} has room for {} of {} at once", who, r.have, counted(r.need, "node"));
    case Obstacle::gang_waits:
      return fmt::format("{}: job {} did not get all of its {} nodes in {}, and waits{}", who, r.what, r.need,
                         counted(r.have, "attempt"), in(r.until, now));
  }
  return who;
}

std::vector<std::string> render(const Explanation& explanation) {
  std::vector<std::string> out;
  for (const auto& it : explanation.classes) render_class(it, out);
  for (const auto& shape : explanation.shapes) render_shape(shape, explanation.at, out);
  for (const auto& it : explanation.thresholds)
    out.push_back(fmt::format("partition '{}': {} of {} have waited for {}", it.partition, it.jobs,
                              counted(it.of, "job"), counted(it.minutes, "minute")));
  for (const auto& [reason, jobs] : explanation.not_cured)
    out.push_back(fmt::format("{} {} for {}, which more nodes do not cure", counted(jobs, "job"),
                              jobs == 1 ? "waits" : "wait", reason));
  out.insert(out.end(), explanation.notes.begin(), explanation.notes.end());
  return out;
}

}  // namespace underway::elastic
