#include "snapshot/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "snapshot/state_file.hpp"

namespace underway::snapshot {
namespace {

class Archive : public ::testing::Test {
 protected:
  Archive() {
    std::string pattern = (std::filesystem::temp_directory_path() / "underway-snapshot-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~Archive() override { std::filesystem::remove_all(directory); }
  std::string path(const std::string& name) const { return directory + "/" + name; }

  static std::vector<store::KeyValue> some_keys() {
    std::vector<store::KeyValue> keys;
    for (int i = 0; i < 300; ++i)
      keys.push_back({fmt::format("a/{:03}", i), std::string(static_cast<std::size_t>(i), 'v'), i + 1, i + 5, 2});
    return keys;
  }
  Packed make(const std::string& name, Metadata metadata = {}) {
    StateWriter writer(path(name + ".state"));
    for (const auto& key : some_keys()) writer.add(key);
    metadata.size = writer.finish();
    metadata.program = "0.1.0";
    return pack(metadata, path(name + ".state"), path(name));
  }
  /// What unpacking says; nothing when it unpacks.
  std::string refusal(const std::string& name) {
    try {
      unpack(path(name), path("out"));
    } catch (const Error& error) {
      EXPECT_FALSE(os::exists(path("out"))) << "what was refused lies there";
      return fmt::format("{}: {}", to_string(error.code()), error.one_line());
    }
    os::remove_tree(path("out"));
    return {};
  }
  struct Member {
    std::string name, text;
    unsigned type = AE_IFREG;
  };
  /// By another program.
  void make_by_hand(const std::string& name, const std::vector<Member>& members) {
    const std::unique_ptr<archive, int (*)(archive*)> writer(archive_write_new(), &archive_write_free);
    archive_write_set_format_pax_restricted(writer.get());
    archive_write_add_filter_gzip(writer.get());
    archive_write_open_filename(writer.get(), path(name).c_str());
    for (const auto& member : members) {
      const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), &archive_entry_free);
      archive_entry_set_pathname(entry.get(), member.name.c_str());
      archive_entry_set_filetype(entry.get(), member.type);
      if (member.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), member.text.c_str());
      archive_entry_set_size(entry.get(), member.type == AE_IFREG ? static_cast<la_int64_t>(member.text.size()) : 0);
      archive_write_header(writer.get(), entry.get());
      archive_write_data(writer.get(), member.text.data(), member.text.size());
    }
    archive_write_close(writer.get());
  }
  static std::string sums(const std::vector<Member>& members) {
    std::string out;
    for (const auto& member : members) out += hex(crypto::sha256(member.text)) + "  " + member.name + "\n";
    return out;
  }

