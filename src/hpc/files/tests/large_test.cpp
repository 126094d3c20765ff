// Files that are kept and sent in pieces, as the server has them.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "files/masters/pieces.hpp"
#include "tests/world.hpp"

namespace underway::files {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kPiece = model::kPieceBytes;

std::string large_digest(const std::string& bytes) { return hex(crypto::sha256(bytes)); }

/// No two pieces of it are the same.
std::string bytes_of(std::size_t size, const std::string& tag) {
  std::string out;
  for (int line = 0; out.size() < size; ++line) out += fmt::format("{} {}\n", tag, line);
  out.resize(size);
  return out;
}

class LargeTest : public FilesWorld {
 protected:
  async::awaitable<std::string> read_stream(std::shared_ptr<link::Connection> link, BytesRequest request) {
    auto header = json::to_value(request);
    const auto stream = co_await link->open("files.bytes", std::move(header));
    stream->end();
    std::string out;
    while (auto chunk = co_await stream->read()) {
      largest_chunk_ = std::max(largest_chunk_, chunk->bytes.size());
      out += chunk->bytes;
    }
    co_return out;
  }
  async::awaitable<void> read_whole(std::shared_ptr<link::Connection> link, std::string bytes, int& whole) {
    const BytesRequest request{"", large_digest(bytes), 0};
    if (co_await read_stream(link, request) == bytes) ++whole;
  }
  std::string fetch(FakeNode& node, const std::string& large_digest, std::int64_t offset = 0) {
    return loop.run_until_done(read_stream(node.connection, {"", large_digest, offset}));
  }
  std::size_t pieces() const { return tables::records<model::FilePiece>(tables()).size(); }
  /// As a client does it.
  model::FileDeclaration sent(const std::string& path, const std::string& bytes, bool secret = false) {
    model::FileDeclaration out;
    out.name = path;
    out.secret = secret;
    out.sent = model::SentBytes{large_digest(bytes), static_cast<std::int64_t>(bytes.size()), {}};
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
      out.sent->pieces.push_back(loop.run_until_done(service.put_piece(bytes.substr(at, kPiece), secret)));
    return out;
  }

  static async::awaitable<void> write_all(std::shared_ptr<link::Stream> stream, std::string bytes) {
    co_await stream->write(std::move(bytes));
    stream->end();
  }

