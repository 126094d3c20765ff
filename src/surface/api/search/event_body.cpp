#include "api/search/event_body.hpp"

#include "api/access/token_body.hpp"
#include "api/allocation/allocation_body.hpp"
#include "api/node/node_body.hpp"
#include "api/node/volume_body.hpp"
#include "api/nomad/nomad_body.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "http/plain_error.hpp"
#include "model/job/spelled_policies.hpp"
#include "wire/variable/variable.hpp"

namespace underway::api {
namespace {

using server::Event;
using server::EventTopic;

/// Nomad's topics of which nothing is ever told here: who asks for them among others gets the others. Operator is of
/// its Enterprise's snapshots of utilization.
constexpr std::string_view kSilentTopics[] = {"CSIVolume", "CSIPlugin", "Operator"};

struct WantedTopic {
  std::string topic;  ///< "*": all
  std::string key;    ///< "*": all

  bool matches(const Event& event) const {
    const std::string_view own = describe::spell(event.topic);
    // Drains are events of nodes, and a topic of their own for who asks so.
    const bool drain = topic == "NodeDrain" && event.type == "NodeDrain";
    if (topic != "*" && topic != own && !drain) return false;
    if (key == "*" || server::key_of(event) == key) return true;
    const auto keys = server::filter_keys_of(event);
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
};

WantedTopic parse_topic(const std::string& text) {
  const std::size_t colon = text.find(':');
  WantedTopic wanted{text.substr(0, colon), colon == std::string::npos ? "*" : text.substr(colon + 1)};
  if (wanted.key.empty() || wanted.key.find(':') != std::string::npos)
    throw Error(Code::invalid, fmt::format("Invalid key value pair for topic '{}'", text))
        .because("it is TOPIC, or TOPIC:KEY");
  std::vector<std::string> known{"*", "NodeDrain"};
  for (const auto& name : describe::kType<EventTopic>.enumeration().names()) known.emplace_back(name);
  known.insert(known.end(), std::begin(kSilentTopics), std::end(kSilentTopics));
  if (std::find(known.begin(), known.end(), wanted.topic) != known.end()) return wanted;
  Error error(Code::invalid, fmt::format("there is no topic '{}'", wanted.topic));
  const std::string near = nearest(wanted.topic, known);
  error.because(near.empty() ? "topics are " + join(known, ", ") : fmt::format("did you mean {}?", near));
  throw error;
}

/// As the row itself could be read; what tells who may do what, only by those who may do everything, as in Nomad.
bool may_see(const acl::Rights& rights, const Event& event, const std::string& ns) {
  switch (event.topic) {
    case EventTopic::variable:
      return rights.variable(std::get<tables::Row<model::Variable>>(event.row)->path, ns, acl::Access::list);
    case EventTopic::node:
    case EventTopic::host:
    case EventTopic::cluster:
      return rights.node(acl::Level::read);
    case EventTopic::node_pool:
      return rights.node_pool(std::get<tables::Row<model::NodePool>>(event.row)->name, acl::Level::read);
    case EventTopic::host_volume:
      return rights.in(ns, acl::Capability::host_volume_read);
    case EventTopic::acl_policy:
    case EventTopic::acl_token:
    case EventTopic::acl_role:
    case EventTopic::auth_method:
    case EventTopic::binding_rule:
      return rights.is_management();
    default:
      return rights.in(ns, acl::Capability::read_job);
  }
}

template <class... Visit>
struct Cases : Visit... {
  using Visit::operator()...;
};

std::string payload_of(const Event& event) {
  return std::visit(
      Cases{[](const tables::Row<model::Variable>& row) { return wire::encode_metadata(*row); },
            [](const tables::Row<model::Job>& row) { return nomad_json(model::with_policies(*row)); },
            [](const tables::Row<model::Allocation>& row) { return allocation_event_json(*row); },
            [](const tables::Row<model::HostVolume>& row) { return boost::json::serialize(volume_body(*row)); },
            [](const tables::Row<model::AclToken>& row) { return token_json(*row); },
            [](const tables::Row<model::AuthMethod>& row) { return boost::json::serialize(method_body(*row)); },
            [](const tables::Row<model::Node>& row) { return node_json(*row); },
            [](const auto& row) { return nomad_json(*row); }},
      event.row);
}

/// What the row is called in the payload.
std::string_view payload_name(EventTopic topic) {
  if (topic == EventTopic::host_volume) return "Volume";
  if (topic == EventTopic::auth_method) return "AuthMethod";
  return describe::spell(topic);
}

void append_event(std::string& out, const Event& event, TimePoint time) {
  out += fmt::format(R"({{"Topic":"{}","Type":"{}","Key":)", describe::spell(event.topic), event.type);
  json::append_string(out, server::key_of(event));
  out += R"(,"Namespace":)";
  json::append_string(out, server::namespace_of(event));
  out += R"(,"FilterKeys":)" + json::encode(server::filter_keys_of(event));
  out += fmt::format(R"(,"Index":{},"Time":{},"Payload":{{"{}":{}}}}})", event.index, unix_nanos(time),
                     payload_name(event.topic), payload_of(event));
}

}  // namespace

EventPredicate wanted_events(const Request& request) {
  std::vector<WantedTopic> topics;
  for (const auto& text : request.query.all("topic")) topics.push_back(parse_topic(text));
  // The rights are those that the caller has when the event is told.
  return [topics, ns = namespace_of(request), standing = request.standing](const Event& event) {
    const std::string own = server::namespace_of(event);
    if (ns != "*" && !own.empty() && own != ns) return false;
    if (!may_see(*standing->caller->rights, event, own)) return false;
    return topics.empty() ||
           std::any_of(topics.begin(), topics.end(), [&](const auto& topic) { return topic.matches(event); });
  };
}

const std::string& EventTexts::of(const std::shared_ptr<const Batch>& batch, std::size_t position) {
  auto& made = made_[batch.get()];
  if (!made.batch) {
    made.batch = batch;
    made.texts.resize(batch->events.size());
    order_.push_back(batch.get());
  }
  std::string& text = made.texts[position];
  if (text.empty()) {
    append_event(text, batch->events[position], batch->time);
    made.bytes += text.size();
    bytes_ += text.size();
    forget_old(batch.get());
  }
  return text;
}

void EventTexts::forget_old(const Batch* except) {
  while (bytes_ > kMostBytes && order_.front() != except) {
    const auto oldest = made_.find(order_.front());
    bytes_ -= oldest->second.bytes;
    made_.erase(oldest);
    order_.pop_front();
  }
}

void append_event_lines(std::string& out, const std::shared_ptr<const server::EventBuffer::Batch>& batch,
                        const EventPredicate& wanted, EventTexts& texts) {
  const std::string index = std::to_string(batch->index);
  std::size_t count = 0;
  for (std::size_t position = 0; position < batch->events.size(); ++position) {
    if (!wanted(batch->events[position])) continue;
    if (count == kEventsPerLine) {
      out += "]}\n";
      count = 0;
    }
    if (count++ == 0)
      out.append(R"({"Index":)").append(index).append(R"(,"Events":[)");
    else
      out += ',';
    out += texts.of(batch, position);
  }
  if (count > 0) out += "]}\n";
}

std::string event_failure_line(const Error& error) {
  std::string line = R"({"Error":)";
  json::append_string(line, http::plain_text(error));
  return line + "}\n";
}

}  // namespace underway::api
