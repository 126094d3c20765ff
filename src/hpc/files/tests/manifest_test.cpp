#include "files/manifest.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::files {
namespace {

using ::testing::HasSubstr;

ManifestEntry file(const std::string& path, const std::string& bytes = "x") {
  ManifestEntry entry;
  entry.path = path;
  entry.file = path;
  entry.digest = hex(crypto::sha256(bytes));
  entry.size = static_cast<std::int64_t>(bytes.size());
  return entry;
}

Manifest manifest() {
  Manifest out;
  out.node_id = "n1";
  out.revision = 20;
  out.entries = {file("/etc/group"), file("/etc/passwd")};
  return out;
}

std::string refusal(const SignedManifest& sent, const Expectation& expected) {
  try {
    open_manifest(sent, expected);
  } catch (const Error& error) {
    return error.one_line();
  }
  return "believed";
}

class ManifestTest : public ::testing::Test {
 protected:
  const crypto::SigningKey key_ = crypto::SigningKey::generate();
  SignedManifest sent_ = sign(manifest(), key_);
  Expectation expected_{.node_id = "n1", .trust = {0, {sent_.key}, {}}, .epoch = 1, .revision = 20};
};

TEST_F(ManifestTest, IsBelievedWhenItIsGenuineAndNotOlder) {
  EXPECT_TRUE(describe::equal(open_manifest(sent_, expected_), manifest()));
  expected_.trust = {};
  EXPECT_EQ(refusal(sent_, expected_), "believed") << "the first one is taken at its word";
  expected_.revision = 3;
  EXPECT_EQ(refusal(sent_, expected_), "believed");
}

TEST_F(ManifestTest, IsRefusedByOneChangedByte) {
  for (std::size_t i = 0; i < sent_.text.size(); i += 7) {
    auto changed = sent_;
    changed.text[i] = static_cast<char>(changed.text[i] ^ 1);
    EXPECT_THAT(refusal(changed, expected_), HasSubstr("signature does not fit")) << i;
  }
}

TEST_F(ManifestTest, OfAnotherKeyIsRefused) {
  const auto other = sign(manifest(), crypto::SigningKey::generate());
  EXPECT_THAT(refusal(other, expected_), HasSubstr("a key that this node does not trust"));
}

TEST_F(ManifestTest, OfAWithdrawnKeyIsRefused) {
  expected_.trust = {2, {base64_encode(crypto::SigningKey::generate().verifying().bytes)}, {sent_.key}};
  EXPECT_THAT(refusal(sent_, expected_), HasSubstr("signed by a key that was withdrawn"));
}

TEST_F(ManifestTest, OfAnotherTargetIsRefused) {
  expected_.node_id = "n2";
  EXPECT_THAT(refusal(sent_, expected_), HasSubstr("for node 'n1'"));
  expected_.node_id = "n1";
  expected_.capsule = "slurm";
  EXPECT_THAT(refusal(sent_, expected_), HasSubstr("another target"));
}

TEST_F(ManifestTest, OlderThanWhatWasAppliedIsRefusedUntilTheEpochRises) {
  expected_.revision = 21;
  EXPECT_THAT(refusal(sent_, expected_), HasSubstr("it is of revision 1.20, and 1.21 was applied"));
  auto restored = manifest();
  restored.epoch = 2;
  restored.revision = 5;
  EXPECT_EQ(refusal(sign(restored, key_), expected_), "believed");
}

TEST_F(ManifestTest, ThatAsksForWhatCannotBeIsRefusedWithAllReasons) {
  Manifest wrong = manifest();
  wrong.entries = {file("/etc/../shadow"), file("/etc/x"), file("/etc/x")};
  wrong.entries[1].digest = "12";
  const auto said = refusal(sign(wrong, key_), expected_);
  EXPECT_THAT(said, HasSubstr("'/etc/../shadow': the path has an empty part, '.' or '..'"));
  EXPECT_THAT(said, HasSubstr("'/etc/x': its digest is none"));
  EXPECT_THAT(said, HasSubstr("'/etc/x' stands twice"));
}

TEST_F(ManifestTest, HasTheSameDigestWhateverItsRevision) {
  auto later = manifest();
  later.revision = 99;
  EXPECT_EQ(digest_of(later), digest_of(manifest()));
  later.entries[0].mode = 0600;
  EXPECT_NE(digest_of(later), digest_of(manifest()));
}

TEST(FileDeclaration, AllProblemsAreSaidAtOnce) {
  model::FileDeclaration wrong;
  wrong.name = "etc/passwd";
  wrong.mode = "999";
  wrong.owner = "-x";
  wrong.after = model::FileHook{};
  wrong.xattrs = {{"plain", ""}};
  wrong.reloads.emplace_back();
  EXPECT_EQ(join(problems(wrong), "\n"),
            "file 'etc/passwd': the path is not absolute\n"
            "file 'etc/passwd': it has neither `source` nor `content`\n"
            "file 'etc/passwd': mode '999' is no octal mode, as 0644\n"
            "file 'etc/passwd': owner '-x' is no user's name\n"
            "file 'etc/passwd': xattr 'plain': the name has a namespace before a dot, as 'user.origin'\n"
            "file 'etc/passwd': after: it has no command\n"
            "file 'etc/passwd': reload: it names no job");
}

TEST(FileDeclaration, ASecretIsNotForEverybody) {
  model::FileDeclaration secret;
  secret.name = "/etc/munge/munge.key";
  secret.content = "x";
  secret.secret = true;
  EXPECT_EQ(file_mode(secret), 0600);
  EXPECT_TRUE(problems(secret).empty());
  secret.mode = "0644";
  EXPECT_THAT(join(problems(secret), "\n"), HasSubstr("mode 0644 lets everybody on the node at a secret"));
}

TEST(FileDeclaration, PathsArePlain) {
  for (const char* path :
       {"", "/", "etc", "/etc//x", "/etc/./x", "/etc/..", "/etc/x/", "/proc/sys/x", "/sys/x", "/dev/x"})
    EXPECT_NE(model::file_path_problem(path), "") << path;
  for (const char* path : {"/etc/passwd", "/x", "/etc/a b", "/etc/.hidden", "/device"})
    EXPECT_EQ(model::file_path_problem(path), "") << path;
}

}  // namespace
}  // namespace underway::files
