// What the server asks of the node, beside orders.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "node/detail/node_impl.hpp"
#include "node/streams/file_access.hpp"

namespace underway::node {

Extension* Node::Impl::extension_for(std::string_view method) const {
  for (const auto& extension : options_.extensions)
    if (method.starts_with(extension->prefix())) return extension.get();
  return nullptr;
}

awaitable<void> Node::Impl::start_extensions() {
  const ExtensionContext context{
      self_, options_.data_dir, loop_.executor(), pool_, [this] { return connection_.lock(); }, clock_, loops_};
  for (const auto& extension : options_.extensions) co_await extension->start(context);
}

awaitable<boost::json::value> Node::Impl::answer(std::string method, boost::json::value body) {
  if (auto* extension = extension_for(method)) co_return co_await extension->answer(std::move(method), std::move(body));
  if (method.starts_with("volume.")) co_return co_await answer_for_volumes(std::move(method), std::move(body));
  if (method.starts_with("orphans.")) co_return answer_about_orphans(method);
  if (method.starts_with("node.")) co_return co_await answer_for_self(std::move(method), std::move(body));
  if (method == "fs.ls") co_return co_await list_files(json::decode<protocol::FileRequest>(body));
  if (method == "fs.stat") co_return co_await stat_file(json::decode<protocol::FileRequest>(body));
  const auto request = json::decode<protocol::TaskRequest>(body);
  if (method == "alloc.gc") co_return co_await remove_now(request);
  AllocationRunner& runner = get(request.id);
  if (method == "alloc.restart") {
    if (request.all_tasks)
      runner.restart_all();
    else
      runner.restart(request.task);
  } else if (method == "alloc.signal") {
    runner.signal(request.task, request.signal.empty() ? "SIGKILL" : request.signal);
  } else if (method == "alloc.pause") {
    co_await runner.do_to_machines(request.task, MachineVerb::pause);
  } else if (method == "alloc.resume") {
    co_await runner.do_to_machines(request.task, MachineVerb::resume);
  } else if (method == "alloc.checkpoint") {
    const auto made = co_await runner.do_to_machines(request.task, MachineVerb::checkpoint);
    co_return json::to_value(made);
  } else if (method == "alloc.checkpoints") {
    const auto kept = co_await runner.checkpoints(request.task);
    co_return json::to_value(kept);
  } else if (method == "alloc.restore") {
    co_await runner.restore(request.task, request.checkpoint);
  } else if (method == "machines.describe") {
    const auto kept = co_await runner.kept_machines();
    co_return json::to_value(kept);
  } else if (method == "alloc.checks") {
    boost::json::object results;
    for (const auto& result : runner.check_results()) results[result.id] = json::to_value(result);
    co_return results;
  } else if (method == "alloc.stats") {
    std::map<std::string, std::shared_ptr<RunningTask>> tasks;
    for (const auto& [name, task] : runner.tasks())
      if (task->process()) tasks.emplace(name, task->process());
    const std::int64_t cores = std::max<std::int64_t>(1, self_.resources.cores);
    co_return samples_.usage(request.id, tasks, self_.resources.cpu / cores, runtime_.now());
  } else {
    throw Error(Code::unsupported, fmt::format("this node does not know '{}'", method))
        .because("server and node are of different versions");
  }
  co_return boost::json::object{};
}

awaitable<boost::json::value> Node::Impl::list_files(protocol::FileRequest request) {
  const FileAccess files(get(request.alloc).directory().root());
  std::vector<protocol::FileInfo> found;
  co_await blocking(runtime_, [&] { found = files.list(request.path); });
  co_return json::to_value(found);
}

awaitable<boost::json::value> Node::Impl::stat_file(protocol::FileRequest request) {
  const FileAccess files(get(request.alloc).directory().root());
  protocol::FileInfo found;
  co_await blocking(runtime_, [&] { found = files.stat(request.path); });
  co_return json::to_value(found);
}

awaitable<boost::json::value> Node::Impl::remove_now(protocol::TaskRequest request) {
  if (!get(request.id).dead())
    throw Error(Code::conflict, fmt::format("allocation {} still runs", request.id)).advise("stop it first");
  destroy(request.id);
  co_return boost::json::object{};
}

}  // namespace underway::node
