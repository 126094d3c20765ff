#include "cli/impact/order.hpp"

#include <map>

namespace underway::cli {
namespace {

using Services = std::vector<wire::ServiceStatus>;

class Tree {
 public:
  explicit Tree(const Services& services) {
    for (const auto& service : services) by_id_.emplace(service.id, &service);
    for (const auto& service : services) children_[parent_of(service)].push_back(&service);
  }

  std::vector<Branch> draw() {
    add("", "", true);
    return std::move(branches_);
  }

 private:
  /// Steps to the farthest root. What is not there, or would lead around in a circle, is passed over.
  std::size_t depth(const std::string& id) {
    const auto service = by_id_.find(id);
    if (service == by_id_.end()) return 0;
    const auto [known, fresh] = depths_.try_emplace(id, 1);
    if (!fresh) return known->second;
    std::size_t deepest = 0;
    for (const auto& other : service->second->depends_on) deepest = std::max(deepest, depth(other));
    return depths_[id] = deepest + 1;
  }

  /// "" for a root.
  std::string parent_of(const wire::ServiceStatus& service) {
    std::string parent;
    std::size_t deepest = 0;
    for (const auto& other : service.depends_on) {
      const std::size_t here = depth(other);
      if (here > deepest && here < depth(service.id)) {
        deepest = here;
        parent = other;
      }
    }
    return parent;
  }

  void add(const std::string& parent, const std::string& lines, bool root) {
    const auto& children = children_[parent];
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool last = i + 1 == children.size();
      branches_.push_back({children[i], root ? "" : lines + (last ? "└ " : "├ ")});
      add(children[i]->id, root ? "" : lines + (last ? "  " : "│ "), false);
    }
  }

  std::map<std::string, const wire::ServiceStatus*> by_id_;
  std::map<std::string, std::size_t> depths_;
  std::map<std::string, std::vector<const wire::ServiceStatus*>> children_;
  std::vector<Branch> branches_;
};

}  // namespace

std::vector<Branch> draw_order(const Services& services) { return Tree(services).draw(); }

}  // namespace underway::cli
