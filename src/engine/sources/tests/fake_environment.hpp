#pragma once
// A server that answers from a table, and time that passes when told to.
#include "base/error.hpp"
#include "sources/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace underway::sources {

class FakeEnvironment final : public Environment {
 public:
  /// The last answer of a target stays.
  std::map<std::string, std::deque<http::Response>> answers;  ///< by "METHOD target"
  std::vector<http::Request> requests;
  std::string down;      ///< not empty: why nobody can be reached
  async::Event changed;  ///< blocking queries return
  std::string token = "site-token";
  std::optional<Error> token_problem;
  std::string jwt = "the.task.identity";
  std::vector<Asker> signed_for;
  std::vector<Duration> waits;
  TimePoint time = from_unix_nanos(1'700'000'000'000'000'000);

  awaitable<http::Response> send(http::Request request, Duration) override {
    requests.push_back(request);
    if (request.target.find("wait=") != std::string::npos) co_await changed.wait();
    if (!down.empty()) throw Error(Code::unavailable, "cannot connect to http://there").because(down);
    std::string target = request.target;
    if (const auto at = target.find("&index="); at != std::string::npos) target.resize(at);
    if (const auto at = target.find("?index="); at != std::string::npos) target.resize(at);
    const auto found = answers.find(request.method + " " + target);
    if (found == answers.end()) co_return http::json(R"({"errors":[]})", 404);
    http::Response response = found->second.front();
    if (found->second.size() > 1) found->second.pop_front();
    co_return response;
  }
  awaitable<std::string> site_token() override {
    if (token_problem) throw Error(*token_problem);
    co_return token;
  }
  awaitable<std::string> identity(Asker asker) override {
    signed_for.push_back(std::move(asker));
    co_return jwt;
  }
  awaitable<void> apart(std::function<void()> job) override {
    job();
    co_return;
  }
  TimePoint now() const override { return time; }
  double random() override { return 0; }
  awaitable<bool> wait(async::Event& news, Duration span) override {
    const TimePoint end = time + span;
    waits.push_back(span);
    const auto mine = timers_.emplace(end, &news);
    const auto gone = [this, mine](int*) { timers_.erase(mine); };
    int any = 0;
    const std::unique_ptr<int, decltype(gone)> guard(&any, gone);
    if (time < end) co_await news.wait();
    co_return time < end;
  }

  void settle() {
    do loop.context().restart();
    while (loop.context().poll() > 0);
  }
  void pass(Duration span) {
    settle();
    time += span;
    std::set<async::Event*> due;
    for (const auto& [end, news] : timers_)
      if (end <= time) due.insert(news);
    for (auto* news : due) news->notify_all();
    settle();
  }
  std::size_t asked(const std::string& part) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        requests, [&](const auto& r) { return (r.method + " " + r.target).find(part) != std::string::npos; }));
  }
  std::string header(const std::string& part, const char* name) const {
    for (const auto& request : requests)
      if (request.target.find(part) != std::string::npos) return std::string(request.headers.find(name).value_or(""));
    return "no request";
  }

  async::Loop loop;

 private:
  std::multimap<TimePoint, async::Event*> timers_;
};

}  // namespace underway::sources
