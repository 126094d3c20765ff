// The audit log: read, and followed as newline-delimited JSON.
#include <set>

#include "api/routes.hpp"

namespace underway::api {
namespace {

constexpr std::int64_t kMostLines = 100'000;

awaitable<void> follow(server::AuditLog& log, std::uint64_t seen, std::string who, std::vector<std::string> begin,
                       http::BodyWriter& writer) {
  for (const auto& line : begin) co_await writer.write(line + "\n");
  // What was written while the file was read is in both.
  std::set<std::string> told(std::make_move_iterator(begin.begin()), std::make_move_iterator(begin.end()));
  while (true) {
    while (log.written() == seen) co_await log.changed().wait();
    const auto lines = log.recent(seen);
    seen = log.written();
    for (const auto& line : lines) {
      if (server::is_of(line, who) && !told.contains(line)) co_await writer.write(line + "\n");
    }
    told.clear();
  }
}

awaitable<Response> read_audit(Api& api, Request request) {
  if (api.audit == nullptr)
    throw Error(Code::not_found, "there is no audit log")
        .advise("set audit { enabled = true } in the agent's configuration");
  const auto limit = static_cast<std::size_t>(std::min(integer_parameter(request, "limit", 1000), kMostLines));
  server::AuditQuery query{since_parameter(request, api.clock.now()), request.query.find("who").value_or(""), limit};
  const std::uint64_t seen = api.audit->written();
  auto lines = co_await api.audit->read(query);
  Response response;
  if (!request.query.flag("follow")) {
    std::string body = "[";
    for (const auto& line : lines) body += (body.size() > 1 ? "," : "") + line;
    co_return http::json(body + "]");
  }
  response.headers.set("Content-Type", "application/x-ndjson");
  response.stream = [&log = *api.audit, seen, who = query.who, lines = std::move(lines)](http::BodyWriter& writer) {
    return follow(log, seen, who, lines, writer);
  };
  co_return response;
}

}  // namespace

void add_audit_routes(Routes& routes, Api& api) {
  routes.add("GET", "/v1/underway/audit", "read audit log", right::management(),
             [&api](Request request) { return read_audit(api, std::move(request)); });
}

}  // namespace underway::api
