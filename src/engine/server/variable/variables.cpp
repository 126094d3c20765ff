#include "server/variable/variables.hpp"

#include "base/json/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "server/follower.hpp"

namespace underway::server {
namespace {

constexpr int kRotationRounds = 10;  // against writers that use the old key meanwhile: there are none after the first

/// The longest pause before locks or keys are looked at again after a failure.
constexpr Duration kRetry = std::chrono::seconds(5);

std::string context_of(const std::string& ns, const std::string& path) { return "variable " + ns + "/" + path; }

void check(const VariableClaim& claim, const model::StringMap& items) {
  const auto wrong = model::problems(claim.path, items);
  if (wrong.empty()) return;
  throw Error(Code::invalid, fmt::format("variable '{}' is not valid", claim.path)).because(wrong);
}

void check_path(const std::string& path) {
  if (const auto wrong = model::path_problem(path); !wrong.empty())
    throw Error(Code::invalid, fmt::format("variable '{}' is not valid", path)).because(wrong);
}

}  // namespace

Variables::Variables(Writer& writer, Keyring& keyring, Clock& clock, async::Pool& beside)
    : writer_(writer), keyring_(keyring), clock_(clock), beside_(beside) {}

SealedItems Variables::seal(const std::string& ns, const std::string& path, const model::StringMap& items) const {
  const auto plain = crypto::Secret::take(json::encode(items));
  const auto sealed = keyring_.seal(plain.bytes(), context_of(ns, path));
  return {sealed.key_id, base64_encode(sealed.bytes)};
}

model::OpenVariable Variables::open(const model::Variable& row) const {
  if (row.sealed.empty()) return {row, {}};
  try {
    const auto plain = keyring_.open({row.key_id, base64_decode(row.sealed)}, context_of(row.ns, row.path));
    return {row, json::decode_text<model::StringMap>(plain.bytes())};
  } catch (Error& error) {
    error.while_doing(fmt::format("opening variable '{}'", row.path));
    throw;
  }
}

VariableAnswer Variables::answer(const VariableOutcome& outcome) const {
  return {open(outcome.variable), outcome.conflict};
}

async::awaitable<VariableAnswer> Variables::put(VariableClaim claim, model::StringMap items) {
  check(claim, items);
  PutVariable wanted{claim, seal(claim.ns, claim.path, items)};
  co_return answer(co_await writer_.apply(std::move(wanted)));
}

async::awaitable<VariableAnswer> Variables::remove(VariableClaim claim) {
  check_path(claim.path);
  DeleteVariable wanted{std::move(claim)};
  co_return answer(co_await writer_.apply(std::move(wanted)));
}

async::awaitable<VariableAnswer> Variables::acquire(VariableClaim claim, model::VariableLock lock,
                                                    std::optional<model::StringMap> items) {
  // A lock needs no items: its holder may only want to be the only one.
  if (items && items->empty()) items.reset();
  if (items)
    check(claim, *items);
  else
    check_path(claim.path);
  AcquireLock request{claim.ns, claim.path, std::move(lock), {}, !items};
  request.items = seal(claim.ns, claim.path, items ? *items : model::StringMap{});
  co_return answer(co_await writer_.apply(std::move(request)));
}

async::awaitable<VariableAnswer> Variables::renew(VariableClaim claim) {
  RenewLock wanted{std::move(claim)};
  co_return answer(co_await writer_.apply(std::move(wanted)));
}

async::awaitable<VariableAnswer> Variables::release(VariableClaim claim) {
  ReleaseLock wanted{std::move(claim)};
  co_return answer(co_await writer_.apply(std::move(wanted)));
}

model::StringMap generate(const model::SecretDeclaration& secret) {
  model::StringMap items;
  for (const auto& item : secret.generate) {
    const auto random = crypto::Secret::random(static_cast<std::size_t>(item.bytes));
    items[item.name] = item.encoding == "hex"         ? hex(random.bytes())
                       : item.encoding == "base64url" ? crypto::base64url_encode(random.bytes())
                                                      : base64_encode(random.bytes());
  }
  return items;
}

std::vector<NewVariable> Variables::generate_missing(const Tables& tables,
                                                     const std::vector<model::SecretDeclaration>& secrets) const {
  std::vector<NewVariable> out;
  for (const auto& secret : secrets) {
    const std::string ns = "default";
    if (!tables.find<model::Variable>(model::variable_key(ns, secret.path)))
      out.push_back({ns, secret.path, seal(ns, secret.path, generate(secret))});
  }
  return out;
}

async::awaitable<crypto::PrivateKey> Variables::make_rsa() {
  auto make = [] { return crypto::PrivateKey::generate_rsa(); };
  co_return co_await async::on_pool(beside_, make);
}

async::awaitable<std::string> Variables::rotate(bool full) {
  const auto rsa = co_await make_rsa();
  const std::string id = keyring_.rotate(clock_.now(), rsa);
  log::info("server: root key {} is active", id);
  keys_changed_.notify_all();
  if (full) co_await seal_anew();
  co_return id;
}

async::awaitable<std::string> Variables::prepublish(TimePoint at) {
  if (at <= clock_.now())
    throw Error(Code::invalid, fmt::format("a key cannot become active at {}", format_time(at)))
        .because("that is past");
  const auto rsa = co_await make_rsa();
  std::string id = keyring_.prepublish(clock_.now(), at, rsa);
  log::info("server: root key {} becomes active at {}", id, format_time(at));
  keys_changed_.notify_all();
  co_return id;
}

/// Half a life before its time, as Nomad does it: who verifies tokens has known the key for long when it signs.
async::awaitable<void> Variables::rotate_by_age(Duration rotation) {
  if (rotation <= Duration{0} || keyring_.next_prepublished() != nullptr) co_return;
  const TimePoint now = clock_.now(), since = from_unix_nanos(keyring_.active().active_since());
  if (now < since + rotation / 2) co_return;
  co_await prepublish(std::max(since + rotation, now + rotation / 2));
}

async::LoopPlan Variables::root_keys_loop(Duration rotation) {
  return {.area = "server",
          .name = "root keys",
          .trouble = "root keys are neither rotated nor activated",
          .wait = [this, rotation] { return wait_for_keys(rotation); },
          .reconcile = [this, rotation] { return look_after_keys(rotation); },
          .retry = async::RetryPolicy::up_to(kRetry),
          .hurry = &keys_changed_};
}

async::awaitable<void> Variables::wait_for_keys(Duration rotation) {
  if (!std::exchange(keys_seen_, true)) co_return;
  std::optional<TimePoint> next;
  if (const auto* waiting = keyring_.next_prepublished())
    next = from_unix_nanos(waiting->publish_time);
  else if (rotation > Duration{0})
    next = from_unix_nanos(keyring_.active().active_since()) + rotation / 2;
  co_await keys_changed_.wait_until(next ? async::deadline_in(*next - clock_.now()) : async::kNever);
}

async::awaitable<void> Variables::look_after_keys(Duration rotation) {
  const std::string promoted = keyring_.promote(clock_.now());
  if (!promoted.empty()) log::info("server: root key {} is active", promoted);
  co_await rotate_by_age(rotation);
}

async::awaitable<void> Variables::seal_anew() {
  for (int round = 0; round < kRotationRounds; ++round) {
    const auto* tables = co_await writer_.settled();
    ResealVariables anew;
    for (const auto& row : tables->rows<model::Variable>()) {
      if (row->key_id == keyring_.active_id() || row->sealed.empty()) continue;
      anew.resealed.push_back({row->ns, row->path, row->modify_index, seal(row->ns, row->path, open(*row).items)});
    }
    if (anew.resealed.empty()) co_return;
    if (co_await writer_.apply(std::move(anew)) == 0) co_return;
  }
  throw Error(Code::conflict, "not every variable could be sealed anew")
      .because("others keep writing them")
      .advise("rotate again");
}

async::awaitable<void> Variables::remove_key(std::string id) {
  const auto* tables = co_await writer_.settled();
  for (const auto& row : tables->rows<model::Variable>()) {
    if (row->key_id != id) continue;
    throw Error(Code::conflict, fmt::format("root key {} is in use", id))
        .because(fmt::format("variable '{}' is sealed under it", row->path))
        .advise("run `underway operator root keyring rotate -full` first");
  }
  keyring_.remove(id);
  keys_changed_.notify_all();
}

async::LoopPlan Variables::locks_loop() {
  FollowerOptions options;
  options.scopes = [](const Tables&) { return std::vector<tables::Scope>{{tables::Topic::leases, ""}}; };
  options.due = [](const Tables& tables) { return next_lock_end(tables); };
  const auto follower = std::make_shared<Follower>(writer_, clock_, std::move(options));
  return {.area = "server",
          .name = "locks of variables",
          .trouble = "locks that nobody renews are not taken away",
          .wait = [follower] { return follower->wait_for_news(); },
          .reconcile = [this] { return expire_locks(); },
          .retry = async::RetryPolicy::up_to(kRetry)};
}

/// The first time, nobody is late: who held a lock could not renew it while there was no server.
async::awaitable<void> Variables::expire_locks() {
  if (extended_)
    co_await writer_.apply(ExpireLocks{});
  else
    co_await writer_.apply(ExtendLocks{});
  extended_ = true;
}

}  // namespace underway::server
