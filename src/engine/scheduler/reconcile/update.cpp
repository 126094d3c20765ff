#include "scheduler/reconcile/update.hpp"

namespace underway::scheduler {

namespace {

using describe::Change;
using describe::Field;
using describe::Form;
using describe::Kind;
using describe::Structure;
using describe::Type;

/// The struct inside optionals, lists and maps; null when there is none.
const Structure* inner_structure(const Type& type) {
  const Type* t = &type;
  while (t->element != nullptr) t = t->element;
  return t->kind == Kind::structure ? &t->structure() : nullptr;
}

bool has_destructive_field(const Structure& structure) {
  return std::any_of(structure.fields.begin(), structure.fields.end(), [](const Field& field) {
    if (field.change == Change::destructive) return true;
    const Structure* inner = inner_structure(*field.type);
    return inner != nullptr && has_destructive_field(*inner);
  });
}

const Field* label_of(const Structure& structure) {
  const auto it = std::find_if(structure.fields.begin(), structure.fields.end(),
                               [](const Field& field) { return field.form == Form::label; });
  return it == structure.fields.end() ? nullptr : &*it;
}

bool structure_updated(const Structure& structure, const void* before, const void* after);

/// Elements belong together by their label, else by their place.
bool list_updated(const Type& type, const void* before, const void* after) {
  const Structure* element = inner_structure(type);
  if (element == nullptr || !has_destructive_field(*element)) return false;
  if (type.size(before) != type.size(after)) return true;
  const Field* label = type.kind == Kind::list ? label_of(*element) : nullptr;
  for (std::size_t i = 0; i < type.size(before); ++i) {
    const void* old_element = type.element_at(before, i);
    const void* new_element = label == nullptr ? type.element_at(after, i) : nullptr;
    for (std::size_t j = 0; label != nullptr && j < type.size(after) && new_element == nullptr; ++j) {
      const void* candidate = type.element_at(after, j);
      if (describe::equal(*label->type, label->in(old_element), label->in(candidate))) new_element = candidate;
    }
    if (new_element == nullptr || structure_updated(*element, old_element, new_element)) return true;
  }
  return false;
}

bool field_updated(const Field& field, const void* before, const void* after) {
  const void* old_value = field.in(before);
  const void* new_value = field.in(after);
  if (field.change == Change::destructive) return !describe::equal(*field.type, old_value, new_value);
  switch (field.type->kind) {
    case Kind::structure:
      return structure_updated(field.type->structure(), old_value, new_value);
    case Kind::optional:
    case Kind::list:
      return list_updated(*field.type, old_value, new_value);
    default:
      return false;
  }
}

bool structure_updated(const Structure& structure, const void* before, const void* after) {
  return std::any_of(structure.fields.begin(), structure.fields.end(),
                     [&](const Field& field) { return field_updated(field, before, after); });
}

}  // namespace

bool tasks_updated(const model::TaskGroup& before, const model::TaskGroup& after) {
  return structure_updated(describe::structure_of<model::TaskGroup>(), &before, &after);
}

bool tasks_updated(const model::Job& before, const model::Job& after, std::string_view group) {
  const model::TaskGroup* old_group = before.find_group(group);
  const model::TaskGroup* new_group = after.find_group(group);
  if (old_group == nullptr || new_group == nullptr) return old_group != new_group;
  return before.meta != after.meta || tasks_updated(*old_group, *new_group);
}

model::JobStatus status_of(const model::Job* job, bool has_live_allocation, bool has_open_evaluation, bool had_any) {
  // Source: Nomad's state store, getJobStatus.
  using model::JobStatus;
  if (job == nullptr) return JobStatus::dead;
  if ((job->type == model::JobType::system || job->starts_others()) && !has_live_allocation)
    return job->stop ? JobStatus::dead : JobStatus::running;
  if (has_live_allocation) return JobStatus::running;
  if (has_open_evaluation) return JobStatus::pending;
  return had_any || job->stop ? JobStatus::dead : JobStatus::pending;
}

}  // namespace underway::scheduler
