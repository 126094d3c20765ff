// Whether a program that knows Nomad's API notices that this is another server: a table of calls is made on a real
// agent, and each answer compared with Nomad's, key by key and null by null. README.md says how to record anew.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "harness/machine.hpp"
#include "harness/places.hpp"
#include "strangers/compare.hpp"
#include "strangers/genuine.hpp"
#include "strangers/server.hpp"

namespace underway::strangers {
namespace {

using boost::json::object;
using boost::json::value;
using harness::read_text;
using std::chrono::seconds;

std::string place(const std::string& name) { return source_dir() + "/tests/strangers/" + name; }
value parsed_file(const std::string& name) { return boost::json::parse(read_text(place(name))); }
boost::json::array listed(const std::string& name) { return parsed_file(name).as_array(); }
std::string text_of(const object& from, const char* key) {
  const auto* found = from.if_contains(key);
  return found == nullptr ? std::string() : std::string(std::string_view(found->as_string()));
}

/// "0.TaskStates.t": null when it is not there.
const value* find(const value& in, std::string_view path) {
  const value* at = &in;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string step(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
    if (const auto* list = at->if_array()) {
      const auto index = static_cast<std::size_t>(std::stoul(step));
      if (index >= list->size()) return nullptr;
      at = &(*list)[index];
    } else if (const auto* here = at->if_object()) {
      at = here->if_contains(step);
      if (at == nullptr) return nullptr;
    } else {
      return nullptr;
    }
  }
  return at;
}

/// Makes the calls of the table on one server, with the names that earlier answers gave: "{alloc}".
class Caller {
 public:
  explicit Caller(Server server) : server_(std::move(server)) {}

  struct Answered {
    int status = 0;
    value body;
  };
  Answered ask(const object& call) {
    const std::string method = text_of(call, "method"), target = filled(text_of(call, "path"));
    const auto* given = call.if_contains("body");
    const std::string body = given == nullptr ? "" : filled(boost::json::serialize(*given));
    Answered got;
    const auto once = [&] {
      const Answer answer = server_.ask(method, target, body);
      boost::system::error_code failed;
      value json = boost::json::parse(answer.body, failed);
      got = {answer.status, failed ? value(answer.body) : std::move(json)};
      return is_awaited(call, got.body);
    };
    EXPECT_TRUE(harness::eventually(seconds(20), once))
        << method << " " << target << " never was as awaited: " << got.status << boost::json::serialize(got.body);
    keep_only(call, got.body);
    remember(call, got.body);
    return got;
  }

 private:
  std::string filled(std::string text) const {
    for (const auto& [name, word] : names_) {
      for (std::size_t at = 0; (at = text.find("{" + name + "}")) != std::string::npos;)
        text.replace(at, name.size() + 2, word);
    }
    return text;
  }
  static bool is_awaited(const object& call, const value& body) {
    const auto* until = call.if_contains("until");
    if (until == nullptr) return true;
    for (const auto& [path, wanted] : until->as_object()) {
      const auto* found = find(body, path);
      if (found == nullptr || *found != wanted) return false;
    }
    return true;
  }
  /// Of a list, those whose members are these.
  static void keep_only(const object& call, value& body) {
    const auto* only = call.if_contains("only");
    if (only == nullptr || !body.is_array()) return;
    boost::json::array kept;
    for (const auto& element : body.get_array()) {
      bool wanted = true;
      for (const auto& [path, word] : only->as_object()) {
        const auto* found = find(element, path);
        wanted = wanted && found != nullptr && *found == word;
      }
      if (wanted) kept.push_back(element);
    }
    body = std::move(kept);
  }
  void remember(const object& call, const value& body) {
    const auto* save = call.if_contains("save");
    if (save == nullptr) return;
    for (const auto& [name, path] : save->as_object()) {
      const auto* found = find(body, path.as_string());
      if (found != nullptr && found->is_string()) names_[std::string(name)] = std::string_view(found->get_string());
    }
  }

  Server server_;
  std::map<std::string, std::string> names_;
};

/// Whether `pattern`, in which "*" stands for anything, is the whole of `text`.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*')
    return !text.empty() && text.front() == pattern.front() && matches(pattern.substr(1), text.substr(1));
  for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
    if (matches(pattern.substr(1), text.substr(skipped))) return true;
  }
  return false;
}

/// differences.json: what differs on purpose. An entry that was needed by nothing says what is not true any more.
class OnPurpose {
 public:
  OnPurpose() : entries_(listed("differences.json")), used_(entries_.size(), false) {}

  bool has(const std::string& recording, const Difference& difference) {
    bool found = false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const auto& entry = entries_[i].as_object();
      if (!matches(text_of(entry, "recording"), recording) || !matches(text_of(entry, "where"), difference.where) ||
          text_of(entry, "kind") != difference.kind)
        continue;
      used_[i] = found = true;
    }
    return found;
  }
  std::vector<std::string> unused() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!used_[i]) out.push_back(boost::json::serialize(entries_[i]));
    }
    return out;
  }

 private:
  boost::json::array entries_;
  std::vector<bool> used_;
};

