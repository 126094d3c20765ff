#include "slurm/elastic/difference.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

using Kind = NodeDifference::Kind;

class NodeComparison {
 public:
  explicit NodeComparison(const std::map<Kind, Foreign>& what) : what_(what) {}

  void compare(const DeclaredNode& declared, const NodeRecord& record) {
    holds(declared, record);
    if (declared.present) values(declared, record);
  }

  void unknown(const DeclaredNode& declared) {
    // A dynamic node whose slurmd we keep off is none of Slurm's, and one of mode cloud may be hidden.
    if (!declared.present || !declared.held.empty()) return;
    add(Kind::unknown, declared.name,
        fmt::format("Slurm does not know {}, whose slurmd was told to run: it was deleted, or never registered",
                    declared.name));
  }

  void foreign(const NodeRecord& record) {
    auto text = fmt::format("Slurm has {}, which nobody declared", record.name);
    const bool removable = record.dynamic() && record.draining() && record.empty();
    if (choice(Kind::foreign) == Foreign::revert && !removable)
      text += record.dynamic() ? ": it is not drained and empty, so it stays" : ": slurm.conf has it, so it stays";
    add(Kind::foreign, record.name, std::move(text),
        removable ? Command{"scontrol", "delete", "nodename=" + record.name} : Command{});
  }

  std::vector<NodeDifference> take() { return std::move(out_); }

 private:
  Foreign choice(Kind kind) const {
    if (const auto at = what_.find(kind); at != what_.end()) return at->second;
    return kind == Kind::address || kind == Kind::released ? Foreign::revert : Foreign::adopt;
  }

  void add(Kind kind, const std::string& node, std::string text, Command back = {}) {
    const bool reverts = choice(kind) == Foreign::revert && !back.empty();
    out_.push_back({kind, node, std::move(text), reverts, reverts ? std::move(back) : Command{}});
  }

  void holds(const DeclaredNode& declared, const NodeRecord& record) {
    const auto& name = declared.name;
    const bool stopped = record.draining() || record.state == "DOWN";
    if (!declared.present) {
      if (!stopped && record.state != "FUTURE")
        add(Kind::released, name,
            fmt::format("{} is not there, and somebody let it take jobs: it is {}", name, lower(record.state)),
            declared.mode == JoinMode::dynamic ? Command{} : absent_command({name}));
      return;
    }
    if (!declared.held.empty() && !record.draining())
      return add(Kind::released, name,
                 fmt::format("{} is held by us, and somebody let it take jobs: it is {}", name, lower(record.state)),
                 drain_command({name}, declared.held));
    // Slurm itself gives reasons too, such as "Not responding"; those are no administrator's, and end by themselves.
    if (stopped && !held_by_us(record) && !record.reason.empty() && (record.draining() || record.responds()))
      add(Kind::held, name, fmt::format("{} is held by somebody else: '{}'", name, record.reason));
  }

  void values(const DeclaredNode& declared, const NodeRecord& record) {
    const auto& name = declared.name;
    const auto told = [&](const auto& ours, const auto& theirs, std::string_view of) {
      return fmt::format("{} of {} {} declared as {}, and Slurm has {}", of, name,
                         of.ends_with("ors") || of.ends_with("ures") ? "are" : "is", ours, theirs);
    };
    const auto update = [&](std::string word) {
      return Command{"scontrol", "update", "nodename=" + name, std::move(word)};
    };
    if (!declared.address.empty() && record.address != declared.address)
      add(Kind::address, name, told(declared.address, record.address, "the address"),
          update("nodeaddr=" + declared.address));
    const std::set<std::string> features(declared.features.begin(), declared.features.end());
    if (features != record.features) {
      const auto ours = join(std::vector<std::string>(features.begin(), features.end()), ",");
      const auto theirs = join(std::vector<std::string>(record.features.begin(), record.features.end()), ",");
      add(Kind::features, name, told(ours.empty() ? "none" : ours, theirs.empty() ? "none" : theirs, "the features"),
          Command{"scontrol", "update", "nodename=" + name, "availablefeatures=" + ours, "activefeatures=" + ours});
    }
    if (record.weight != declared.weight)
      add(Kind::weight, name, told(declared.weight, record.weight, "the weight"),
          update(fmt::format("weight={}", declared.weight)));
    if (declared.cpus > 0 && record.cpus != declared.cpus)
      add(Kind::shape, name, told(declared.cpus, record.cpus, "the processors"));
    if (declared.memory_mb > 0 && record.memory_mb != declared.memory_mb)
      add(Kind::shape, name,
          told(fmt::format("{} MiB", declared.memory_mb), fmt::format("{} MiB", record.memory_mb), "the memory"));
  }

  const std::map<Kind, Foreign>& what_;
  std::vector<NodeDifference> out_;
};

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::unknown:
      return "unknown";
    case Kind::foreign:
      return "foreign";
    case Kind::address:
      return "address";
    case Kind::features:
      return "features";
    case Kind::weight:
      return "weight";
    case Kind::shape:
      return "shape";
    case Kind::held:
      return "held";
    case Kind::released:
      return "released";
  }
  return "";
}

std::vector<NodeDifference> compare_nodes(const std::vector<DeclaredNode>& declared,
                                          const std::vector<NodeRecord>& records, const std::map<Kind, Foreign>& what) {
  std::map<std::string_view, const NodeRecord*> by_name;
  for (const auto& record : records) by_name[record.name] = &record;
  NodeComparison comparison(what);
  for (const auto& node : declared) {
    const auto at = by_name.find(node.name);
    if (at == by_name.end()) {
      comparison.unknown(node);
      continue;
    }
    comparison.compare(node, *at->second);
    by_name.erase(at);
  }
  for (const auto& [name, record] : by_name) comparison.foreign(*record);
  return comparison.take();
}

}  // namespace underway::slurm
