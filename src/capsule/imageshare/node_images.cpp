#include "imageshare/node_images.hpp"

#include <boost/asio/use_future.hpp>
#include <set>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/log.hpp"
#include "os/file.hpp"

namespace underway::imageshare {
namespace {

constexpr auto kAnswerLimit = std::chrono::seconds(10);
constexpr auto kKeysLimit = std::chrono::seconds(60);
/// For a link to come back in the middle of a transfer.
constexpr auto kLinkPatience = std::chrono::minutes(5);
constexpr auto kLookAgain = std::chrono::seconds(1);
constexpr Duration kRetryAfter = std::chrono::seconds(5);
/// An image that no capsule here ran last stays for so long.
constexpr auto kUnused = std::chrono::hours(24 * 30);
/// A link that breaks this often without anything arriving is no link.
constexpr int kFruitlessTries = 5;

Error no_link(const std::string& reference) {
  return Error(Code::unavailable, fmt::format("cannot fetch the image '{}'", reference))
      .because("it is not on this node, and the server cannot be reached");
}

/// The directory holds these keys and no others.
void write_keys(const std::string& directory, const std::vector<image::KeyRecord>& keys) {
  os::make_directories(directory);
  std::set<std::string> names;
  for (const auto& record : keys) {
    const auto key = image::to_trusted(record);
    // An id is base64url and fit for a name; to_trusted has compared it with the key.
    names.insert(key.id + ".pub");
    os::write_file(directory + "/" + key.id + ".pub", image::write_public_key(key));
  }
  for (const auto& entry : os::list_directory(directory))
    if (entry.name.ends_with(".pub") && !names.contains(entry.name)) os::remove_tree(directory + "/" + entry.name);
}

bool may_pass(const Error& error) { return error.code() == Code::unavailable || error.code() == Code::timeout; }

}  // namespace

struct NodeImages::Transfer {
  async::Event changed;
  bool over = false;
  std::optional<Error> failure;
};

NodeImages::NodeImages(std::string directory, const Clock& clock, Duration patience)
    : directory_(std::move(directory)), clock_(clock), patience_(patience), store_(directory_) {}

awaitable<void> NodeImages::start(node::ExtensionContext context) {
  context_.emplace(std::move(context));
  tasks_.emplace(context_->executor, "image");
  context_->loops.start(*tasks_, {.area = "image",
                                  .name = "trusted keys",
                                  .trouble = "the trusted keys cannot be taken from the server",
                                  .wait = [this] { return wait_for_server(); },
                                  .reconcile = [this] { return follow_keys(); },
                                  .retry = async::RetryPolicy::up_to(kRetryAfter),
                                  .hurry = &link_changed_});
  co_return;
}

awaitable<void> NodeImages::stop() {
  if (tasks_) co_await tasks_->stop();
}

void NodeImages::linked() { link_changed_.notify_all(); }

awaitable<boost::json::value> NodeImages::answer(std::string method, boost::json::value) {
  throw Error(Code::unsupported, fmt::format("'{}' is no question about images", method));
  co_return nullptr;
}

awaitable<void> NodeImages::serve(std::string method, boost::json::value, std::shared_ptr<link::Stream>) {
  throw Error(Code::unsupported, fmt::format("'{}' is no stream of images", method));
  co_return;
}

std::vector<image::TrustedKey> NodeImages::keys() const { return image::read_trusted_keys(keys_directory()); }

awaitable<boost::json::value> NodeImages::ask(std::string method, boost::json::value body, Duration limit) {
  const auto server = context_ ? context_->server() : nullptr;
  if (!server) throw Error(Code::unavailable, "the server cannot be reached");
  co_return co_await server->call(std::move(method), std::move(body), limit);
}

awaitable<std::optional<image::StoredImage>> NodeImages::find_here(std::string reference) {
  auto job = [&] { return store_.find(image::parse_reference(reference)); };
  co_return co_await async::on_pool(pool_, job);
}

awaitable<image::StoredImage> NodeImages::ask_for(std::string reference) {
  auto body = json::to_value(Wanted{std::move(reference)});
  const auto answer = co_await ask("image.find", std::move(body), kAnswerLimit);
  co_return json::decode<image::StoredImage>(answer);
}

/// A digest means what it says, wherever the image is. A name means what the server has, if it can be asked.
awaitable<image::StoredImage> NodeImages::find(std::string reference) {
  const auto deadline = async::deadline_in(patience_);
  if (image::is_image_digest(reference)) {
    if (auto here = co_await find_here(reference)) co_return *std::move(here);
  }
  while (true) {
    std::optional<Error> failure;
    try {
      co_return co_await ask_for(reference);
    } catch (const Error& error) {
      if (!may_pass(error)) throw;
      failure = error;
    }
    if (auto here = co_await find_here(reference)) {
      log::warn("image: the server cannot be asked for '{}', taking {} {}", reference, here->name, here->version);
      co_return *std::move(here);
    }
    if (std::chrono::steady_clock::now() >= deadline) throw no_link(reference).because(failure->one_line());
    co_await link_changed_.wait_until(std::min(deadline, async::deadline_in(kLookAgain)));
  }
}

awaitable<image::StoredImage> NodeImages::fetch(std::string reference) {
  image::parse_reference(reference);
  if (!context_) throw no_link(reference);
  const auto image = co_await find(reference);
  if (store_.has(image.digest)) co_return image;
  auto& slot = transfers_[image.digest];
  if (!slot) {
    slot = std::make_shared<Transfer>();
    ++begun_;
    tasks_->spawn("fetching " + image.digest, transfer(slot, image));
  }
  // It goes on when who asked first is cancelled: others wait for it.
  const auto shared = slot;
  while (!shared->over) co_await shared->changed.wait();
  if (shared->failure) throw Error(*shared->failure);
  co_return image;
}

std::string NodeImages::fetch_blocking(const std::string& reference, Duration limit) {
  if (!context_) throw no_link(reference);
  auto task = async::within(limit, fmt::format("fetching the image '{}'", reference), fetch(reference));
  const auto image = asio::co_spawn(context_->executor, std::move(task), asio::use_future).get();
  return store_.path_of(image.digest);
}

awaitable<void> NodeImages::transfer(std::shared_ptr<Transfer> transfer, image::StoredImage image) {
  const image::Incoming incoming{.digest = image.digest, .size = image.size};
  int fruitless = 0;
  while (!transfer->over) {
    const auto before = store_.received(incoming);
    std::optional<Error> failure;
    try {
      transfer->over = co_await try_transfer(image);
    } catch (const Error& error) {
      failure = error;
    } catch (...) {
      // Cancelled: those who wait are too, or learn that it is over.
      transfer->failure = Error(Code::unavailable, "the agent stops");
      transfer->over = true;
      transfers_.erase(image.digest);
      transfer->changed.notify_all();
      throw;
    }
    if (!failure) continue;
    fruitless = store_.received(incoming) > before ? 0 : fruitless + 1;
    if (!may_pass(*failure) || fruitless >= kFruitlessTries) {
      failure->while_doing(fmt::format("fetching the image {}:{}", image.name, image.version));
      transfer->failure = std::move(failure);
      transfer->over = true;
      break;
    }
    log::warn("image: fetching {}:{} broke off at byte {} of {}, going on when the link is back: {}", image.name,
              image.version, store_.received(incoming), image.size, failure->one_line());
    co_await wait_for_link(async::deadline_in(kLinkPatience));
  }
  transfers_.erase(image.digest);
  transfer->changed.notify_all();
}

awaitable<void> NodeImages::wait_for_link(async::SteadyTime deadline) {
  const auto server = context_->server();
  if (server && server->is_open()) co_return co_await async::sleep_for(std::chrono::milliseconds(200));
  co_await link_changed_.wait_until(deadline);
}

/// True when the image is here. False: what had arrived did not fit, and is to be fetched anew.
awaitable<bool> NodeImages::try_transfer(const image::StoredImage& image) {
  const image::Incoming incoming{.digest = image.digest, .size = image.size};
  co_await take_keys(false);
  const std::int64_t offset = store_.received(incoming);
  if (offset < incoming.size) co_await receive(incoming, offset);
  auto finish = [&] { store_.finish(incoming, keys(), clock_.now()); };
  try {
    co_await async::on_pool(pool_, finish);
  } catch (const Error& error) {
    // The server's file may have been signed again between the parts.
    if (error.code() != Code::denied || offset == 0) throw;
    log::warn("image: what had arrived of {}:{} does not fit, fetching it anew: {}", image.name, image.version,
              error.one_line());
    co_return false;
  }
  log::info("image: {}:{} is here ({})", image.name, image.version, image.digest);
  co_await collect(image.digest);
  co_return true;
}

/// When something comes is when there is need of room.
awaitable<void> NodeImages::collect(const std::string& fresh) {
  if (!needed_) co_return;
  auto job = [&] {
    const auto before = clock_.now() - kUnused;
    auto kept = needed_();
    kept.insert(fresh);
    for (const auto& image : store_.list()) {
      if (from_unix_nanos(image.added) >= before) kept.insert(image.digest);
    }
    return store_.collect(kept, before);
  };
  try {
    for (const auto& digest : co_await async::on_pool(pool_, job))
      log::info("image: {} was not used and is removed", digest);
  } catch (const Error& error) {
    log::warn("image: what is not used cannot be removed: {}", error.one_line());
  }
}

awaitable<void> NodeImages::receive(const image::Incoming& incoming, std::int64_t offset) {
  const auto server = context_->server();
  if (!server) throw Error(Code::unavailable, "the server cannot be reached");
  auto header = json::to_value(Part{.digest = incoming.digest, .offset = offset});
  const auto stream = co_await server->open("image.read", std::move(header));
  while (auto chunk = co_await stream->read()) {
    auto append = [&] { return store_.append(incoming, offset, chunk->bytes); };
    offset = co_await async::on_pool(pool_, append);
  }
  if (offset < incoming.size)
    throw Error(Code::unavailable, fmt::format("the image '{}' ended early", incoming.digest))
        .because(fmt::format("{} of {} bytes came", offset, incoming.size));
}

awaitable<void> NodeImages::take_keys(bool wait) {
  auto body = json::to_value(KnownKeys{wait ? keys_digest_ : ""});
  const auto answer = co_await ask("image.keys", std::move(body), kKeysLimit);
  const auto told = json::decode<Keys>(answer);
  if (told.digest == keys_digest_) co_return;
  auto write = [&] { write_keys(keys_directory(), told.keys); };
  co_await async::on_pool(pool_, write);
  keys_digest_ = told.digest;
}

awaitable<void> NodeImages::wait_for_server() {
  for (auto server = context_->server(); !server || !server->is_open(); server = context_->server())
    co_await link_changed_.wait_for(kRetryAfter);
}

/// The server answers when the keys have changed, or after a while.
awaitable<void> NodeImages::follow_keys() {
  std::optional<Error> failure;
  try {
    co_await take_keys(true);
  } catch (const Error& error) {
    failure = error;
  }
  if (!failure) co_return;
  // That a link ends while something was asked on it is nothing to tell people: it is dialled again.
  const auto server = context_->server();
  if (may_pass(*failure) && (!server || !server->is_open())) co_return;
  throw std::move(*failure);
}

}  // namespace underway::imageshare
