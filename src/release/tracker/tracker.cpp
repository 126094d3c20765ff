#include "tracker/tracker.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::tracker {

using async::awaitable;
using tables::Tables;

namespace {

constexpr std::size_t kLongestToken = 4096;
/// Of a list in which something is looked for. Who passes it has ten thousand issues that changed since.
constexpr std::int64_t kMostPages = 200;
/// By which the tracker's clock may be behind ours.
constexpr Duration kSkew = std::chrono::hours(1);

/// The beginning of what it says, as it can stand in a line of the log.
std::string said(const http::Response& response) {
  std::string out;
  for (const char c : response.body.substr(0, 200)) out += c >= ' ' && c < 127 ? c : ' ';
  return std::string(trim(out));
}

}  // namespace

Tracker::Tracker(server::Server& server, async::Pool& pool, async::Executor executor, Settings settings,
                 Options options)
    : server_(server),
      pool_(pool),
      executor_(executor),
      settings_(std::move(settings)),
      options_(options),
      follower_(server.follow(what_is_followed())),
      tasks_(std::move(executor), "tracker") {}

server::FollowerOptions Tracker::what_is_followed() const {
  server::FollowerOptions out;
  out.scopes = [](const Tables&) { return std::vector<tables::Scope>{tables::records_scope()}; };
  out.again = [this](const Tables&) -> std::optional<Duration> {
    return behind_.empty() ? std::nullopt : std::optional(options_.refused_again);
  };
  out.gather = options_.gather;
  return out;
}

void Tracker::start() {
  server_.loops().start(tasks_, {.area = "tickets",
                                 .name = "ticket tracker",
                                 .trouble = "the external tracker is not told of tickets",
                                 .wait = [this] { return follower_.wait_for_news(); },
                                 .reconcile = [this] { return reconcile(); },
                                 .retry = async::RetryPolicy::up_to(options_.retry_after),
                                 .patience = std::chrono::hours(3)});
}

awaitable<void> Tracker::stop() { co_await tasks_.stop(); }

/// Records of others change often, and rows are decoded when they are read: only those are that changed.
void Tracker::note_changes(const Tables& tables) {
  for (const auto& row : tables.rows<model::Record>(tables::record_key<model::Ticket>(""))) {
    if (row->modify_index <= seen_) continue;
    const auto ticket = tables::decode_record<model::Ticket>(*row);
    if (is_told(settings_, ticket)) behind_.insert(ticket.number);
  }
  seen_ = tables.revision();
}

awaitable<http::Client> Tracker::connect() {
  const auto read = [path = settings_.token_file] { return std::string(trim(os::read_file(path, kLongestToken))); };
  token_ = co_await async::on_pool(pool_, read);
  if (token_.empty() || token_.find_first_of("\r\n") != std::string::npos)
    throw Error(Code::invalid, fmt::format("'{}' holds no token", settings_.token_file))
        .advise("write the tracker's token into it, in one line");
  http::ClientOptions options{.connect_timeout = options_.connect,
                              .timeout = options_.exchange,
                              .connections_kept = 1,
                              .body_limit = options_.body_limit};
  auto url = http::parse_url(settings_.url);
  if (url.tls) options.tls = http::TlsContext::client(http::TlsFiles{.authority = settings_.ca_file});
  co_return http::Client(executor_, std::move(url), std::move(options));
}

awaitable<void> Tracker::reconcile() {
  const auto* tables = co_await server_.read();
  note_changes(*tables);
  std::erase_if(behind_, [&](std::int64_t number) { return !next_step(*tables, number); });
  if (behind_.empty()) co_return;
  auto client = co_await connect();
  std::size_t steps = 0;
  const std::vector<std::int64_t> in_order(behind_.begin(), behind_.end());
  for (const auto number : in_order) {
    co_await catch_up(client, number, steps);
    if (steps < options_.most_steps) continue;
    follower_.look();
    co_return;
  }
}

