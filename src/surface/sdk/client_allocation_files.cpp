// What tasks wrote: logs and files.
#include "base/json/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
void Client::logs(const std::string& allocation, const std::string& task, const std::string& type, bool follow,
                  const std::string& origin, std::int64_t offset, const std::function<bool(std::string_view)>& piece) {
  stream("/v1/client/fs/logs/" + http::percent_encode(allocation),
         {{"task", task},
          {"type", type},
          {"follow", follow ? "true" : "false"},
          {"origin", origin},
          {"offset", std::to_string(offset)},
          {"plain", "true"}},
         piece);
}
boost::json::value Client::list_files(const std::string& allocation, const std::string& path) {
  return json::parse(send("GET", "/v1/client/fs/ls/" + http::percent_encode(allocation), {{"path", path}}).body);
}
boost::json::value Client::file_status(const std::string& allocation, const std::string& path) {
  return json::parse(send("GET", "/v1/client/fs/stat/" + http::percent_encode(allocation), {{"path", path}}).body);
}
void Client::read_file(const std::string& allocation, const std::string& path,
                       const std::function<bool(std::string_view)>& piece) {
  stream("/v1/client/fs/cat/" + http::percent_encode(allocation), {{"path", path}}, piece);
}

}  // namespace underway::sdk
