// Capsule images of the server's store, and the keys that the cluster trusts: ours, below /v1/underway.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "imageshare/server_images.hpp"

namespace underway::api {
namespace {

using acl::Level;
using boost::json::object;

/// A part of an image in one request.
constexpr std::size_t kPartLimit = 8U << 20;
/// What nobody has referred to for so long may go.
constexpr Duration kUnused = std::chrono::hours(24 * 30);

imageshare::ServerImages& images(const Api& api) {
  if (api.images == nullptr) throw Error(Code::unsupported, "this server keeps no images");
  return *api.images;
}

image::Incoming incoming_of(const Request& request) {
  return {.digest = request.param("digest"), .size = integer_parameter(request, "size", 0)};
}

awaitable<Response> list_images(Api& api, Request) {
  const auto all = co_await images(api).list();
  co_return http::json(json::encode(all));
}

awaitable<Response> read_image(Api& api, Request request) {
  const auto image = co_await images(api).get(request.param("reference"));
  const auto manifest = co_await images(api).manifest(image.digest);
  auto answer = json::to_value(image);
  answer.get_object()["Manifest"] = json::to_value(manifest);
  co_return http::json(boost::json::serialize(answer));
}

awaitable<Response> delete_image(Api& api, Request request) {
  co_await images(api).remove(request.param("reference"), request.query.flag("force"));
  co_return http::json("{}");
}

awaitable<Response> prune_images(Api& api, Request request) {
  const auto older = request.query.find("older");
  const auto unused = older ? parse_duration(*older) : std::optional<Duration>(kUnused);
  if (!unused || *unused < Duration{0}) throw Error(Code::invalid, fmt::format("'{}' is no duration", *older));
  const auto removed = co_await images(api).prune(*unused, request.query.flag("dry"));
  co_return http::json(json::encode(removed));
}

awaitable<void> send_content(imageshare::ServerImages& from, std::string digest, std::int64_t offset,
                             http::BodyWriter& writer) {
  imageshare::ServerImages::Write write = [&writer](std::string bytes) { return writer.write(std::move(bytes)); };
  co_await from.read(std::move(digest), offset, std::move(write));
}

awaitable<Response> read_image_content(Api& api, Request request) {
  const auto image = co_await images(api).get(request.param("reference"));
  const auto offset = integer_parameter(request, "offset", 0);
  Response response;
  response.headers.set("Content-Type", "application/octet-stream");
  response.stream = [&from = images(api), digest = image.digest, offset](http::BodyWriter& writer) {
    return send_content(from, digest, offset, writer);
  };
  co_return response;
}

awaitable<Response> read_incoming(Api& api, Request request) {
  const auto offset = co_await images(api).received(incoming_of(request));
  co_return http::json(boost::json::serialize(object{{"Offset", offset}}));
}

awaitable<Response> put_part(Api& api, Request request) {
  const auto offset = integer_parameter(request, "offset", 0);
  const auto incoming = incoming_of(request);
  const auto have = co_await images(api).append(incoming, offset, std::move(request.body));
  co_return http::json(boost::json::serialize(object{{"Offset", have}}));
}

awaitable<Response> finish_incoming(Api& api, Request request) {
  const auto image = co_await images(api).finish(incoming_of(request));
  const std::string name = fmt::format("{}:{}", image.name, image.version);
  impact::Finding finding{model::Impact::none, fmt::format("image '{}' is kept, and nothing is started from it", name)};
  ChangeWords words{fmt::format("push image '{}'", name)};
  co_await note_change(api, request, std::move(words), std::move(finding));
  co_return http::json(json::encode(image));
}

awaitable<Response> list_keys(Api& api, Request request) {
  std::vector<tables::Scope> scopes{tables::records_scope()};
  co_return co_await answer_read(api, request, std::move(scopes), [](const tables::Tables& tables) {
    return json::encode(tables::records<image::KeyRecord>(tables));
  });
}

awaitable<Response> trust_key(Api& api, Request request) {
  const boost::json::value body = parse_body(request);
  auto key = json::decode<image::KeyRecord>(body);
  co_await images(api).trust(std::move(key));
  co_return written("{}", api.server.writer().tables().revision());
}

awaitable<Response> revoke_key(Api& api, Request request) {
  const boost::json::value body = parse_body(request);
  const auto record = json::decode<image::KeyRecord>(body);
  co_await images(api).revoke(request.param("id"), record.reason);
  co_return written("{}", api.server.writer().tables().revision());
}

}  // namespace

void add_image_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto reads = right::operators(Level::read);
  const auto writes = right::operators(Level::write);
  routes.add("GET", "/v1/underway/images", "list images", reads, with(list_images));
  routes.add("GET", "/v1/underway/image/:reference", "read image", reads, with(read_image));
  routes.add("DELETE", "/v1/underway/image/:reference", "remove image", writes, with(delete_image));
  routes.add("PUT|POST", "/v1/underway/images/prune", "prune images", writes, with(prune_images));
  routes.add("GET", "/v1/underway/image/:reference/content", "image content", reads, with(read_image_content));
  routes.add("GET", "/v1/underway/incoming-image/:digest", "incoming image", writes, with(read_incoming));
  routes.add("PUT|POST", "/v1/underway/incoming-image/:digest", "image part", writes, with(put_part),
             {.body_limit = kPartLimit});
  routes.add("PUT|POST", "/v1/underway/incoming-image/:digest/finish", "finish image", writes, with(finish_incoming));
  routes.add("GET", "/v1/underway/capsule-keys", "list capsule keys", reads, with(list_keys));
  routes.add("PUT|POST", "/v1/underway/capsule-keys", "trust capsule key", right::management(), with(trust_key));
  routes.add("PUT|POST", "/v1/underway/capsule-key/:id/revoke", "revoke capsule key", right::management(),
             with(revoke_key));
}

}  // namespace underway::api