awaitable<void> Tracker::catch_up(http::Client& client, std::int64_t number, std::size_t& steps) {
  while (steps < options_.most_steps) {
    const auto* tables = co_await server_.read();
    const auto step = next_step(*tables, number);
    if (!step) {
      behind_.erase(number);
      co_return;
    }
    const auto until = waits_until(step->issue);
    if (until && server_.clock().now() < *until) co_return;
    ++steps;
    std::string refusal;
    try {
      co_await perform(client, *step);
    } catch (const Error& error) {
      if (error.code() != Code::invalid) throw;
      refusal = error.one_line();
    }
    if (refusal.empty()) continue;
    log::warn("tickets: the tracker does not take what is new of ticket {}: {}", number, refusal);
    NoteRefused refused{number, std::move(refusal)};
    co_await server_.apply(std::move(refused));
    co_return;
  }
}

awaitable<void> Tracker::perform(http::Client& client, const Step& step) {
  if (step.kind != Step::Kind::set_state) {
    co_await send_entry(client, step);
    co_return;
  }
  const bool closed = !step.ticket.is_open();
  auto request = set_state(settings_, step.issue.number, closed);
  co_await ask(client, std::move(request), true);
  NoteState told{step.ticket.number, closed};
  co_await server_.apply(std::move(told));
}

awaitable<void> Tracker::send_entry(http::Client& client, const Step& step) {
  BeginSending begin{step.ticket.number, step.entry.number};
  const auto issue = co_await server_.apply(std::move(begin));
  const auto mark = mark_of(issue, step.entry.number);
  NoteSent sent{.ticket = step.ticket.number, .entry = step.entry.number};
  const bool opens = step.kind == Step::Kind::open_issue;
  std::optional<Found> found;
  if (step.may_be_there) found = co_await find(client, step, mark);
  if (!found) {
    auto request = opens ? create_issue(settings_, step.ticket, mark)
                         : create_comment(settings_, step.issue.number, step.entry, mark);
    const auto answer = co_await ask(client, std::move(request), !opens);
    if (opens) found = parse_issue(answer);
  }
  if (opens) {
    sent.number = found->number;
    sent.url = found->url;
  }
  co_await server_.apply(std::move(sent));
}

awaitable<std::optional<Found>> Tracker::find(http::Client& client, const Step& step, std::string mark) {
  const bool opens = step.kind == Step::Kind::open_issue;
  const auto since = from_unix_nanos(step.issue.trying_since) - kSkew;
  std::int64_t first = 0;
  for (std::int64_t page = 1; page <= kMostPages; ++page) {
    auto request =
        opens ? list_issues(settings_, since, page) : list_comments(settings_, step.issue.number, since, page);
    const auto answer = co_await ask(client, std::move(request), !opens);
    auto listed = opens ? parse_issues(answer) : parse_comments(answer);
    for (auto& it : listed) {
      if (bears(it.body, mark)) co_return std::move(it);
    }
    // Gitea lists all comments of an issue at once, whatever page is asked for.
    if (listed.empty() || listed.front().number == first) co_return std::nullopt;
    first = listed.front().number;
  }
  throw Error(Code::unavailable, fmt::format("it is not known whether the tracker has ticket {}", step.ticket.number))
      .because(fmt::format("{} pages were looked through", kMostPages));
}

awaitable<std::string> Tracker::ask(http::Client& client, http::Request request, bool of_one_issue) {
  request.headers.set("Authorization", "token " + token_);
  const std::string what = fmt::format("{} {}", request.method, request.target.substr(0, request.target.find('?')));
  auto response = co_await client.send(std::move(request));
  if (response.status >= 200 && response.status < 300) co_return std::move(response.body);
  const bool gone = of_one_issue && (response.status == 404 || response.status == 410);
  const bool refused = response.status == 400 || response.status == 413 || response.status == 422 || gone;
  Error error(refused ? Code::invalid : Code::unavailable,
              fmt::format("the tracker answers {} to {}", response.status, what));
  error.because(said(response));
  if (response.status == 401 || response.status == 403 || response.status == 404)
    error.advise(fmt::format("look whether the token in '{}' may write issues of '{}'", settings_.token_file,
                             settings_.repository));
  throw error;
}

}  // namespace underway::tracker
