#include "slurm/commands.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "protocol/messages.hpp"

namespace underway::slurm {
namespace {

constexpr const char* kSlurmctld = "slurmctld";

/// Blocks of a configuration are lists of objects, labels are keys.
bool has_block(const boost::json::value& config, std::string_view type, std::string_view label) {
  const auto* blocks = config.is_object() ? config.get_object().if_contains(type) : nullptr;
  if (blocks == nullptr || !blocks->is_array()) return false;
  return std::any_of(blocks->get_array().begin(), blocks->get_array().end(),
                     [&](const auto& block) { return block.is_object() && block.get_object().contains(label); });
}

/// What Slurm says of 10,000 nodes is 10 MiB, and of 200,000 jobs 40.
constexpr std::size_t kMostOfSlurm = std::size_t{64} << 20;
/// A host answers with some lines.
constexpr std::size_t kMostOfHost = std::size_t{1} << 20;

async::awaitable<std::string> session(server::Server& server, std::string node_id, std::string method,
                                      protocol::ExecRequest request, std::string what, std::size_t most) {
  auto header = json::to_value(request);
  const auto stream = co_await server.open_stream(std::move(node_id), std::move(method), std::move(header));
  stream->end();
  std::string out, err;
  std::optional<std::int64_t> exit_code;
  while (auto chunk = co_await stream->read()) {
    if (chunk->channel == link::Channel::control) {
      const auto control = json::parse(chunk->bytes);
      const auto* code = control.is_object() ? control.get_object().if_contains("ExitCode") : nullptr;
      if (code != nullptr && code->is_int64()) exit_code = code->get_int64();
      continue;
    }
    (chunk->channel == link::Channel::error ? err : out) += chunk->bytes;
    if (out.size() + err.size() > most) throw Error(Code::too_large, fmt::format("{} prints too much", what));
  }
  if (exit_code != 0) {
    throw Error(Code::unavailable, fmt::format("{} failed", what))
        .because(err.empty() ? fmt::format("exit code {}", exit_code.value_or(-1)) : std::string(trim(err)));
  }
  co_return out;
}

}  // namespace

std::optional<Place> find_slurmctld(const tables::Row<model::Allocation>& allocation) {
  if (allocation->task_states.contains(kSlurmctld)) return Place{allocation, kSlurmctld};
  const auto* group = allocation->job ? allocation->job->find_group(allocation->group) : nullptr;
  if (group == nullptr) return std::nullopt;
  for (const auto& task : group->tasks) {
    if (task.driver == "capsule" && has_block(task.config, "service", kSlurmctld)) return Place{allocation, task.name};
  }
  return std::nullopt;
}

bool runs_slurmctld(const model::Job& job) {
  for (const auto& group : job.groups) {
    for (const auto& task : group.tasks) {
      if (task.name == kSlurmctld || (task.driver == "capsule" && has_block(task.config, "service", kSlurmctld)))
        return true;
    }
  }
  return false;
}

async::awaitable<std::string> run_in_task(server::Server& server, Place place, std::vector<std::string> words) {
  constexpr const char* kWithConfiguration =
      "if [ -z \"$SLURM_CONF\" ] && [ -r \"$NOMAD_TASK_DIR/slurm.conf\" ]; then "
      "export SLURM_CONF=\"$NOMAD_TASK_DIR/slurm.conf\"; fi; exec \"$@\"";
  const std::string what = fmt::format("`{}` on node '{}'", join(words, " "), place.allocation->node_name);
  protocol::ExecRequest request;
  request.alloc = place.allocation->id;
  request.task = place.task;
  request.command = {"/bin/sh", "-c", kWithConfiguration, "sh"};
  request.command.insert(request.command.end(), words.begin(), words.end());
  co_return co_await session(server, place.allocation->node_id, "exec", std::move(request), what, kMostOfSlurm);
}

async::awaitable<std::string> run_on_host(server::Server& server, std::string node_id, std::vector<std::string> words) {
  protocol::ExecRequest request;
  request.command = std::move(words);
  co_return co_await session(server, std::move(node_id), "host.exec", std::move(request), "a look at the host",
                             kMostOfHost);
}

}  // namespace underway::slurm
