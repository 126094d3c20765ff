#include "tables/detail/codec.hpp"

#include <boost/json/parse.hpp>

namespace underway::tables::detail {

void trim(model::Allocation& allocation) {
  for (auto& [name, task] : allocation.task_states) task.events.shrink_to_fit();
  allocation.metrics.scores.shrink_to_fit();
  allocation.resources.ports.shrink_to_fit();
}

std::string encode_version(const JobVersion& version) {
  std::string text = R"({"Job":)";
  json::append(text, describe::kType<model::Job>, &version.job, json::Encoding::compact);
  text += R"(,"Submission":)";
  json::append(text, describe::kType<model::JobSubmission>, &version.submission, json::Encoding::compact);
  text += '}';
  return text;
}

boost::json::value parse_value(const store::KeyValue& kv) {
  boost::json::parse_options options;
  // We wrote it ourselves: a task's message that is no UTF-8 must not keep the server down.
  options.allow_invalid_utf8 = true;
  options.max_depth = 1024;
  boost::system::error_code failure;
  auto value = boost::json::parse(kv.value, failure, {}, options);
  if (failure) throw Error(Code::internal, "the value is not JSON").because(failure.message());
  return value;
}

void refuse_value(const store::KeyValue& kv, const Error& why) {
  throw Error(Code::internal, fmt::format("cannot read key '{}' of the store", kv.key))
      .because(why.one_line())
      .advise("was the store written by a newer version? Otherwise restore a backup");
}

JobVersion decode_version(const store::KeyValue& kv) {
  try {
    const auto value = parse_value(kv);
    const auto* object = value.if_object();
    const auto* job = object != nullptr ? object->if_contains("Job") : nullptr;
    if (job == nullptr) throw Error(Code::internal, "the value has no Job");
    JobVersion version;
    version.job = json::decode<model::Job>(*job, "Job");
    version.job.modify_index = kv.mod_revision;
    version.job.index_groups();
    if (const auto* submission = object->if_contains("Submission"))
      version.submission = json::decode<model::JobSubmission>(*submission, "Submission");
    return version;
  } catch (const Error& error) {
    refuse_value(kv, error);
  }
}

}  // namespace underway::tables::detail
