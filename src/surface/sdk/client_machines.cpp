// Tasks that are virtual machines: pause, resume, checkpoint.
#include "base/json/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

std::string machine_path(const std::string& allocation, const char* verb) {
  return fmt::format("/v1/underway/allocation/{}/{}", http::percent_encode(allocation), verb);
}

std::string machine_body(const std::string& task) {
  return boost::json::serialize(boost::json::object{{"Task", task}});
}

}  // namespace

void Client::pause_allocation(const std::string& id, const std::string& task) {
  send("PUT", machine_path(id, "pause"), {}, machine_body(task));
}

void Client::resume_allocation(const std::string& id, const std::string& task) {
  send("PUT", machine_path(id, "resume"), {}, machine_body(task));
}

std::vector<protocol::TaskCheckpoint> Client::checkpoint_allocation(const std::string& id, const std::string& task) {
  constexpr Duration kAsLongAsTheirMemoryTakes = std::chrono::hours(24);
  const auto response =
      send("PUT", machine_path(id, "checkpoint"), {}, machine_body(task), {}, kAsLongAsTheirMemoryTakes);
  return json::decode_text<std::vector<protocol::TaskCheckpoint>>(response.body, "answer");
}

}  // namespace underway::sdk
