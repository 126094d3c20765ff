#include "saving/server_side.hpp"

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace underway::saving {
namespace {

awaitable<boost::json::value> take_report(server::Server& server, std::string node_id, std::string method,
                                          boost::json::value body) {
  if (method != "saving.report") throw Error(Code::unsupported, fmt::format("the server does not answer '{}'", method));
  auto report = json::decode<model::CapsuleSaving>(body);
  KeepReport keep{node_id, report};
  co_await server.apply(std::move(keep));
  const auto shout = [&](std::string_view what, const model::SavedWork& work) {
    if (!work.error.empty())
      log::error("capsule {}/{}: its {} has failed {} times: {}", report.ns, report.name, what, work.failures,
                 work.error);
  };
  shout("snapshot", report.snapshot);
  shout("backup", report.backup);
  shout("restore drill", report.drill);
  if (report.almost_full()) {
    const auto* tables = co_await server.read();
    const auto row = tables->find_node(node_id);
    log::error("capsule {}/{}: its overlay on {} is {} % full ({})", report.ns, report.name, row ? row->name : node_id,
               report.overlay_used, human_bytes(static_cast<std::uint64_t>(report.overlay_size)));
  }
  co_return boost::json::object{};
}

/// Where its overlay is, at a moment at which it may be worked on.
std::string node_of(const tables::Tables& tables, const std::string& ns, const std::string& name) {
  const auto capsule = ownership::get_capsule(tables, ns, name);
  if (capsule.move)
    throw Error(Code::conflict, fmt::format("capsule '{}' moves to {}", name, capsule.move->target_name))
        .advise("wait until it has: `underway capsule status " + name + "`");
  if (capsule.upgrade)
    throw Error(Code::conflict,
                fmt::format("capsule '{}' is being {}", name, capsule.upgrade->restores ? "restored" : "upgraded"))
        .advise("wait until it has: `underway capsule status " + name + "`");
  const auto row = tables.find_node(capsule.owner);
  if (row && !row->silent()) return capsule.owner;
  throw Error(Code::unavailable, fmt::format("{} has the overlay of capsule '{}', and is not heard of",
                                             capsule.owner_name.empty() ? "nobody" : capsule.owner_name, name))
      .advise("on that host, `underway capsule … -local` does the same without a server");
}

}  // namespace

server::Extension report_extension(server::Server& server) {
  server::Extension extension;
  extension.call = [&server](std::string node_id, std::string method, boost::json::value body) {
    return take_report(server, std::move(node_id), std::move(method), std::move(body));
  };
  return extension;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const KeepReport& request,
                                         const server::Context&) {
  const auto& node_id = request.node_id;
  auto report = request.report;
  const auto key = model::capsule_key(report.ns, report.name);
  const auto capsule = tables::find_record<model::Capsule>(tables, key);
  if (!capsule || capsule->owner != node_id) return {};
  report.node = node_id;
  report.node_name = capsule->owner_name;
  if (const auto before = tables::find_record<model::CapsuleSaving>(tables, key)) {
    report.create_index = before->create_index;
    report.modify_index = before->modify_index;
    if (describe::equal(*before, report)) return {};
  }
  server::Decision<server::Nothing> decision;
  decision.changes.push_back(tables::put_record(report));
  return decision;
}

awaitable<boost::json::value> ask_its_node(server::Server& server, std::string ns, std::string name, std::string method,
                                           boost::json::value request) {
  const auto* tables = co_await server.read();
  auto node = node_of(*tables, ns, name);
  const auto stream = co_await server.open_stream(std::move(node), std::move(method), std::move(request));
  stream->end();
  boost::json::value told;
  while (const auto chunk = co_await stream->read()) {
    if (chunk->channel == link::Channel::control) told = json::parse(chunk->bytes);
  }
  if (told.is_null()) throw Error(Code::unavailable, fmt::format("the node of capsule '{}' told nothing", name));
  co_return told;
}

}  // namespace underway::saving
