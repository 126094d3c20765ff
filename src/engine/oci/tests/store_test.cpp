// A store, filled by underway-pull from layouts and archives.
#include "oci/store.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>

#include "fixture.hpp"
#include "harness/places.hpp"
#include "maker.hpp"
#include "oci/confine.hpp"
#include "oci/user.hpp"
#include "os/process/process.hpp"

namespace underway::oci {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kProgram = binary_dir() + "/bin/underway-pull";

class Stores : public InDirectory {
 protected:
  std::unique_ptr<Store> open() const { return std::make_unique<Store>(at("store"), kProgram); }
  Reference layout(const std::string& name, const std::vector<std::string>& tars, const std::string& run = "{}") const {
    write_layout(at(name), make_image(tars, run));
    return parse_reference("oci:" + at(name) + ":v1");
  }
  std::size_t count(const std::string& what) const {
    std::size_t directories = 0;
    for (const auto& entry : os::list_directory(at("store/" + what)))
      directories += entry.name.ends_with(".json") ? 0 : 1;
    return directories;
  }
  const std::string base_ = tar_of({{"etc/", AE_IFDIR, "", 0755},
                                    {"etc/passwd", AE_IFREG, "web:x:33:33::/srv:/bin/sh\n"},
                                    {"tmp/", AE_IFDIR, "", 01777},
                                    {"a", AE_IFREG, "a"}});
};

TEST_F(Stores, AreAllThatAConfinedProcessWritesTo) {
  os::make_directories(at("in/a"));
  const pid_t child = ::fork();
  if (child == 0) {
    if (!write_only_below(at("in"))) ::_exit(2);
    const bool inside =
        ::mkdir(at("in/b").c_str(), 0755) == 0 && ::rename(at("in/b").c_str(), at("in/a/c").c_str()) == 0;
    const bool outside = ::mkdir(at("out").c_str(), 0755) == 0 || ::rename(at("in/a").c_str(), at("a").c_str()) == 0;
    ::_exit(inside && !outside ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "the kernel has no Landlock";
  EXPECT_EQ(status, 0);
}

TEST_F(Stores, HaveImagesThatWerePulled) {
  const auto store = open();
  const std::string top = tar_of({{".wh.a", AE_IFREG}, {"tmp/b", AE_IFREG, "b"}});
  const auto reference = layout("image", {base_, top}, R"({"Entrypoint":["/web"],"User":"web"})");
  std::vector<Progress> told;
  Image image = store->pull(reference, {.progress = [&](const Progress& p) { told.push_back(p); }});
  ASSERT_EQ(image.layers.size(), 2U);
  EXPECT_THAT(image.config.entrypoint, ElementsAre("/web"));
  EXPECT_EQ(resolve_user(image.layers[0], image.config.user).uid, 33U);
  EXPECT_EQ(os::read_file(image.layers[0] + "/a"), "a");
  struct stat st{};
  ASSERT_EQ(::stat((image.layers[1] + "/tmp").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 01777U) << "a directory that a layer only implies looks as below";
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().layers_done, 2);
  const auto images = store->list();
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].digest, image.digest);
  EXPECT_THAT(images[0].leases, ElementsAre(""));
  EXPECT_THAT(failure_of([&] { store->remove(reference); }), HasSubstr("is in use"));
  image.lease.release();
  store->remove(reference);
  EXPECT_THAT(store->list(), IsEmpty());
  EXPECT_EQ(count("layers"), 0U);
  EXPECT_EQ(count("blobs/sha256"), 0U);
  EXPECT_EQ(count("locks"), 0U);
}

TEST_F(Stores, TakeArchivesAsWell) {
  const auto store = open();
  const MadeImage made = make_image({base_}, "{}", "none");
  std::vector<Entry> oci = {{"oci-layout", AE_IFREG, "{}"}};
  write_layout(at("image"), made);
  oci.push_back({"index.json", AE_IFREG, os::read_file(at("image/index.json"))});
  for (const auto& [digest, bytes] : made.blobs) oci.push_back({"blobs/sha256/" + digest.substr(7), AE_IFREG, bytes});
  os::write_file(at("oci.tar"), tar_of(oci));
  EXPECT_EQ(store->pull(parse_reference("oci-archive:" + at("oci.tar"))).digest, made.manifest);
  const std::vector<Entry> docker = {
      {"c.json", AE_IFREG, made.blobs.at(made.config)},
      {"one/layer.tar", AE_IFREG, base_},
      {"two.tar", AE_IFLNK, "one/layer.tar"},
      {"manifest.json", AE_IFREG, R"([{"Config":"c.json","RepoTags":["web:1"],"Layers":["two.tar"]}])"}};
  os::write_file(at("docker.tar"), tar_of(docker));
  const Image image = store->pull(parse_reference("docker-archive:" + at("docker.tar") + ":web:1"));
  EXPECT_EQ(os::read_file(image.layers.at(0) + "/a"), "a");
  EXPECT_EQ(count("layers"), 1U) << "the same layer, wherever it came from";
  EXPECT_EQ(count("unpacking"), 0U);
  EXPECT_THAT(failure_of([&] { store->pull(parse_reference("docker-archive:" + at("docker.tar") + ":web:2")); }),
              HasSubstr("there are web:1"));
}

TEST_F(Stores, RefuseImagesThatContradictThemselves) {
  const auto store = open();
  MadeImage image = make_image({base_});
  write_layout(at("image"), image);
  const std::string blob = at("image/blobs/sha256/" + image.layers[0].substr(7));
  std::string bytes = image.blobs.at(image.layers[0]);
  bytes[bytes.size() - 1] = static_cast<char>(bytes[bytes.size() - 1] ^ 1);
  os::write_file(blob, bytes);
  const auto reference = parse_reference("oci:" + at("image"));
  EXPECT_NE(failure_of([&] { store->pull(reference); }), "no failure");
  os::write_file(at("image/blobs/sha256/" + image.config.substr(7)), "{}");
  EXPECT_THAT(failure_of([&] { store->pull(reference); }), HasSubstr("is not what the layout says"));
  EXPECT_EQ(count("layers"), 0U);
  EXPECT_THAT(store->leases(), IsEmpty());
  EXPECT_THAT(store->list(), IsEmpty());
}

TEST_F(Stores, GiveALayerOnceThatAnImageHasTwice) {
  const std::string top = tar_of({{"b", AE_IFREG, "b"}});
  const Image image = open()->pull(layout("image", {base_, top, base_}));
  ASSERT_EQ(image.layers.size(), 2U) << "overlayfs takes no directory twice";
  EXPECT_TRUE(os::exists(image.layers[1] + "/a")) << "the upper one stays";
}

TEST_F(Stores, KeepWhatLeasesName) {
  const auto reference = layout("image", {base_});
  {
    const auto store = open();
    Image image = store->pull(reference, {.lease = "alloc/web"});
    image.lease.keep();
    Image other = store->pull(layout("other", {tar_of({{"o", AE_IFREG, "o"}})}));
  }
  const auto store = open();
  EXPECT_THAT(store->leases(), ElementsAre("alloc/web"));
  const auto later = SystemClock().now() + 48h;
  EXPECT_EQ(store->collect({.unused_for = 1h}, later).images.size(), 1U) << "the one without a lease";
  EXPECT_EQ(count("layers"), 1U);
  {
    Image image = store->find_leased("alloc/web");
    EXPECT_EQ(os::read_file(image.layers.at(0) + "/a"), "a");
    image.lease.keep();
  }
  store->release("alloc/web");
  const auto collected = store->collect({.unused_for = 1h}, later);
  EXPECT_THAT(collected.images, ElementsAre(reference.text()));
  EXPECT_EQ(collected.layers, 1);
  EXPECT_EQ(count("layers"), 0U);
  EXPECT_THAT(failure_of([&] { store->find_leased("alloc/web"); }), HasSubstr("nobody has a lease"));
}

TEST_F(Stores, GiveUpThoseFirstThatWereNotUsedLongest) {
  const auto store = open();
  std::vector<Reference> references;
  for (int i = 0; i < 3; ++i)
    references.push_back(layout(fmt::format("image{}", i), {tar_of({{"f", AE_IFREG, noise(1 << 20, 7 + i)}})}));
  for (const auto& reference : references) store->pull(reference);
  store->pull(references[0]);
  const auto collected = store->collect({.bytes = 2 << 20}, SystemClock().now());
  EXPECT_THAT(collected.images, ElementsAre(references[1].text()));
  EXPECT_EQ(collected.bytes, 1 << 20);
}

TEST_F(Stores, LoseLayersThatMayNotHaveReachedTheDisk) {
  const auto reference = layout("image", {base_});
  const auto store = open();
  store->pull(reference);
  const auto record = [&] {
    for (const auto& entry : os::list_directory(at("store/layers")))
      if (entry.name.ends_with(".json")) return at("store/layers/" + entry.name);
    return std::string();
  };
  // As it looks after a crash of the machine.
  const auto reboot = [&] {
    std::string text = os::read_file(record());
    const auto boot = text.find("\"Boot\":\"") + 8;
    text.replace(boot, 8, "00000000");
    os::write_file(record(), text);
  };
  reboot();
  EXPECT_EQ(Records(at("store")).find_image(reference.text()), std::nullopt);
  EXPECT_EQ(os::read_file(store->pull(reference).layers.at(0) + "/a"), "a") << "pulled again";
  store->collect({}, SystemClock().now());
  reboot();
  EXPECT_TRUE(Records(at("store")).find_image(reference.text())) << "it was flushed";
}

TEST_F(Stores, GiveManyTasksTheSameImageAtOnce) {
  const auto store = open();
  const auto reference = layout("image", {base_, tar_of({{"big", AE_IFREG, noise(4 << 20)}})});
  const auto second = parse_reference("oci:" + at("image"));
  std::vector<std::string> said(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < said.size(); ++i)
      threads.emplace_back([&, i] {
        said[i] = failure_of([&] {
          const Image image = store->pull(i % 2 == 0 ? reference : second);
          if (os::read_file(image.layers.at(0) + "/a") != "a") throw Error(Code::internal, "not whole");
        });
      });
  }
  EXPECT_THAT(said, testing::Each("no failure"));
  EXPECT_EQ(count("layers"), 2U);
}