  std::size_t largest_chunk_ = 0;
};

TEST_F(LargeTest, AFileIsKeptInPiecesAndReadFromAnyOfItsBytesOn) {
  auto& c1 = join(1);
  const std::string bytes = bytes_of(3 * kPiece + 5, "licence");
  put({file("/opt/licence.db", bytes)});
  EXPECT_EQ(pieces(), 4U);
  const auto wanted = manifest(c1);
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->entries.at(0).digest, large_digest(bytes));
  EXPECT_EQ(wanted->entries.at(0).size, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(fetch(c1, large_digest(bytes)), bytes);
  EXPECT_EQ(fetch(c1, large_digest(bytes), kPiece + 17), bytes.substr(kPiece + 17)) << "as after a broken link";
  EXPECT_EQ(fetch(c1, large_digest(bytes), static_cast<std::int64_t>(bytes.size())), "");
  EXPECT_LE(largest_chunk_, 64U << 10) << "nobody holds more of it than he has to";
  EXPECT_THAT(refusal([&] { content(c1, large_digest(bytes)); }), HasSubstr("does not fit into an answer"));
  EXPECT_THAT(refusal([&] { service.preview("hpc", "/opt/licence.db", c1.id())(); }),
              AllOf(HasSubstr("'/opt/licence.db' is not shown"), HasSubstr("1.0 MiB at most")));
}

TEST_F(LargeTest, TwoVersionsShareWhatIsTheSame) {
  std::string bytes = bytes_of(3 * kPiece, "plugin");
  put({sent("/opt/plugin.so", bytes)});
  const auto before = tables::records<model::FilePiece>(tables());
  bytes.back() = '!';
  EXPECT_THAT(put({sent("/opt/plugin.so", bytes)}).changed, ElementsAre("/opt/plugin.so"));
  EXPECT_EQ(pieces(), 3U) << "what only the old version had is gone";
  int shared = 0;
  for (const auto& piece : before) shared += tables::find_record<model::FilePiece>(tables(), piece.id) ? 1 : 0;
  EXPECT_EQ(shared, 2);
  remove("/opt/plugin.so");
  EXPECT_EQ(pieces(), 0U);
}

TEST_F(LargeTest, WhatTheServerHasIsNotSentAgain) {
  const std::string bytes = bytes_of(2 * kPiece, "same");
  put({sent("/opt/a", bytes)});
  auto again = sent("/opt/a", bytes);
  again.sent->pieces.clear();
  EXPECT_EQ(put({again}).unchanged, 1);
  again.name = "/opt/b";
  EXPECT_THAT(put({again}).added, ElementsAre("/opt/b"));
  again.sent->digest = large_digest("something else");
  EXPECT_THAT(put({again}, false, true).changed, ElementsAre("/opt/b")) << "a plan needs no bytes";
  EXPECT_THAT(refusal([&] { put({again}); }), HasSubstr("the bytes of file '/opt/b' are not here"));
}

TEST_F(LargeTest, ASecretIsSealedPieceByPieceAndItsDigestToo) {
  auto& compute = join(1);
  auto& login = join(2, "login");
  const std::string bytes = bytes_of(2 * kPiece + 1, "secret-of-the-site");
  auto key = file("/etc/vault", bytes);
  key.secret = true;
  key.targets.pools = {"compute"};
  put({key});
  EXPECT_EQ(fetch(compute, large_digest(bytes)), bytes);
  EXPECT_THAT(refusal([&] { fetch(login, large_digest(bytes)); }), HasSubstr("these bytes are not for this node"));
  std::string all;
  for (const auto& row : tables().rows<model::Record>()) all += row->name + boost::json::serialize(row->body);
  EXPECT_THAT(all, Not(HasSubstr(large_digest(bytes))));
  EXPECT_THAT(all, Not(HasSubstr(large_digest(bytes.substr(0, kPiece))))) << "nor of a piece";
  EXPECT_THAT(all, Not(HasSubstr(base64_encode(bytes.substr(0, 30)))));
  EXPECT_EQ(put({key}).unchanged, 1);

  const std::string old = server.keyring().active_id();
  loop.run_until_done(server.variables().rotate(true));
  EXPECT_THAT(refusal([&] { service.refuse_removal(tables(), old); }),
              HasSubstr("file '/etc/vault' is sealed under it"));
  loop.run_until_done(service.seal_anew());
  EXPECT_EQ(refusal([&] { service.refuse_removal(tables(), old); }), "no error");
  settle();
  EXPECT_EQ(fetch(compute, large_digest(bytes)), bytes);
}

TEST_F(LargeTest, ADigestThatLiesIsRefusedBeforeAnybodySeesIt) {
  auto lying = sent("/opt/a", bytes_of(2 * kPiece, "true"));
  lying.sent->digest = large_digest("lie");
  EXPECT_THAT(refusal([&] { put({lying}); }), HasSubstr("its pieces are not the bytes that it says"));
  auto missing = sent("/opt/a", bytes_of(2 * kPiece, "true"));
  missing.sent->pieces.back() = "sha256-" + large_digest("never sent");
  EXPECT_THAT(refusal([&] { put({missing}); }), HasSubstr("a piece of these bytes is not here"));
  auto plain = sent("/opt/a", bytes_of(2 * kPiece, "true"));
  plain.secret = true;
  EXPECT_THAT(refusal([&] { put({plain}); }), HasSubstr("a piece of it was not sent as a secret"));
  EXPECT_TRUE(tables::records<model::FileDeclaration>(tables()).empty());
  EXPECT_THAT(refusal([&] { loop.run_until_done(service.put_piece(std::string(kPiece + 1, 'x'), false)); }),
              HasSubstr("a piece of a file has 1 to 1048576 bytes"));
}

TEST_F(LargeTest, LimitsAreSaidWithWhatToDo) {
  EXPECT_THAT(
      refusal([&] { put({file("/opt/a", std::string(model::kFileBytes + 1, 'x'))}); }),
      AllOf(HasSubstr("64.0 MiB at most are synchronised"), HasSubstr("into the image or on a shared file system")));
  auto rendered = file("/opt/a", std::string(kPiece + 1, 'x'));
  rendered.templating = model::FileTemplate::go;
  EXPECT_THAT(refusal([&] { put({rendered}); }), HasSubstr("a template or a part of one has 1.0 MiB at most"));
}

TEST_F(LargeTest, PiecesThatNoFileNamesGoAfterAWhile) {
  EXPECT_FALSE(loop.run_until_done(service.put_piece("left by a client that was killed", false)).empty());
  put({file("/opt/a", bytes_of(2 * kPiece, "named"))});
  const auto collected = [&](Duration later) {
    const server::Context context{clock.now() + later, ids};
    return decide(tables(), CollectPieces{}, context).changes.size();
  };
  EXPECT_EQ(collected(kUnnamedPieces / 2), 0U) << "its declaration may still come";
  EXPECT_EQ(collected(kUnnamedPieces + std::chrono::seconds(1)), 1U) << "and those that a file names stay";
}

TEST_F(LargeTest, WhoeverIsNotServedYetWaitsForHisTurn) {
  auto& c1 = join(1);
  const std::string bytes = bytes_of(kPiece + 1, "many");
  put({file("/opt/many", bytes)});
  constexpr int kReaders = 100;
  int whole = 0;
  async::TaskGroup readers(loop.executor(), "readers");
  for (int i = 0; i < kReaders; ++i) readers.spawn("reader", read_whole(c1.connection, bytes, whole));
  server::testing::run_until(loop, [&] { return whole == kReaders; });
  loop.run_until_done(readers.stop());
}

TEST_F(LargeTest, ALargeMasterOnANodeIsTakenOverInPieces) {
  auto& mgmt = join(2, "management");
  const std::string master = bytes_of(2 * kPiece + 100, "hosts");
  std::string streamed = master.substr(0, kPiece);  // as if it grew while it is read
  mgmt.answers["files.master"] = [&](const boost::json::value& body) {
    MasterReply reply;
    if (json::decode<MasterRequest>(body).have != large_digest(master)) {
      reply.digest = large_digest(master);
      reply.size = static_cast<std::int64_t>(master.size());
    }
    return json::to_value(reply);
  };
  int streams = 0;
  mgmt.streams["files.master"] = [&](boost::json::value, std::shared_ptr<link::Stream> stream) {
    ++streams;
    return write_all(stream, streamed);
  };
  model::FileDeclaration hosts;
  hosts.name = hosts.source = "/etc/hosts";
  hosts.from = mgmt.node().name;
  put({hosts}, true);
  server::testing::run_until(loop, [&] { return streams > 1; });
  EXPECT_TRUE(tables::records<model::FileDeclaration>(tables()).at(0).content_id.empty()) << "half a file is none";
  streamed = master;
  const auto known = [&] {
    return tables::records<model::FileDeclaration>(tables()).at(0).content_id == "sha256-" + large_digest(master);
  };
  server::testing::run_until(loop, known);
  settle();
  const int before = streams;
  auto& c1 = join(1);
  settle();
  EXPECT_EQ(fetch(c1, large_digest(master)), master);
  EXPECT_EQ(streams, before) << "what is known is not read again";
  loop.run_until_done(mgmt.stop());
}

}  // namespace
}  // namespace underway::files
