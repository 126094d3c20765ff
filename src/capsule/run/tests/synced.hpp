#pragma once
/// @file
/// A capsule with `sync`, whose copies a test makes.
#include "base/text.hpp"
#include "os/file.hpp"
#include "run/config/config.hpp"
#include "run/sync.hpp"
#include "tests/capsules.hpp"

namespace underway::run {

class Synced : public Capsules {
 protected:
  void SetUp() override {
    Capsules::SetUp();
    if (IsSkipped()) return;
    try {
      require_sync();
    } catch (const Error& error) {
      GTEST_SKIP() << error.one_line();
    }
  }
  /// A service that has `first`, and whenever it is told, `save`: the number of the time is $n. `others` are further
  /// keys of the config.
  std::string saving(const std::string& save, const std::string& first = "true", const std::string& user = "",
                     const std::string& others = "{}") {
    boost::json::object main;
    main["command"] = {"/bin/sh", "-c",
                       fmt::format("{}; n=1; while true; do until [ -e /local/go.$n ]; do sleep 0.02; done; {} && echo "
                                   "saved $n; n=$((n+1)); done",
                                   first, save)};
    if (!user.empty()) main["user"] = user;
    const auto more = fmt::format(R"({{"service": [{{"main": [{}]}}], "protect": [{{"sync": true}}]}})",
                                  boost::json::serialize(main));
    auto all = boost::json::parse(config("true", "", more)).as_object();
    const auto further = boost::json::parse(others);
    for (const auto& [key, value] : further.as_object()) all[key] = value;
    return boost::json::serialize(all);
  }
  void tell(const TaskSpec& run, int number) {
    os::write_file(fmt::format("{}/local/go.{}", run.task_dir, number), "");
  }
  bool has_saved(const TaskSpec& run, int number) {
    return eventually([&] { return said(run, number); });
  }
  bool said(const TaskSpec& run, int number) const {
    return out(run).find(fmt::format("main: saved {}\n", number)) != std::string::npos;
  }
  /// All that was saved until now.
  void copy(const TaskSpec& run) {
    auto asked = control(run);
    asked.saves_copied(asked.saves(seconds{5}).newest, seconds{5});
  }
  /// Its saves are held from now on.
  void be_in_sync(const TaskSpec& run) {
    copy(run);
    copy(run);
    ASSERT_TRUE(control(run).status().behind < Duration{0});
  }
  /// It asks for a copy within a while.
  bool waits(const TaskSpec& run) {
    auto asking = control(run);
    asking.ask_for_saves();
    return eventually([&] { return asking.saves_wanted(); });
  }
};

}  // namespace underway::run