TEST_F(Stores, SurviveTheDeathOfAPullAtAnyPoint) {
  const auto reference = layout(
      "image", {base_, tar_of({{"big", AE_IFREG, noise(8 << 20)}}), tar_of({{"tmp/x", AE_IFREG, noise(2 << 20, 5)}})});
  int killed = 0;
  // Each round lives a little longer than the one before, until one gets through.
  for (auto life = 200us; life < 5s; life = life * 5 / 4) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        Store(at("store"), kProgram).pull(reference);
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    if (!os::Pidfd::open(child).wait_gone(life)) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ++killed;
    const auto store = open();
    EXPECT_THAT(store->leases(), IsEmpty());
    for (const auto& image : store->list()) EXPECT_EQ(image.reference, reference.text());
  }
  EXPECT_GT(killed, 5);
  const auto store = open();
  const Image image = store->pull(reference);
  ASSERT_EQ(image.layers.size(), 3U);
  EXPECT_EQ(os::read_file(image.layers[1] + "/big"), noise(8 << 20));
  EXPECT_EQ(os::read_file(image.layers[2] + "/tmp/x"), noise(2 << 20, 5));
  store->collect({}, SystemClock().now() + 48h);
  EXPECT_EQ(count("unpacking"), 0U);
  EXPECT_EQ(count("incoming"), 0U);
  EXPECT_EQ(count("trash"), 0U);
}

}  // namespace
}  // namespace underway::oci