  std::string directory;
};

TEST_F(Archive, GivesBackWhatWasPacked) {
  Metadata metadata;
  metadata.id = "snapshot-9";
  metadata.index = 9;
  metadata.cluster_id = "c";
  metadata.keys = {{"k1", true, 5, "d3JhcHBlZA=="}};
  const Packed packed = make("a", metadata);
  const std::string bytes = os::read_file(path("a"));
  EXPECT_EQ(packed.size, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(packed.sha256, crypto::sha256(bytes));
  const Metadata found = unpack(path("a"), path("out"));
  EXPECT_EQ(found.id, "snapshot-9");
  EXPECT_EQ(found.index, 9);
  EXPECT_EQ(found.cluster_id, "c");
  ASSERT_EQ(found.keys.size(), 1u);
  EXPECT_EQ(found.keys[0].wrapped, "d3JhcHBlZA==");
  StateReader reader(path("out"));
  for (const auto& expected : some_keys()) {
    const auto kv = reader.next();
    ASSERT_TRUE(kv);
    EXPECT_EQ(kv->key, expected.key);
    EXPECT_EQ(kv->value, expected.value);
    EXPECT_EQ(kv->create_revision, expected.create_revision);
    EXPECT_EQ(kv->mod_revision, expected.mod_revision);
    EXPECT_EQ(kv->version, expected.version);
  }
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(inspect(path("a")).index, 9);
}

TEST_F(Archive, RefusesWhatIsCutShortAnywhere) {
  make("a");
  const std::string bytes = os::read_file(path("a"));
  // Behind the last member lie zeros alone: without them nothing is lost.
  for (std::size_t size = 0; size + 40 < bytes.size(); size += 1 + size / 16) {
    os::write_file(path("cut"), bytes.substr(0, size), 0600, {}, os::Durability::cached);
    EXPECT_NE(refusal("cut"), "") << size << " of " << bytes.size();
  }
}

TEST_F(Archive, RefusesAByteThatWasChangedAnywhere) {
  make("a");
  const std::string bytes = os::read_file(path("a"));
  Metadata metadata;
  for (std::size_t at = 20; at + 40 < bytes.size(); at += 7) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    os::write_file(path("bad"), changed, 0600, {}, os::Durability::cached);
    std::string after;
    try {
      unpack(path("bad"), path("out"));
      after = os::read_file(path("out"));
      os::remove_tree(path("out"));
    } catch (const Error&) {
      continue;
    }
    EXPECT_EQ(after, os::read_file(path("a.state"))) << at;
  }
}

TEST_F(Archive, RefusesOtherVersionsAndOtherPrograms) {
  Metadata newer;
  newer.format = kFormat + 1;
  make("newer", newer);
  EXPECT_NE(refusal("newer").find("unsupported: this snapshot was made by a newer version"), std::string::npos);
  const Member state{"state.bin", "raft", AE_IFREG},
      meta{"meta.json", R"({"Version":1,"ID":"2-9-1","Index":9})", AE_IFREG};
  make_by_hand("nomad", {meta, state, {"SHA256SUMS", sums({meta, state}), AE_IFREG}});
  EXPECT_NE(refusal("nomad").find("unsupported: this is a snapshot of another program"), std::string::npos);
}

TEST_F(Archive, TakesNothingButItsThreeFilesInTheirOrder) {
  make("a");
  Metadata metadata;
  metadata.program = "0.1.0";
  const std::string state_text = os::read_file(path("a.state"));
  const Member state{"state.bin", state_text, AE_IFREG};
  const Member meta{"meta.json", fmt::format(R"({{"Program":"0.1.0","Format":1,"Size":{}}})", state_text.size()),
                    AE_IFREG};
  const Member all_sums{"SHA256SUMS", sums({meta, state}), AE_IFREG};
  make_by_hand("good", {meta, state, all_sums});
  EXPECT_EQ(refusal("good"), "");
  make_by_hand("turned", {state, meta, all_sums});
  EXPECT_NE(refusal("turned"), "");
  make_by_hand("more", {meta, state, all_sums, {"../../etc/passwd", "root", AE_IFREG}});
  EXPECT_NE(refusal("more"), "");
  make_by_hand("less", {meta, state});
  EXPECT_NE(refusal("less"), "");
  make_by_hand("link", {meta, {"state.bin", "/etc/passwd", AE_IFLNK}, all_sums});
  EXPECT_NE(refusal("link"), "");
  make_by_hand("wrong sums", {meta, state, {"SHA256SUMS", sums({state, meta}), AE_IFREG}});
  EXPECT_NE(refusal("wrong sums").find("sums"), std::string::npos);
  os::write_file(path("text"), "no archive at all", 0600, {}, os::Durability::cached);
  EXPECT_NE(refusal("text"), "");
}

TEST_F(Archive, RefusesAStateThatIsWrongThoughItsSumIsRight) {
  const auto packed = [&](const std::string& name, const std::string& text) {
    const Member state{"state.bin", text, AE_IFREG};
    const Member meta{"meta.json", fmt::format(R"({{"Program":"0.1.0","Format":1,"Size":{}}})", text.size()), AE_IFREG};
    make_by_hand(name, {meta, state, {"SHA256SUMS", sums({meta, state}), AE_IFREG}});
    return refusal(name);
  };
  make("a");
  const std::string good = os::read_file(path("a.state"));
  EXPECT_EQ(packed("good", good), "");
  EXPECT_NE(packed("cut", good.substr(0, good.size() - 5)), "");
  EXPECT_NE(packed("longer", good + "x"), "");
  EXPECT_NE(packed("mark", "X" + good.substr(1)), "");
  std::string lies = good;
  lies[8] = '\x7f';
  lies[11] = '\x7f';  // a key of two gigabytes
  EXPECT_NE(packed("lies", lies), "");
  EXPECT_NE(packed("empty", ""), "");
}

TEST_F(Archive, BoundsWhatItUnpacksTo) {
  make("a");
  try {
    unpack(path("a"), path("out"), {.state_bytes = 1000});
    FAIL() << "a bomb was unpacked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::too_large);
  }
  EXPECT_FALSE(os::exists(path("out")));
}

}  // namespace
}  // namespace underway::snapshot