class StrangersTest : public testing::Test {
 protected:
  StrangersTest() {
    const auto names = listed("untold.json");
    for (const auto& name : names) untold_.emplace_back(std::string_view(name.as_string()));
  }
  /// Not where untold.json names the member, or the whole place.
  bool is_told(const std::string& where) const {
    const std::string name = where.substr(where.rfind('.') + 1);
    return std::none_of(untold_.begin(), untold_.end(), [&](const std::string& untold) {
      return untold == name || (untold.find('*') != std::string::npos && matches(untold, where));
    });
  }
  std::string ours() const { return machine_.state() + "/run/agent.sock"; }

  /// What Nomad answers: the genuine one beside us, or what is written down.
  Caller::Answered theirs(const object& call, const std::string& recording) {
    if (!genuine_) {
      const auto written = parsed_file("recordings/" + recording + ".json").as_object();
      return {static_cast<int>(written.at("status").as_int64()), written.at("body")};
    }
    auto answered = genuine_caller_->ask(call);
    if (std::getenv("UNDERWAY_RECORD") != nullptr) write_down(recording, answered);
    return answered;
  }
  void meet_genuine() {
    genuine_ = Genuine::find();
    if (genuine_) genuine_caller_.emplace(Server(genuine_->address(), genuine_->token()));
  }

  harness::Machine machine_;
  std::unique_ptr<Genuine> genuine_;
  std::optional<Caller> genuine_caller_;

 private:
  void write_down(const std::string& recording, const Caller::Answered& answered) const {
    const object out{{"source", "a genuine server, " + genuine_->program()},
                     {"version", genuine_->version()},
                     {"how", "recorded"},
                     {"status", answered.status},
                     {"body", answered.body}};
    harness::write_text(place("recordings/" + recording + ".json"), boost::json::serialize(out) + "\n");
  }

  std::vector<std::string> untold_;
};

TEST_F(StrangersTest, NoticeNoDifferenceButThoseOnPurpose) {
  meet_genuine();
  OnPurpose on_purpose;
  Caller caller{Server(ours())};
  std::set<std::string> asked;
  const auto calls = listed("calls.json");
  for (const auto& entry : calls) {
    const auto& call = entry.as_object();
    const std::string recording = text_of(call, "recording");
    const auto got = caller.ask(call);
    EXPECT_EQ(got.status, 200) << text_of(call, "name") << ": " << boost::json::serialize(got.body);
    if (recording.empty()) {
      if (genuine_) genuine_caller_->ask(call);
      continue;
    }
    asked.insert(recording);
    const auto wanted = theirs(call, recording);
    EXPECT_EQ(got.status, wanted.status) << text_of(call, "name");
    const auto told = [this](const std::string& where) { return is_told(where); };
    for (const auto& difference : compare(wanted.body, got.body, told)) {
      if (!on_purpose.has(recording, difference)) ADD_FAILURE() << recording << ": " << difference.text();
    }
  }
  for (const auto& entry : on_purpose.unused()) ADD_FAILURE() << "nothing differs so any more: " << entry;
  for (const auto& file : std::filesystem::directory_iterator(place("recordings")))
    EXPECT_TRUE(asked.contains(file.path().stem())) << file.path() << " is the answer to no call";
}

TEST_F(StrangersTest, ReadTheTextsThatTheyMatch) {
  meet_genuine();
  Caller caller{Server(ours())};
  const auto calls = listed("texts.json");
  for (const auto& entry : calls) {
    const auto& call = entry.as_object();
    const auto got = caller.ask(call);
    const auto first_line = [](const value& body) {
      const std::string text =
          body.is_string() ? std::string(std::string_view(body.get_string())) : boost::json::serialize(body);
      return text.substr(0, text.find('\n'));
    };
    int status = static_cast<int>(call.at("status").as_int64());
    std::string text = text_of(call, "text");
    if (genuine_) {
      const auto real = genuine_caller_->ask(call);
      status = real.status;
      EXPECT_TRUE(matches(text, first_line(real.body)))
          << "the genuine one says " << real.body << ", the list " << text;
    }
    EXPECT_EQ(got.status, status) << text_of(call, "path") << ": " << got.body;
    EXPECT_TRUE(matches(text, first_line(got.body)))
        << text_of(call, "path") << " says " << got.body << ", there it is " << text;
  }
}

/// Scripts and Terraform read what there is and write it back: that is no change.
TEST_F(StrangersTest, WriteBackWhatTheyReadAndChangeNothing) {
  const Server server(ours());
  const auto calls = listed("calls.json");
  for (const auto& entry : calls) {
    const auto& call = entry.as_object();
    if (text_of(call, "path") != "/v1/jobs" || text_of(call, "method") != "PUT") continue;
    ASSERT_EQ(server.ask("PUT", "/v1/jobs", boost::json::serialize(call.at("body"))).status, 200);
    const std::string id(std::string_view(call.at("body").at("Job").at("ID").as_string()));
    const value before = boost::json::parse(server.ask("GET", "/v1/job/" + id).body);
    const auto written = server.ask("PUT", "/v1/jobs", boost::json::serialize(object{{"Job", before}}));
    ASSERT_EQ(written.status, 200) << id << ": " << written.body;
    const value after = boost::json::parse(server.ask("GET", "/v1/job/" + id).body);
    EXPECT_EQ(after.at("Version"), before.at("Version")) << id << "\n" << before << "\n" << after;
    EXPECT_EQ(after.at("JobModifyIndex"), before.at("JobModifyIndex")) << id;
  }
  server.ask("DELETE", "/v1/job/web?purge=true");
}

}  // namespace
}  // namespace underway::strangers
