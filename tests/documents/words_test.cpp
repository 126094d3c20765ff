// docs/glossary.md has the words of the code's API that are ours, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <sstream>

#include "documents/pages.hpp"
#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::documents {
namespace {

using testing::IsEmpty;

/// Types of public headers that nobody knows by their name who comes from elsewhere: each has its row. Who adds one to
/// a header adds it here.
const std::vector<std::string> kOurs = {
    "Attention",  "Authorizer", "Claim",    "CommitHook",   "Controller",  "Conversation", "Decision",
    "Dependents", "Discretion", "Division", "Drill",        "Epoch",       "Fence",        "Finding",
    "Fleet",      "Gate",       "Growth",   "Guard",        "HeadCheck",   "Impact",       "Judgement",
    "Keyring",    "Ledger",     "Loss",     "Manifest",     "Moment",      "NodeExecutor", "Orders",
    "Orphan",     "Outcome",    "Outlook",  "PeerIdentity", "Prospect",    "Protection",   "Rehearsal",
    "Rhythm",     "Right",      "Round",    "Scope",        "ServiceFlow", "Shortfall",    "SnapshotStore",
    "Standing",   "Standstill", "Station",  "Surveyed",     "Tally",       "Topic",        "Trash",
    "Trouble",    "Verdict",    "Writer"};

/// "SnapshotStore" and "snapshot_store" are "snapshot store"; what is no letter or digit is a blank.
std::string words_of(const std::string& text) {
  std::string out = " ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is = [&](std::size_t at, int (*kind)(int)) {
      return at < text.size() && kind(static_cast<unsigned char>(text[at])) != 0;
    };
    if (!is(i, std::isalnum)) {
      if (out.back() != ' ') out += ' ';
      continue;
    }
    const bool begins = is(i, std::isupper) && i > 0 && (is(i - 1, std::islower) || is(i + 1, std::islower));
    if (begins && out.back() != ' ') out += ' ';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  if (out.back() != ' ') out += ' ';
  return out;
}

bool is_public(const std::filesystem::path& path) {
  if (path.extension() != ".hpp") return false;
  return std::none_of(path.begin(), path.end(), [](const auto& part) {
    return part == "detail" || part == "tests" || part == "testing" || part == "fuzz";
  });
}

/// What the public headers say, as words.
std::string public_words() {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/src")) {
    if (is_public(entry.path().lexically_relative(source_dir())))
      all += words_of(harness::read_text(entry.path().string()));
  }
  return all;
}

/// "digest" of "| **digest (of an image)** | …".
std::vector<std::string> glossary() {
  std::vector<std::string> words;
  std::istringstream lines(harness::read_text(source_dir() + "/docs/glossary.md"));
  for (std::string line; std::getline(lines, line);) {
    static const std::regex kRow(R"(\| \*\*([^*(]+?)( \(.*\))?\*\*.*)");
    std::smatch found;
    if (std::regex_match(line, found, kRow)) words.push_back(found[1]);
  }
  return words;
}

/// The word, its plural, and how its verb ends.
bool occurs(const std::string& all, const std::string& word) {
  const auto plain = words_of(word);
  const auto stem = plain.substr(0, plain.size() - 1);
  for (const char* end : {" ", "s ", "d ", "ed "}) {
    if (all.find(stem + end) != std::string::npos) return true;
  }
  return stem.ends_with('y') && all.find(stem.substr(0, stem.size() - 1) + "ies ") != std::string::npos;
}

TEST(Glossary, HasNoWordThatIsInNoPublicHeader) {
  const auto all = public_words();
  auto words = glossary();
  EXPECT_GT(words.size(), 100U);
  std::erase_if(words, [&](const std::string& word) { return occurs(all, word); });
  EXPECT_THAT(words, IsEmpty());
}

TEST(Glossary, HasEveryTypeOfTheApiWhoseNameIsOurs) {
  const auto all = public_words();
  std::string rows;
  for (const auto& word : glossary()) rows += words_of(word);
  for (const auto& type : kOurs) {
    const auto singular = type.ends_with('s') ? type.substr(0, type.size() - 1) : type;
    EXPECT_TRUE(occurs(all, type)) << type << " is in no public header";
    EXPECT_TRUE(occurs(rows, type) || occurs(rows, singular)) << type << " is not in docs/glossary.md";
  }
}

TEST(Glossary, KnowsAWordByItsPartsInNames) {
  EXPECT_EQ(words_of("class SnapshotStore;"), " class snapshot store ");
  EXPECT_EQ(words_of("kHTTPPort_of"), " k http port of ");
  EXPECT_TRUE(occurs(words_of("trusted_keys"), "trusted key"));
  EXPECT_FALSE(occurs(words_of("distrusted_key"), "trusted key"));
}

}  // namespace
}  // namespace underway::documents
