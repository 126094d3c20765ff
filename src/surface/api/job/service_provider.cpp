#include "api/job/service_provider.hpp"

#include "base/text.hpp"

namespace underway::api {
namespace {

/// As the decoder finds keys: of any case.
const boost::json::value* member(const boost::json::value& from, std::string_view name) {
  const auto* object = from.if_object();
  if (object == nullptr) return nullptr;
  if (const auto* exact = object->if_contains(name)) return exact;
  for (const auto& [key, value] : *object)
    if (lower(std::string_view(key.data(), key.size())) == lower(name)) return &value;
  return nullptr;
}

/// Calls `each` with the elements of the list `name` and their places.
template <class Each>
void each_of(const boost::json::value& from, std::string_view name, std::size_t count, Each each) {
  const auto* found = member(from, name);
  if (found == nullptr || !found->is_array()) return;
  const auto& list = found->get_array();
  for (std::size_t i = 0; i < list.size() && i < count; ++i) each(list[i], i);
}

void fill(const boost::json::value& owner, std::vector<model::Service>& services, const std::string& provider) {
  each_of(owner, "Services", services.size(), [&](const boost::json::value& service, std::size_t i) {
    const auto* named = member(service, "Provider");
    const auto* word = named == nullptr ? nullptr : named->if_string();
    if (word == nullptr || word->empty()) services[i].provider = provider;
  });
}

}  // namespace

void name_providers(const boost::json::value& json, model::Job& job, const std::string& provider) {
  each_of(json, "TaskGroups", job.groups.size(), [&](const boost::json::value& group, std::size_t g) {
    fill(group, job.groups[g].services, provider);
    each_of(group, "Tasks", job.groups[g].tasks.size(), [&](const boost::json::value& task, std::size_t t) {
      fill(task, job.groups[g].tasks[t].services, provider);
    });
  });
}

}  // namespace underway::api
